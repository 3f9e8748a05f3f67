"""The shared library and its plug-ins, as they are installed.

    plugin_test.py PREFIX BUILD NM CC

PREFIX is an installation of a build with BUILD_SHARED_LIBS, BUILD a build of examples/my_scheme against it. Checks what
the library shows, a C program with it, that every command serves a plug-in's scheme, and that what is no plug-in is
refused with a reason. Needs Python's standard library alone, and pkg-config.
"""

import ctypes
import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX, BUILD, NM, CC = None, None, "", ""
USAGE, BAD_INPUT = 2, 3


class Plugin(ctypes.Structure):
    """`quadrant::Plugin`, of which what is needed to make others."""

    _fields_ = [("layout", ctypes.c_uint32), ("version", ctypes.c_char_p), ("abi", ctypes.c_char_p)]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


class SharedLibrary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.command = PREFIX / "bin/quadrant"
        self.library = next(PREFIX.glob("lib*/**/libquadrant.so"))
        self.plugin = BUILD / "libmy_scheme_plugin.so"

    # --- The library ---

    def test_soname(self):
        version = run(self.command, "--version").stdout
        minor = re.search(r"\d+\.\d+", version)[0]
        self.assertTrue((self.library.parent / f"libquadrant.so.{minor}").is_symlink())
        needed = run("readelf", "-d", self.command).stdout
        self.assertIn(f"libquadrant.so.{minor}", needed)

    def test_it_shows_names_of_quadrant_alone(self):
        shown = run(NM, "--dynamic", "--defined-only", "--demangle", self.library).stdout.splitlines()
        names = {line.split(maxsplit=2)[2].split("@@")[0] for line in shown if " A " not in line}
        ours = re.compile(
            r"^(?:(?:typeinfo|typeinfo name|vtable|VTT|guard variable) for "
            r"|(?:non-virtual|virtual) thunk to )?quadrant::"
        )
        header = (ROOT / "include/quadrant/quadrant.h").read_text("utf-8")
        of_c = set(re.findall(r"^[\w *]+?\b(quadrant_\w+)\(", header, re.MULTILINE))
        self.assertGreater(len(of_c), 20)
        self.assertEqual(of_c - names, set())  # each function of the header is there
        self.assertEqual({name for name in names - of_c if not ours.match(name)}, set())

    def test_symbols_are_those_that_are_kept(self):
        script = importlib.machinery.SourceFileLoader("exported_names", str(ROOT / "scripts/exported_names"))
        exported_names = importlib.util.module_from_spec(importlib.util.spec_from_loader("exported_names", script))
        script.exec_module(exported_names)
        kept = exported_names.KEPT.read_text("utf-8").splitlines()
        found = exported_names.names([self.library], NM)
        remedy = "if that is meant: scripts/exported_names --write LIBRARY; and what goes, or changes, is told in CHANGELOG"
        self.assertGreater(len(kept), 500)
        self.assertEqual(sorted(set(kept) - set(found)), [], f"gone: {remedy}")
        self.assertEqual(sorted(set(found) - set(kept)), [], f"new: {remedy}")

    def test_c_program(self):
        done = run(sys.executable, ROOT / "tests/package/c_program_test.py", PREFIX, CC)
        self.assertEqual(done.returncode, 0, done.stderr)

    # --- Plug-ins ---

    def refused(self, code, plugin, *parts):
        done = run(self.command, "list", "--plugin", plugin)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in (str(plugin), *parts):
            self.assertIn(part, done.stderr)

    def plugin_of(self, name, source):
        (self.folder / f"{name}.c").write_text(source, "utf-8")
        plugin = self.folder / f"{name}.so"
        made = run(CC, "-shared", "-fPIC", self.folder / f"{name}.c", "-o", plugin)
        self.assertEqual(made.returncode, 0, made.stderr)
        return plugin

    def pretended(self, name, **changes):
        """A plug-in in C that says what the right one says, but for the changes."""
        right = Plugin.in_dll(ctypes.CDLL(str(self.plugin)), "quadrant_plugin")
        says = {"layout": right.layout, "version": right.version.decode(), "abi": right.abi.decode(), "add": "add"}
        says.update(changes)
        return self.plugin_of(name, f"""
            static const void *own(void) {{ return own; }}
            static void add(void) {{}}
            const struct {{ unsigned layout; const char *version, *abi; const void *(*library)(void); void (*add)(void); }}
            quadrant_plugin = {{ {says["layout"]}, "{says["version"]}", "{says["abi"]}", own, {says["add"]} }};
        """)

    def test_schemes_of_a_plugin(self):
        for words in (("--plugin", self.plugin, "list"), ("list", f"--plugin={self.plugin}")):
            done = run(self.command, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("power_of_two", done.stdout)
        self.assertNotIn("power_of_two", run(self.command, "list").stdout)
        twice = run(self.command, "list", "--plugin", self.plugin, "--plugin", self.plugin)
        self.assertEqual(twice.returncode, USAGE)
        self.assertIn("no scheme can be called 'power_of_two'", twice.stderr)

    def test_every_command_serves_it(self):
        script = ROOT / "tests/examples/my_scheme_test.py"
        done = run(sys.executable, script, self.command, "--plugin", self.plugin)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_is_not_written_over(self):
        plugin = self.folder / "scheme.json"
        shutil.copy(self.plugin, plugin)
        model = ROOT / "examples/models/tiny_transformer.onnx"
        for words in (("plan", model, "-o", plugin), ("plan", model, "-o", self.folder / "p.json", "--save-recipe", plugin)):
            done = run(self.command, *words, "--scheme", "power-of-two", "--plugin", plugin)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(str(plugin), done.stderr)
            self.assertEqual(plugin.read_bytes(), self.plugin.read_bytes())

    def test_what_is_no_plugin(self):
        self.refused(USAGE, self.folder / "none.so", "no such plug-in")
        text = self.folder / "text.so"
        text.write_text("no library", "utf-8")
        self.refused(BAD_INPUT, text, "cannot be loaded")
        self.refused(BAD_INPUT, self.plugin_of("plain", "int other;"), "quadrant_plugin", "QUADRANT_PLUGIN")
        lacking = self.plugin_of("lacking", "extern int nowhere(void); int quadrant_plugin(void) { return nowhere(); }")
        self.refused(BAD_INPUT, lacking, "cannot be loaded", "nowhere")

    def test_plugins_of_others(self):
        self.refused(BAD_INPUT, self.pretended("layout", layout=77), "another version")
        self.refused(BAD_INPUT, self.pretended("version", version="9.9.9"), "9.9.9", "built for")
        self.refused(BAD_INPUT, self.pretended("compiler", abi="tcc 1"), "tcc 1", "build both alike")
        self.refused(BAD_INPUT, self.pretended("empty", add=0), "names no function")
        self.refused(BAD_INPUT, self.pretended("static"), "quadrant of its own", "BUILD_SHARED_LIBS")


if __name__ == "__main__":
    PREFIX, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    NM, CC = sys.argv[3:5]
    unittest.main(argv=sys.argv[:1])
