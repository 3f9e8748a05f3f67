"""What library calls write is what the command writes, byte for byte."""

import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = os.environ["QUADRANT"]
EXAMPLE = str(pathlib.Path(COMMAND).with_name("example_pipeline"))
IMAGES = ROOT / "examples/models/digits_cnn.onnx"
WORDS = ROOT / "examples/models/tiny_transformer.onnx"


def write_samples(folder, count=4):
    """Images of 1x1x8x8 as .npy files, of numbers that a formula gives."""
    folder.mkdir()
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 8, 8), }"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    for sample in range(count):
        numbers = [((i * 7 + sample * 13) % 17) / 16 for i in range(64)]
        (folder / f"{sample}.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<64f", *numbers))


@unittest.skipUnless(os.path.exists(EXAMPLE), "the examples are not built")
class SameBytesTest(unittest.TestCase):
    def check(self, preset, with_samples, model=IMAGES, ending=".onnx"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            samples = []
            if with_samples:
                write_samples(folder / "samples")
                samples = [str(folder / "samples")]
            for way in ("called", "commanded"):
                (folder / way).mkdir()
            called, commanded = (folder / way / f"model{ending}" for way in ("called", "commanded"))
            subprocess.run([EXAMPLE, str(model), str(called), preset, *samples], check=True, capture_output=True)
            options = ["--preset", preset, *(["--calibration", *samples] if samples else [])]
            command = ["quantize", str(model), "-o"] if ending == ".onnx" else ["convert", str(model)]
            subprocess.run([COMMAND, *command, str(commanded), *options], check=True, capture_output=True)
            for name in sorted(path.name for path in commanded.parent.iterdir()):
                self.assertEqual((called.parent / name).read_bytes(), (commanded.parent / name).read_bytes(), name)

    def test_weights_alone(self):
        self.check("int8", False)
        self.check("int4-block32", False)

    def test_weights_rounded_by_samples(self):
        self.check("int4-block32", True)

    def test_ranges_of_samples(self):
        self.check("int8-static", True)

    def test_other_formats(self):
        for ending in (".tflite", ".xml", ".qd"):
            self.check("int8-static", True, ending=ending)
            self.check("int8", False, ending=ending)

    def test_a_budget_of_the_recipe(self):
        self.check("mixed-4.5bit", False, WORDS)


if __name__ == "__main__":
    unittest.main()
