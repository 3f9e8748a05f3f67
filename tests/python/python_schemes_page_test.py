"""Pages with code in Python, docs/python_schemes.md and a part of docs/recipes.md: it runs, and prints what they say.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/python_schemes_page_test.py
"""

import contextlib
import io
import os
import re
import unittest

import numpy as np
import onnx
from _package import ROOT, PackageTest, two_layers, weights_of


def read_page(name):
    return (ROOT / "docs" / name).read_text("utf-8")


class PageTest(PackageTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        onnx.save(two_layers(), "model.onnx")

    def run_page(self, page):
        """How often it printed something."""
        names: dict[str, object] = {}
        printed = []
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
            if language == "python":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(block, "the page", "exec"), names)  # noqa: S102
                printed.append(out.getvalue())
            else:
                self.assertEqual(printed[-1], block)
        return sum(map(bool, printed))

    def test_recipes(self):
        section = read_page("recipes.md").partition("\n## In Python\n")[2].partition("\n## ")[0]
        self.assertEqual(self.run_page(section), 2)

    def test_schemes(self):
        self.assertEqual(self.run_page(read_page("python_schemes.md")), 2)

        # What its scheme made: 5 bits, a power of two, the least that all weights fit in.
        weight, made = weights_of(two_layers())["fc1.weight"], weights_of(onnx.load("small.onnx"))
        scale = made["fc1.weight_scale"]
        self.assertEqual(np.log2(scale) % 1, 0)
        self.assertLessEqual(np.abs(weight).max() / scale, 15)
        self.assertGreater(np.abs(weight).max() / scale, 7.5)
        np.testing.assert_array_equal(made["fc1.weight_quantized"], np.rint(weight / scale))


if __name__ == "__main__":
    unittest.main()
