"""Models in Python: read from what people have, looked into, and written.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/model_test.py        with $QUADRANT, the command
"""

import pathlib
import pickle
import unittest

import ml_dtypes
import numpy as np
import onnx
import quadrant as qd
from _package import DIGITS, PackageTest, digits, onnxruntime_outputs, rows, two_layers, weights_of
from onnx import numpy_helper


class ReadTest(PackageTest):
    def test_paths_bytes_and_protos_are_the_same_model(self):
        proto = onnx.load(DIGITS)
        contents = pathlib.Path(DIGITS).read_bytes()
        written = qd.read(DIGITS).to_onnx()
        for given in (pathlib.Path(DIGITS), contents, bytearray(contents), proto):
            self.assertEqual(qd.read(given).to_onnx(), written)
        model = qd.read(DIGITS)
        self.assertIs(qd.read(model), model)
        self.assertEqual(model.path, DIGITS)
        self.assertIsNone(qd.read(contents).path)

    def test_what_is_read_says_the_same_as_the_proto(self):
        written = onnx.load_from_string(qd.read(DIGITS).to_onnx())
        onnx.checker.check_model(written, full_check=True)
        before, after = weights_of(onnx.load(DIGITS)), weights_of(written)
        self.assertEqual(before.keys(), after.keys())
        for name, array in before.items():
            np.testing.assert_array_equal(after[name], array)

    def test_inputs_and_outputs(self):
        model = qd.read(two_layers())
        self.assertEqual(model.inputs, (qd.Port("x", (None, 16), "float32"),))
        self.assertEqual(model.outputs, (qd.Port("y", (None, 8), "float32"),))
        self.assertIn("x: float32[?, 16]", repr(model))

    def test_weights_are_those_of_the_proto(self):
        proto = onnx.load(DIGITS)
        expected = weights_of(proto) | {
            node.output[0]: numpy_helper.to_array(node.attribute[0].t)
            for node in proto.graph.node if node.op_type == "Constant"
        }
        weights = qd.read(DIGITS).weights
        floats = {name for name, array in expected.items() if array.dtype == np.float32}
        self.assertEqual(set(weights), floats)
        self.assertEqual(len(weights), len(floats))
        for name in floats:
            self.assertEqual(weights[name].dtype, np.float32)
            np.testing.assert_array_equal(weights[name], expected[name])
            self.assertFalse(weights[name].flags.writeable)
        self.assertNotIn("nothing", weights)
        with self.assertRaises(KeyError):
            weights["nothing"]

    def test_weights_of_other_types(self):
        values = {
            "brain": np.array([1.5, -3], ml_dtypes.bfloat16),
            "half": np.array([[1.5, -2]], np.float16),
            "double": np.array(0.1, np.float64),  # without axes
            "none": np.zeros((0, 3), np.float32),
        }
        proto = two_layers()
        proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in values.items())
        weights = qd.read(proto).weights
        for name, array in values.items():
            self.assertEqual((weights[name].dtype, weights[name].shape), (array.dtype, array.shape))
            np.testing.assert_array_equal(weights[name], array)

    def test_weights_live_on_without_their_model(self):
        expected = weights_of(two_layers())["fc1.weight"]
        model = qd.read(two_layers())
        array = model.weights["fc1.weight"]
        del model
        np.testing.assert_array_equal(array, expected)

    def test_data_files(self):
        proto = two_layers(64, 64)
        onnx.save(proto, self.path("m.onnx"), save_as_external_data=True, location="m.data", size_threshold=1024)
        model = qd.read(self.path("m.onnx"))
        np.testing.assert_array_equal(model.weights["fc1.weight"], weights_of(two_layers(64, 64))["fc1.weight"])
        model.save(self.path("out.onnx"), external_data=True)
        self.assertEqual(len(list(self.folder.glob("out*"))), 2)
        onnx.checker.check_model(self.path("out.onnx"), full_check=True)
        np.testing.assert_array_equal(weights_of(onnx.load(self.path("out.onnx")))["fc2.weight"],
                                      weights_of(two_layers(64, 64))["fc2.weight"])

    def test_formats(self):
        model = qd.read(two_layers())
        sample = rows(1)[0]
        expected = qd.run(model, sample)["y"]
        for ending in ("onnx", "tflite", "xml", "qd"):
            written = model.save(self.path(f"m.{ending}"))
            self.assertEqual(written.bytes, sum(file.stat().st_size for file in self.folder.glob(f"m.{ending}"))
                             + (self.folder.joinpath("m.bin").stat().st_size if ending == "xml" else 0))
            again = qd.read(self.path(f"m.{ending}"))
            (output,) = qd.run(again, {again.inputs[0].name: sample["x"]}).values()
            np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)
        self.assert_fails("impossible", ["?x16"], lambda: model.save(self.path("m.mlir")), tensor="x")
        fixed = two_layers()
        fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
        qd.read(fixed).save(self.path("m.mlir"))
        self.assertIn("func.func", (self.folder / "m.mlir").read_text())


class ErrorTest(PackageTest):
    def test_files(self):
        missing = self.path("none.onnx")
        self.assert_fails("io", ["No such file"], lambda: qd.read(missing), file=missing, node=None)
        broken = self.path("broken.onnx")
        contents = pathlib.Path(DIGITS).read_bytes()
        pathlib.Path(broken).write_bytes(contents[:1000])
        error = self.assert_fails("invalid_model", [broken, "byte"], lambda: qd.read(broken), file=broken)
        self.assertIsInstance(error.offset, int)
        error = self.assert_fails("invalid_model", ["byte"], lambda: qd.read(contents[:1000]), file=None)
        self.assertNotIn("/", str(error))

    def test_names_are_said(self):
        proto = two_layers()
        proto.graph.initializer[0].dims[0] = 17
        self.assert_fails("invalid_model", ["fc1.weight"], lambda: qd.read(proto), tensor="fc1.weight")

    def test_names_that_are_not_text(self):
        proto = two_layers()
        proto.graph.initializer[0].dims[0] = 17
        contents = proto.SerializeToString().replace(b"fc1.weight", b"fc1.weigh\xff")
        self.assert_fails("invalid_model", ["fc1.weigh\\xff"], lambda: qd.read(contents))

    def test_endings_that_nobody_writes(self):
        self.assert_fails("usage", [".onnx", ".tflite"], lambda: qd.read(DIGITS).save(self.path("m.txt")))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_no_model(self):
        for given in (3, None, [DIGITS]):
            with self.assertRaises(TypeError):
                qd.read(given)

    def test_errors_are_exceptions_like_others(self):
        error = self.assert_fails("io", [], lambda: qd.read("/none.onnx"))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.code, again.file), (str(error), "io", "/none.onnx"))


class RunTest(PackageTest):
    def test_the_same_as_onnxruntime(self):
        for sample in digits(3):
            expected = onnxruntime_outputs(DIGITS, sample)
            found = qd.run(DIGITS, sample)
            self.assertEqual(found.keys(), expected.keys())
            for name, array in expected.items():
                self.assertEqual((found[name].dtype, found[name].shape), (array.dtype, array.shape))
                np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4)

    def test_inner_values(self):
        sample = rows(1)[0]
        found = qd.run(two_layers(), sample, ["h", "y"])
        self.assertEqual(list(found), ["h", "y"])
        expected = sample["x"] @ weights_of(two_layers())["fc1.weight"]
        np.testing.assert_allclose(found["h"], expected, rtol=1e-4, atol=1e-5)
        self.assert_fails("usage", ["'hh'", "'h'"], lambda: qd.run(two_layers(), sample, ["hh"]))

    def test_arrays_however_they_lie(self):
        array = rows(1)[0]["x"]
        expected = qd.run(two_layers(), {"x": array})["y"]
        swapped = array.astype(">f4")
        for given in (swapped, np.asfortranarray(array), np.repeat(array, 2, axis=1)[:, ::2], array.tolist()):
            found = qd.run(two_layers(), {"x": given}, convert_samples=isinstance(given, list))["y"]
            np.testing.assert_array_equal(found, expected)

    def test_inputs_that_do_not_fit(self):
        model = two_layers()
        array = rows(1)[0]["x"]
        for sample, fragments in (
            ({}, ["no array", "'x'"]),
            ({"x": array, "z": array}, ["no input 'z'"]),
            ({"x": array.astype(np.float64)}, ["float64", "float32", "convert_samples=True"]),
            ({"x": array.astype(np.complex64)}, ["complex64", "float32"]),
            ({"x": array[0]}, ["16", "?x16"]),
            ({"x": array[:, :15]}, ["2x15", "?x16"]),
            ({"x": "text"}, ["float32"]),
        ):
            self.assert_fails("usage", fragments, lambda given=sample: qd.run(model, given))
        with self.assertRaises(TypeError):
            qd.run(model, array)
        np.testing.assert_array_equal(qd.run(model, {"x": array.astype(np.float64)}, convert_samples=True)["y"],
                                      qd.run(model, {"x": array})["y"])

    def test_integers_are_not_rounded(self):
        from onnx import TensorProto, helper
        graph = helper.make_graph([helper.make_node("Identity", ["i"], ["o"])], "g",
                                  [helper.make_tensor_value_info("i", TensorProto.INT64, [2])],
                                  [helper.make_tensor_value_info("o", TensorProto.INT64, [2])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        found = qd.run(model, {"i": np.array([1.0, 2.0])}, convert_samples=True)["o"]
        self.assertEqual((found.tolist(), found.dtype), ([1, 2], np.int64))
        self.assert_fails("usage", ["float64", "int64"],
                          lambda: qd.run(model, {"i": np.array([1.5, 2])}, convert_samples=True), tensor="i")

    def test_memory_is_bounded(self):
        self.assert_fails("impossible", ["run_memory=BYTES"], lambda: qd.run(DIGITS, digits(1)[0], run_memory=1000))

    def test_statistics_are_numpys(self):
        samples = rows(5)
        statistics = qd.calibrate(two_layers(), samples)
        hidden = np.concatenate([s["x"] @ weights_of(two_layers())["fc1.weight"] for s in samples])
        self.assertEqual(set(statistics), {"x", "h", "r", "y"})
        self.assertEqual(statistics.samples, 5)
        found = statistics["h"]
        self.assertEqual((found["samples"], found["elements"], found["non_finite"]), (5, hidden.size, 0))
        for name, value in (("min", hidden.min()), ("max", hidden.max()), ("mean", hidden.mean())):
            self.assertAlmostEqual(found[name], float(value), delta=1e-4)
        with self.assertRaises(KeyError):
            statistics["z"]
        self.assertEqual(set(qd.calibrate(two_layers(), samples, values=["h"])), {"h"})

    def test_statistics_as_files(self):
        first, second = qd.calibrate(two_layers(), rows(3, seed=4)), qd.calibrate(two_layers(), rows(2, seed=5))
        first.merge(second)
        first.save(self.path("s.json"))
        whole = qd.calibrate(two_layers(), rows(3, seed=4) + rows(2, seed=5))
        whole.save(self.path("w.json"))
        self.assertEqual((self.folder / "s.json").read_bytes(), (self.folder / "w.json").read_bytes())
        self.assertEqual(dict(qd.Statistics.load(self.path("s.json"))), dict(whole))
        (self.folder / "s.json").write_text("{}")
        self.assert_fails("invalid_model", ["s.json"], lambda: qd.Statistics.load(self.path("s.json")))

    def test_comparison_is_numpys(self):
        samples = rows(4)
        small = qd.quantize(two_layers(), "weight-only", bits=4)
        found = qd.compare(two_layers(), small.model, samples, layers=True)
        a = np.concatenate([qd.run(two_layers(), s)["y"] for s in samples]).astype(np.float64)
        b = np.concatenate([qd.run(small.model, s)["y"] for s in samples]).astype(np.float64)
        (output,) = found
        self.assertEqual(output["name"], "y")
        self.assertAlmostEqual(output["sqnr_db"], 10 * np.log10((a**2).sum() / ((a - b) ** 2).sum()), delta=1e-6)
        self.assertAlmostEqual(output["cosine"], (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()), delta=1e-9)
        self.assertAlmostEqual(output["largest_error"], np.abs(a - b).max(), delta=1e-6)
        self.assertIn("h", [layer["name"] for layer in found.layers])
        self.assertIn("SQNR", str(found))
        same = qd.compare(two_layers(), two_layers(), samples)
        self.assertEqual((same[0]["sqnr_db"], same[0]["equal"]), (float("inf"), a.size))

    def test_labels(self):
        samples = digits(50)
        scores = np.concatenate([onnxruntime_outputs(DIGITS, s)["logits"] for s in samples])
        labels = scores.argmax(1)
        labels[:5] = (labels[:5] + 1) % 10
        found = qd.compare(DIGITS, DIGITS, samples, labels=labels)
        self.assertEqual(found.first, found.second)
        self.assertAlmostEqual(found.first["top1"], 0.9)
        with self.assertRaises(TypeError):
            qd.compare(DIGITS, DIGITS, samples, labels=labels.astype(np.float32))


if __name__ == "__main__":
    unittest.main()
