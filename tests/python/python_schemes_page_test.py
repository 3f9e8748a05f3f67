"""docs/python_schemes.md, from top to bottom: its code runs, and prints what the page says.

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

PAGE = (ROOT / "docs/python_schemes.md").read_text("utf-8")


class PageTest(PackageTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        onnx.save(two_layers(), "model.onnx")

    def test_page(self):
        names: dict[str, object] = {}
        printed = []
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
            if language == "python":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(block, "the page", "exec"), names)  # noqa: S102
                printed.append(out.getvalue())
            else:
                self.assertEqual(printed[-1], block)
        self.assertEqual(sum(map(bool, printed)), 2)

        # What its scheme made: 5 bits, a power of two, the least that all weights fit in.
        weight, made = weights_of(two_layers())["fc1.weight"], weights_of(onnx.load("small.onnx"))
        scale = made["fc1.weight_scale"]
        self.assertEqual(np.log2(scale) % 1, 0)
        self.assertLessEqual(np.abs(weight).max() / scale, 15)
        self.assertGreater(np.abs(weight).max() / scale, 7.5)
        np.testing.assert_array_equal(made["fc1.weight_quantized"], np.rint(weight / scale))


if __name__ == "__main__":
    unittest.main()
