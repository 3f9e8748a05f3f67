"""Checks that the code which the documentation shows of examples and tests is that code, and that the
tests exist which the pages of docs/seeds name.

    python3 tests/docs_test.py

A line `...` and an empty one stand for what was left out. Needs Python's standard library alone.
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def blocks(document, heading):
    """The C++ blocks of a document from a heading to the next one of that level or above."""
    level = heading.split(" ")[0]
    text = document.read_text(encoding="utf-8").split(f"{heading}\n", 1)[1]
    text = re.split(rf"^#{{1,{len(level)}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^```cpp\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def missing(block, code):
    """The first run of lines of `block` that `code` does not have behind those before it, or None."""
    place = 0
    for run in re.split(r"\n+ *\.\.\.\n|\n\n+", block.strip("\n")):
        place = code.find(f"\n{run}\n", place)
        if place < 0:
            return run
        place += len(run)
    return None


class Documentation(unittest.TestCase):
    def assert_shown(self, document, heading, *sources, folder="examples/my_scheme"):
        code = "".join((ROOT / folder / name).read_text("utf-8") for name in sources)
        found = blocks(ROOT / document, heading)
        self.assertTrue(found, f"{document}: no code below `{heading}`")
        for block in found:
            self.assertIsNone(missing(block, code), f"{document}, `{heading}`")

    def test_custom_schemes(self):
        for name in ("my_scheme.hpp", "my_scheme.cpp", "my_scheme_test.cpp"):
            self.assert_shown("docs/custom_schemes.md", f"## {name}", name)

    def test_own_operations(self):
        self.assert_shown(
            "docs/own_ir.md", "## Rows instead of methods", "own_operations.hpp", folder="tests/methods"
        )

    def test_readme(self):
        self.assert_shown("README.md", "## A scheme of your own", "my_scheme.hpp", "my_scheme.cpp")
        self.assert_shown("docs/custom_schemes.md", "## The operations of another scheme", "own_format.cpp", folder="examples")
        self.assert_shown("docs/seeds/four-phase.md", "## The readme's examples in C++", "toy_scheme.hpp", folder="tests/engine")


class Seeds(unittest.TestCase):
    """`file`: *case*, in the last column of tables."""

    NAMED = re.compile(r"`([\w/]+_test\.(?:cpp|py))`: \*([^*]+)\*")

    def test_named_tests_exist(self):
        for page in sorted((ROOT / "docs/seeds").glob("*.md")):
            for line in page.read_text("utf-8").splitlines():
                cells = [cell.strip() for cell in line.strip("|").split(" | ")]
                if not line.startswith("|") or len(cells) < 3 or cells[0].startswith(("---", "MLIR", "OpenVINO", "SNPE", "WebNN")):
                    continue
                with self.subTest(page=page.name, row=cells[0]):
                    named = self.NAMED.findall(cells[-1])
                    self.assertTrue(named or "](" in cells[-1], "neither a test nor a page")
                    for file, case in named:
                        code = (ROOT / "tests" / file).read_text("utf-8")
                        stated = f"def {case}(" if file.endswith(".py") else f'TEST_CASE("{case}")'
                        self.assertIn(stated, code, file)


class Checker(unittest.TestCase):
    def test_left_out(self):
        code = "\na {\n  b\n  c\n}\nd\n"
        self.assertIsNone(missing("a {\n  ...\n}\n\nd\n", code))
        self.assertIsNone(missing("  b\n  c\n", code))
        self.assertEqual(missing("a {\n  c\n}\n", code), "a {\n  c\n}")
        self.assertEqual(missing("a {\n  ...\n  e\n}\n", code), "  e\n}")
        self.assertEqual(missing("  c\n  ...\n  b\n", code), "  b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
