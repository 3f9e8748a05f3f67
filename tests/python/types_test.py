"""The types that the package declares hold within it, and for programs that use it: mypy, strictly.

Needs the package on PYTHONPATH.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import quadrant

# As a user writes it; each line's comment is what mypy has to say of it, if anything.
PROGRAM = '''
import numpy as np
import quadrant as qd

samples = [{"x": np.zeros((1, 16), np.float32)}]
result = qd.quantize("model.onnx", "weight-only", bits=4, calibration=samples)
result.save("small.onnx")
outputs: dict[str, object] = dict(qd.run(result.model, samples[0]))
axis: str = qd.read("model.onnx")  # Incompatible types in assignment
qd.quantize("model.onnx", target=4)  # Argument "target"
qd.nothing  # Module has no attribute "nothing"


class Mine(qd.scheme.Quantization):
    pass
'''


class TypesTest(unittest.TestCase):
    def mypy(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", folder, *arguments],
                capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_package(self):
        self.assertEqual(self.mypy(str(pathlib.Path(quadrant.__file__).parent)), [])

    def test_program(self):
        expected = [(number, line.split("# ")[1]) for number, line in enumerate(PROGRAM.splitlines(), 1) if "# " in line]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program.py")
            path.write_text(PROGRAM)
            said = [line for line in self.mypy(str(path)) if "error:" in line]
        self.assertEqual(len(said), len(expected), said)
        for (number, text), line in zip(expected, said, strict=True):
            self.assertIn(f":{number}: error: ", line)
            self.assertIn(text, line)


if __name__ == "__main__":
    unittest.main()
