"""examples/python/dask_calibration.py on a local cluster: the statistics of one process, whatever the parts.

    .venv/bin/python tests/python/dask_test.py      with the package in $PYTHONPATH

Skipped where `distributed` is not installed.
"""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

if importlib.util.find_spec("distributed") is None:
    print("skipped: there is no package distributed")
    sys.exit(77)

import numpy as np

import quadrant

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "examples" / "models" / "digits_cnn.onnx")


class DaskTest(unittest.TestCase):
    def test_parts_add_up(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "samples").mkdir()
            images = np.load(ROOT / "examples" / "models" / "digits_cnn.npz")["image"]
            batches = [{"image": images[i * 10 : (i + 1) * 10]} for i in range(7)]
            for i, batch in enumerate(batches):
                np.savez(folder / "samples" / f"{i}.npz", **batch)
            quadrant.calibrate(MODEL, batches).save(folder / "whole.json")
            for parts in ("3", "12"):
                subprocess.run(
                    [sys.executable, str(ROOT / "examples" / "python" / "dask_calibration.py"), MODEL,
                     str(folder / "samples"), str(folder / "merged.json"), parts], check=True, timeout=120)
                self.assertEqual((folder / "merged.json").read_bytes(), (folder / "whole.json").read_bytes())


if __name__ == "__main__":
    unittest.main()
