"""The notebooks run from top to bottom, and draw; what is kept of them is small, and of this version.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/notebooks_test.py [--write] [NAME]...

Cells check what they print by themselves. --write keeps the outputs in the notebooks.
"""

import os
import pathlib
import shutil
import sys
import unittest

import nbformat
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/notebooks"
PLUGIN = pathlib.Path(os.environ.get("QUADRANT_PLUGIN", ROOT / "build/release/lib/QuadrantPlugin.so"))
SECONDS = 300  # that a cell may take


def executed(path):
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}},
                   record_timing=False, coalesce_streams=True).execute()
    return book


def pictures(book):
    return sum("image/png" in output.get("data", {}) for cell in book.cells for output in cell.get("outputs", []))


class NotebooksTest(unittest.TestCase):
    def check(self, path):
        if path.stem == "6_inside_a_compiler":
            if not (PLUGIN.is_file() and shutil.which("mlir-opt-19")):
                self.skipTest("mlir-opt-19, or the plug-in, is not here")
            os.environ["QUADRANT_PLUGIN"] = str(PLUGIN)
        book = executed(path)
        self.assertGreater(pictures(book), 0)
        for cell in book.cells:
            for output in cell.get("outputs", []):
                self.assertNotIn("Warning", output["text"] if output.get("name") == "stderr" else "")

    def test_kept(self):
        """Small, with their pictures, and nothing of the machine that they were run on."""
        paths = sorted(FOLDER.glob("*.ipynb"))
        self.assertEqual(len(paths), 6)
        for path in paths:
            with self.subTest(path.name):
                text = path.read_text("utf-8")
                self.assertLess(len(text), 200_000)
                self.assertNotIn(str(ROOT), text)
                self.assertGreater(pictures(nbformat.reads(text, as_version=4)), 0)


for found in sorted(FOLDER.glob("*.ipynb")):
    setattr(NotebooksTest, f"test_{found.stem}", lambda self, path=found: self.check(path))


def write(names):
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            book = executed(path)
            for cell in book.cells:
                cell.metadata = {}
                if cell.cell_type == "code":
                    cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            book.metadata = {"kernelspec": book.metadata["kernelspec"], "language_info": {"name": "python"}}
            path.write_text(nbformat.writes(book) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        os.environ.setdefault("QUADRANT_PLUGIN", str(PLUGIN))
        write(sys.argv[2:])
    else:
        unittest.main()
