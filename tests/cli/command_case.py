"""What the tests of the command share: a folder with a model in it, and runs of the command there.

Needs Python's standard library alone.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from onnx_writer import external_tensor, model, node, tensor, value_info

DONE, USAGE, BAD_INPUT, IMPOSSIBLE, INPUT_OUTPUT, DIFFERENT, INTERRUPTED = 0, 2, 3, 4, 5, 6, 130
SCHEME = ("--scheme", "weight-only")
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"

# The command: the path that a test is called with, or that in $QUADRANT.
_path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("QUADRANT", "")
BINARY = str(pathlib.Path(_path).resolve())


def two_layers(first=None, weight_name="fc1.weight", data_file=None):
    """y = relu(x W1) W2, with W1 of 16 x 32, in `data_file` if there is one, and W2 of 32 x 8."""
    first = first or [(i % 17 - 8) / 8 for i in range(16 * 32)]
    second = [(i % 13 - 6) / 6 for i in range(32 * 8)]
    dims = [16, 32]
    stored = (external_tensor(weight_name, dims, data_file) if data_file
              else tensor(weight_name, dims, first))
    return model(
        [
            node("MatMul", ["x", weight_name], ["h"], "fc1"),
            node("Relu", ["h"], ["r"], "act"),
            node("MatMul", ["r", "fc2.weight"], ["y"], "fc2"),
        ],
        [stored, tensor("fc2.weight", [32, 8], second)],
        [value_info("x", ["batch", 16])],
        [value_info("y", ["batch", 8])],
    )


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.put("model.onnx", two_layers())

    def put(self, name, contents):
        (self.folder / name).write_bytes(contents)
        return name

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()

    def files(self):
        """Contents by path; None for folders."""
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
                for path in self.folder.rglob("*")}

    def run_command(self, *arguments, **options):
        return subprocess.run(
            [BINARY, *map(str, arguments)], cwd=self.folder, capture_output=True, timeout=120,
            check=False, **options,
        )

    def peak_memory(self, *arguments):
        """In bytes."""
        # A sanitizer that keeps what was freed would hide what this looks for.
        options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "ASAN_OPTIONS": options})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, DONE)
        return usage.ru_maxrss * 1024

    def succeeds(self, *arguments):
        """Stdout of a run that says nothing on stderr."""
        result = self.run_command(*arguments)
        self.assertEqual((result.returncode, result.stderr.decode()), (DONE, ""), arguments)
        return result.stdout.decode()

    def version(self):
        return self.succeeds("--version").split()[-1]

    def json_of(self, *arguments):
        return json.loads(self.succeeds(*arguments, "--json"))

    def fails(self, code, fragments, *arguments):
        """Exit code, one line on stderr with the fragments, nothing on stdout, no file touched."""
        before = self.files()
        for extra in ((), ("--json",)):
            result = self.run_command(*arguments, *extra)
            error = result.stderr.decode()
            self.assertEqual(result.returncode, code, (arguments, error))
            self.assertEqual(result.stdout, b"", arguments)
            self.assertRegex(error, r"\Aquadrant: [^\n]+\n\Z")
            for fragment in [fragments] if isinstance(fragments, str) else fragments:
                self.assertIn(fragment, error)
            self.assertEqual(self.files(), before, arguments)

    def quantized(self, *arguments):
        """Names of the weights that a run would quantize."""
        plan = self.json_of("plan", self.model, *SCHEME, *arguments)["plan"]
        return [value["value"] for value in plan["values"]]


def shortened(tests):
    """All tests; under sanitizers the first and a twentieth of the others, drawn, unless it is `nightly`."""
    if "QUADRANT_SANITIZED" not in os.environ or "QUADRANT_WHOLE" in os.environ:
        return tests
    draw = random.Random(pathlib.Path(sys.argv[0]).name)
    return [test for i, test in enumerate(tests) if i == 0 or draw.randrange(20) == 0]


def run_tests():
    """Runs the tests of the main module, and ends the program."""
    if not pathlib.Path(BINARY).is_file():
        sys.exit(f"usage: {sys.argv[0]} path/to/quadrant")
    found = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    suite = unittest.TestSuite(shortened([test for of_class in found for test in of_class]))
    result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    failed = len({test.id() for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    sys.exit(0 if failed == 0 and result.testsRun > 0 else 1)
