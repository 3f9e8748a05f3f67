"""Checks that scripts/setup installs what tests, scripts and examples import: in CI a package that is missing is a
failure, but only of the test that wants it, late.

    python3 tests/requirements_test.py

Needs Python's standard library alone.
"""

import ast
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["tests", "scripts", "examples", "python"]
# What scripts/setup installs, and what scripts install that make what no test needs.
LIST = "tests/requirements.txt"
OTHER_LISTS = ["benchmarks/requirements.txt", "docs/requirements.txt", "python/requirements-wheel.txt"]
# Modules of another name than their package's.
MODULES = {"pillow": "PIL", "protobuf": "google", "python-dateutil": "dateutil", "pyyaml": "yaml", "scikit-learn": "sklearn"}
# What a user brings; tests of it make their own.
BROUGHT = {"ray", "tensorflow", "torch"}


def modules_of(list_name):
    """The modules that a list of requirements installs."""
    names = re.findall(r"^([A-Za-z0-9_.-]+)", (ROOT / list_name).read_text(), re.MULTILINE)
    return {MODULES.get(name.lower(), name.replace("-", "_")) for name in names}


def imported(source):
    """Top-level names of the modules that a source imports, or looks for by `find_spec`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("find_spec"):
            yield from (a.value.split(".")[0] for a in node.args if isinstance(a, ast.Constant))


class RequirementsTest(unittest.TestCase):
    def test_what_is_imported_is_installed(self):
        files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
        self.assertGreater(len(files), 100)
        own = {path.stem for path in [*files, *(ROOT / "benchmarks").rglob("*.py")]}
        own |= {part for path in files for part in path.relative_to(ROOT).parts[:-1]}
        known = own | set(sys.stdlib_module_names) | BROUGHT | modules_of(LIST)
        others = set().union(*map(modules_of, OTHER_LISTS))
        missing = set()
        for path in files:
            may = known if "test" in path.name else known | others
            missing |= {f"{path.relative_to(ROOT)}: {module}" for module in imported(path.read_text()) if module not in may}
        self.assertEqual(sorted(missing), [])

    def test_a_missing_one_is_seen(self):
        found = set(imported("import a.b\nfrom c import d\nfrom . import e\nimportlib.util.find_spec('f.g')"))
        self.assertEqual(found, {"a", "c", "f"})


if __name__ == "__main__":
    unittest.main()
