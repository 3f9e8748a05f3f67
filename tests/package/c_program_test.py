"""A C program with an installed library, static or shared, by what pkg-config says of it.

    c_program_test.py PREFIX CC

Needs Python's standard library alone, and pkg-config.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples/models/tiny_transformer.onnx"
PREFIX, CC = None, ""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


class CProgram(unittest.TestCase):
    def test_example(self):
        place = next(PREFIX.glob("lib*/**/quadrant.pc")).parent
        flags = run("pkg-config", "--cflags", "--libs", "quadrant", env=dict(os.environ, PKG_CONFIG_PATH=str(place)))
        self.assertEqual(flags.returncode, 0, flags.stderr)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            program, out = folder / "c_api", folder / "small.onnx"
            made = run(CC, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", ROOT / "examples/c_api.c",
                       "-o", program, *flags.stdout.split(), f"-Wl,-rpath,{place.parent}")
            self.assertEqual(made.returncode, 0, made.stderr)
            done = run(program, MODEL, out, "embedding.weight")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("14 values are quantized", done.stdout)
            self.assertIn("embedding.weight (constant): ToQuantize", done.stdout)
            self.assertLess(out.stat().st_size, MODEL.stat().st_size * 0.35)  # a byte for four, and scales
            missing = run(program, folder / "none.onnx", folder / "other.onnx")
            self.assertEqual(missing.returncode, 5)
            self.assertIn("none.onnx", missing.stderr)
            self.assertFalse((folder / "other.onnx").exists())


if __name__ == "__main__":
    PREFIX, CC = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    unittest.main(argv=sys.argv[:1])
