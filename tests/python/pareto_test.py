"""The least error for each size, in Python: points, their plans, and what these make.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/pareto_test.py        with $QUADRANT, the command
"""

import json
import unittest

import numpy as np
import onnx
import quadrant as qd
from _package import EXAMPLES, PackageTest, onnxruntime_outputs, rows, two_layers

TRANSFORMER = str(EXAMPLES / "tiny_transformer.onnx")


class ParetoTest(PackageTest):
    def test_each_point_is_larger_and_better(self):
        frontier = qd.pareto(TRANSFORMER, "weight-only")
        self.assertGreater(len(frontier), 10)
        self.assertFalse(frontier.at_outputs)
        for smaller, larger in zip(frontier, frontier[1:], strict=False):
            self.assertLess(smaller.bytes, larger.bytes)
            self.assertLess(smaller.bits, larger.bits)
            self.assertGreater(smaller.error, larger.error)
            changed = {name for name in smaller.forms if smaller.forms[name] != larger.forms[name]}
            self.assertTrue(changed and any(name in larger.change for name in changed), larger.change)
        self.assertEqual((frontier[-1].error, frontier[-1].sqnr_db), (0, np.inf))
        self.assertEqual(set(frontier[-1].forms.values()), {"float"})

    def test_points_are_those_of_the_command(self):
        printed = self.command("pareto", TRANSFORMER, "--scheme", "weight-only", "--json")
        for found, expected in zip(qd.pareto(TRANSFORMER, "weight-only"), json.loads(printed)["points"], strict=True):
            self.assertEqual((found.bytes, found.bits, found.error), tuple(expected[k] for k in ("file_bytes", "bits", "error")))

    def test_a_point_is_what_it_says(self):
        """Its file has the size and the error that were predicted."""
        samples = rows(8, 64)
        model = two_layers(64, 128)
        frontier = qd.pareto(model, "weight-only", samples, measures_all=True)
        self.assertTrue(frontier.at_outputs)
        float_outputs = [onnxruntime_outputs(model.SerializeToString(), sample)["y"] for sample in samples]
        for point in (frontier[0], frontier[len(frontier) // 2], frontier[-2]):
            contents = point.quantize().to_onnx()
            self.assertLess(abs(len(contents) - point.bytes), 0.05 * len(contents))
            types = {tensor.name: tensor.data_type for tensor in onnx.load_from_string(contents).graph.initializer}
            for name, form in point.forms.items():
                self.assertEqual(types.get(name) == onnx.TensorProto.FLOAT, form == "float", (name, form))
            noise = signal = 0.0
            for sample, expected in zip(samples, float_outputs, strict=True):
                found = onnxruntime_outputs(contents, sample)["y"]
                noise += ((found - expected.astype(np.float64)) ** 2).sum()
                signal += (expected.astype(np.float64) ** 2).sum()
            self.assertLess(abs(-10 * np.log10(noise / signal) - point.sqnr_db), 1.5)

    def test_samples_and_scopes(self):
        model = two_layers()
        self.assertEqual(set(qd.pareto(model, "weight-only", include="fc1")[0].forms), {"fc1.weight"})
        point = qd.pareto(model, preset="mixed-4.5bit")[0]
        self.assertNotEqual(point.quantize().to_onnx(), point.quantize(calibration=rows(4)).to_onnx())
        broken = two_layers()
        broken.graph.initializer[0].CopyFrom(
            onnx.numpy_helper.from_array(np.full((16, 32), np.nan, np.float32), "fc1.weight"))
        self.assert_fails("impossible", ["non_finite='leave'"], lambda: qd.pareto(broken, "weight-only"))
        self.assertEqual(set(qd.pareto(broken, "weight-only", non_finite="leave")[0].forms), {"fc2.weight"})

    def test_what_is_refused(self):
        model = two_layers()
        self.assert_fails("usage", ["static"], lambda: qd.pareto(model, "static-affine", rows(2)))
        self.assert_fails("usage", ["non_finite"], lambda: qd.pareto(model, "weight-only", non_finite="x"))
        self.assert_fails("impossible", ["nothing"], lambda: qd.pareto(model, "weight-only", exclude="fc"))
        with self.assertRaisesRegex(TypeError, "sample 1"):
            qd.pareto(model, "weight-only", [rows(1)[0], 3])

    def test_pictures(self):
        frontier = qd.pareto(two_layers(), "weight-only")
        self.assertTrue(frontier._repr_svg_().startswith("<svg"))
        try:
            import matplotlib
        except ImportError:
            self.skipTest("matplotlib is not installed")
        matplotlib.use("Agg")
        (line,) = frontier.plot().lines
        drawn = [(point.bytes, point.sqnr_db) for point in frontier if point.error > 0]
        np.testing.assert_array_equal(line.get_xydata(), drawn)


if __name__ == "__main__":
    unittest.main()
