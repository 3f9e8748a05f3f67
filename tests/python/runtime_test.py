"""Runtimes of others, and what weights are multiplied by.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/runtime_test.py      with $QUADRANT, the command
"""

import pickle
import threading
import time
import unittest

import numpy as np
import quadrant as qd
from _package import DIGITS, SANITIZED, PackageTest, digits, onnx, rows, two_layers, weights_of
from onnx import TensorProto, helper, numpy_helper
from quadrant.scheme import QuantizedType, decode, encode


def by_onnxruntime(contents, values):
    import onnxruntime

    session = onnxruntime.InferenceSession(contents, providers=["CPUExecutionProvider"])
    return lambda sample: session.run(values, sample)


def by_numpy(contents, values):
    """Of `two_layers`, without a look at the file; by name."""
    weights = weights_of(onnx.load_from_string(contents))

    def run(sample):
        h = sample["x"] @ weights["fc1.weight"]
        r = np.maximum(h, 0)
        # The file has what is needed of the model, and no more.
        y = r @ weights["fc2.weight"] if "fc2.weight" in weights else None
        return {"h": h, "r": r, "y": y}

    return run


def two_groups():
    """y = conv(x, w) in two groups."""
    w = np.random.default_rng(2).standard_normal((4, 2, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], "conv", group=2, pads=[1, 1, 1, 1])],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 5, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 5, 5])],
        [numpy_helper.from_array(w, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def with_a_branch():
    """y = (2 x) w in one branch, and x w in the other, which is never taken."""
    w = np.random.default_rng(3).standard_normal((16, 8)).astype(np.float32)

    def branch(name, nodes):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)])

    taken = branch("then", [helper.make_node("Add", ["x", "x"], ["in_then"]),
                            helper.make_node("MatMul", ["in_then", "w"], ["then_y"])])
    other = branch("else", [helper.make_node("Identity", ["x"], ["else_y"])])
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], "if", then_branch=taken, else_branch=other)],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16]),
         helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class RuntimeTest(PackageTest):
    def assert_alike(self, found, expected):
        self.assertEqual(list(found), list(expected))
        for name, each in expected.items():
            for part in ("min", "max", "mean"):
                self.assertAlmostEqual(found[name][part], each[part], delta=1e-4 * max(1, abs(each["max"])), msg=name)
            self.assertEqual(found[name]["elements"], each["elements"])

    def test_calibrate(self):
        self.assert_alike(qd.calibrate(DIGITS, digits(8), runtime=by_onnxruntime), qd.calibrate(DIGITS, digits(8)))
        found = qd.calibrate(two_layers(), rows(5), runtime=by_numpy)
        self.assert_alike(found, qd.calibrate(two_layers(), rows(5)))

    def test_named_values_alone_are_asked_for(self):
        asked = []

        def runtime(contents, values):
            asked.append((values, [node.name for node in onnx.load_from_string(contents).graph.node]))
            return by_numpy(contents, values)

        found = qd.calibrate(two_layers(), rows(2), values=["x", "h", "fc1.weight"], runtime=runtime)
        self.assertEqual(asked, [(["h"], ["fc1"])])  # inputs and weights are known
        self.assert_alike(found, qd.calibrate(two_layers(), rows(2), values=["x", "h", "fc1.weight"]))

    def test_compare(self):
        result = qd.quantize(DIGITS, "static-affine", calibration=digits(8))
        ours = qd.compare(DIGITS, result.model, digits(8))
        theirs = qd.compare(DIGITS, result.model, digits(8), runtime=by_onnxruntime)
        self.assertEqual(len(theirs), len(ours))
        self.assertGreater(theirs[0]["sqnr_db"], 15)
        self.assertAlmostEqual(theirs[0]["sqnr_db"], ours[0]["sqnr_db"], delta=3)

    def test_layers_of_a_model_in_memory(self):
        """The same as of its file."""
        result = qd.quantize(DIGITS, "static-affine", calibration=digits(8))
        found, of_file = (qd.compare(DIGITS, each, digits(8), layers=True).layers for each in (result.model, result.to_onnx()))
        self.assertGreater(len(found), 10)
        self.assertEqual([layer["name"] for layer in found], [layer["name"] for layer in of_file])

    def test_moments_by_another_runtime(self):
        ours = qd.second_moments(two_layers(), rows(6))
        theirs = qd.second_moments(two_layers(), rows(6), runtime=by_numpy)
        for name in ("fc1.weight", "fc2.weight"):
            np.testing.assert_allclose(theirs[name].mean, ours[name].mean, atol=1e-4 * ours[name].mean.max())

    def test_what_a_runtime_raises_comes_out(self):
        class Broken(Exception):
            pass

        def when_loaded(contents, values):
            raise Broken("loads nothing")

        def when_run(contents, values):
            def run(sample):
                raise Broken("runs nothing")

            return run

        for runtime in (when_loaded, when_run):
            for call in (qd.calibrate, qd.second_moments):
                with self.assertRaises(Broken):
                    call(two_layers(), rows(3), runtime=runtime)
        with self.assertRaises(TypeError):
            qd.calibrate(two_layers(), rows(1), runtime=3)

    def test_nonsense_is_told(self):
        def giving(result):
            return lambda contents, values: lambda sample: result

        def calibrated(runtime):
            return lambda: qd.calibrate(two_layers(), rows(1), values=["h"], runtime=runtime)

        fit = np.zeros((2, 32), np.float32)
        qd.calibrate(two_layers(), rows(1), values=["h"], runtime=giving([fit]))
        self.assert_fails("usage", ["gave a NoneType"], calibrated(lambda contents, values: None))
        self.assert_fails("usage", ["gave a NoneType"], calibrated(giving(None)))
        self.assert_fails("usage", ["gave a str"], calibrated(giving("h")))
        self.assert_fails("usage", ["2 arrays of the 1"], calibrated(giving([fit, fit])))
        self.assert_fails("usage", ["no such value"], calibrated(giving({"r": fit})), tensor="h")
        wrong = self.assert_fails("usage", ["float64"], calibrated(giving([fit.astype(np.float64)])), tensor="h")
        self.assertNotIn("convert_samples", str(wrong))
        self.assert_fails("usage", ["[2x31]", "[?x32]"], calibrated(giving([fit[:, :31]])), tensor="h")

    def test_values_whose_type_the_model_does_not_say(self):
        proto = two_layers()
        proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        proto.graph.node[1].CopyFrom(helper.make_node("QuickGelu", ["h"], ["r"], domain="com.microsoft", alpha=1.0))
        found = qd.calibrate(proto, rows(3), runtime=by_onnxruntime)
        self.assert_alike(found, qd.calibrate(proto, rows(3)))

    def test_bodies_are_out_of_reach(self):
        proto = with_a_branch()
        samples = [{"x": sample["x"], "c": np.array(True)} for sample in rows(4)]
        with self.assertWarnsRegex(qd.QuadrantWarning, "3 values in bodies"):
            found = qd.calibrate(proto, samples, runtime=by_onnxruntime)
        self.assertEqual(set(found), {"x", "y"})
        inner = "if/then_branch/in_then"
        self.assertIn(inner, qd.calibrate(proto, samples))
        self.assert_fails("usage", ["the interpreter does"],
                          lambda: qd.calibrate(proto, samples, values=inner, runtime=by_onnxruntime), tensor=inner)
        for runtime, seen in ((None, {"y", inner, "if/then_branch/then_y"}), (by_onnxruntime, {"y"})):
            layers = qd.compare(proto, proto, samples, layers=True, runtime=runtime).layers
            self.assertEqual({layer["name"] for layer in layers}, seen)
        self.assertEqual(list(qd.second_moments(proto, samples)), ["w"])
        moments = qd.second_moments(proto, samples, runtime=by_onnxruntime)
        self.assertEqual(list(moments), [])
        self.assertRegex(moments.left["w"], "body of a loop or a branch")

    def test_one_thread_calls_it_by_one(self):
        lock = threading.Lock()

        def runtime(contents, values):
            inner = by_numpy(contents, values)

            def run(sample):
                self.assertTrue(lock.acquire(blocking=False))
                try:
                    return inner(sample)
                finally:
                    lock.release()

            return run

        self.assertEqual(qd.calibrate(two_layers(), rows(30), runtime=runtime, threads=1).samples, 30)

    def test_a_runtime_may_call_the_library(self):
        def runtime(contents, values):
            return lambda sample: qd.run(contents, sample, values)

        self.assertEqual(dict(qd.calibrate(two_layers(), rows(4), runtime=runtime)), dict(qd.calibrate(two_layers(), rows(4))))


class MomentsTest(PackageTest):
    def test_of_a_product(self):
        moments = qd.second_moments(two_layers(), rows(20), weights=["fc1.weight"])
        self.assertEqual((list(moments), moments.samples, moments.left), (["fc1.weight"], 20, {}))
        x = np.concatenate([sample["x"] for sample in rows(20)]).astype(np.float64)
        of = moments["fc1.weight"]
        self.assertEqual((of.mean.shape, of.counts), ((1, 16, 16), (40,)))
        np.testing.assert_allclose(of.mean[0], x.T @ x / len(x), atol=1e-3)
        # Each row of the matrix is a column of the weight.
        weight = np.arange(16 * 32).reshape(16, 32)
        np.testing.assert_array_equal(weight.reshape(-1)[of.places[0]], weight.T)
        with self.assertRaises(KeyError):
            moments["fc2.weight"]

    def test_of_groups(self):
        x = np.random.default_rng(4).standard_normal((1, 4, 5, 5)).astype(np.float32)
        of = qd.second_moments(two_groups(), [{"x": x}])["w"]
        self.assertEqual((of.mean.shape, of.places.shape, of.counts), ((2, 18, 18), (2, 2, 18), (25, 25)))
        padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
        for group in range(2):
            windows = np.lib.stride_tricks.sliding_window_view(padded[2 * group : 2 * group + 2], (2, 3, 3))[0]
            seen = windows.reshape(25, 18).astype(np.float64)
            np.testing.assert_allclose(of.mean[group], seen.T @ seen / 25, atol=1e-3)

    def test_files_are_the_commands(self):
        moments = qd.second_moments(DIGITS, digits(6))
        moments.save(self.path("ours"))
        samples = self.save_samples("samples", digits(6))
        self.command("calibrate", DIGITS, "--data", samples, "--moments", "-o", self.path("theirs"))
        ours = (self.folder / "ours").read_bytes()
        self.assertEqual(ours, (self.folder / "theirs").read_bytes())
        again = qd.SecondMoments.load(self.path("theirs"))
        again.save(self.path("again"))
        self.assertEqual(ours, (self.folder / "again").read_bytes())
        self.assert_fails("io", [], lambda: qd.SecondMoments.load(self.path("none")), file=self.path("none"))
        (self.folder / "broken").write_bytes(ours[:100])
        self.assert_fails("invalid_model", [], lambda: qd.SecondMoments.load(self.path("broken")), file=self.path("broken"))

    def test_parts_add_up(self):
        """On one grid, to the bytes of all samples at once."""
        grid = qd.second_moments(DIGITS, digits(6))
        parts = [qd.second_moments(DIGITS, part, grid=grid) for part in (digits(6)[:2], digits(6)[2:])]
        parts[1] = pickle.loads(pickle.dumps(parts[1]))
        parts[0].merge(parts[1])
        self.assertEqual(parts[0].samples, 6)
        for name, of in grid.items():
            np.testing.assert_array_equal(parts[0][name].mean, of.mean)
            self.assertEqual(parts[0][name].counts, of.counts)
        self.assert_fails("usage", [], lambda: parts[0].merge(qd.second_moments(DIGITS, digits(3))))
        self.assertEqual(parts[0].samples, 6)
        self.assert_fails("usage", [], lambda: qd.second_moments(two_layers(), rows(2), grid=grid))

    def test_of_blocks(self):
        whole = qd.second_moments(two_layers(), rows(20))["fc1.weight"].mean[0]
        inside = np.kron(np.eye(4), np.ones((4, 4)))
        blocks = qd.second_moments(two_layers(), rows(20), block=4)
        np.testing.assert_array_equal(blocks["fc1.weight"].mean[0], whole * inside)
        diagonal = qd.second_moments(two_layers(), rows(20), weights="fc1.weight", memory=8 * 16)
        np.testing.assert_array_equal(diagonal["fc1.weight"].mean[0], np.diag(np.diag(whole)))
        none = qd.second_moments(two_layers(), rows(20), weights="fc1.weight", memory=8 * 16 - 1)
        self.assertRegex(none.left["fc1.weight"], "bytes")
        more = qd.second_moments(two_layers(), rows(20), grid=blocks)
        blocks.merge(more)
        self.assertEqual(blocks.samples, 40)
        self.assert_fails("usage", ["block"], lambda: qd.second_moments(two_layers(), rows(2), grid=blocks, block=4))
        self.assert_fails("usage", ["block takes"], lambda: qd.second_moments(two_layers(), rows(2), block=0))

    def test_names(self):
        self.assertEqual(list(qd.second_moments(two_layers(), rows(2), weights="fc2.weight")), ["fc2.weight"])
        self.assert_fails("usage", ["fc1.weight"], lambda: qd.second_moments(two_layers(), rows(2), weights="fc1.wieght"))
        self.assert_fails("usage", ["no layer"], lambda: qd.second_moments(two_layers(), rows(2), weights=["h"]), tensor="h")

    def test_are_not_merged_with_those_of_another_model(self):
        for gather in (qd.second_moments, qd.calibrate):
            own, other = gather(two_layers(), rows(2)), gather(two_layers(seed=1), rows(2))
            before = pickle.dumps(own)
            self.assert_fails("usage", ["another model"], lambda own=own, other=other: own.merge(other))
            self.assertEqual(pickle.dumps(own), before)
            with self.assertRaises(TypeError):
                own.merge(None)

    def test_of_another_model(self):
        moments = qd.second_moments(two_layers(seed=1), rows(2))
        self.assert_fails("usage", ["another model"],
                          lambda: qd.quantize(two_layers(), "weight-only", calibration=moments), file=None)

    def test_quantize_takes_them(self):
        moments = qd.second_moments(DIGITS, digits(16))
        by_moments = qd.quantize(DIGITS, "weight-only", bits=4, calibration=moments)
        by_samples = qd.quantize(DIGITS, "weight-only", bits=4, calibration=digits(16))
        self.assertEqual(by_moments.to_onnx(), by_samples.to_onnx())
        self.assertNotEqual(by_moments.to_onnx(), qd.quantize(DIGITS, "weight-only", bits=4).to_onnx())

    def test_encode(self):
        """By the error at the layer's results each rounding is at least as good as the one in front."""
        model, samples = two_layers(), rows(40)
        scale = np.random.default_rng(7).standard_normal((16, 16)).astype(np.float32)
        samples = [{"x": sample["x"] @ scale} for sample in samples]  # inputs that depend on one another
        of = qd.second_moments(model, samples)["fc1.weight"]
        weight = weights_of(model)["fc1.weight"]
        errors = []
        for rounding in ("nearest", "weighted", "feedback", "descent"):
            codes, kind = encode(weight, "i4 * f32[channel] : f32", axis=1, moments=of, rounding=rounding)
            rest = (codes.astype(np.float64) * kind.scales - weight).reshape(-1)[of.places[0]]
            errors.append(np.einsum("rc,cd,rd->", rest, of.mean[0], rest))
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertLess(errors[3], 0.5 * errors[0])
        plain, _ = encode(weight, "i4 * f32[channel] : f32", axis=1)
        nearest, _ = encode(weight, "i4 * f32[channel] : f32", axis=1, moments=of, rounding="nearest")
        np.testing.assert_array_equal(nearest, plain)
        self.assert_fails("usage", ["'best'"], lambda: encode(weight, "nf4", moments=of, rounding="best"))
        self.assert_fails("usage", ["[16, 32]", "[32, 16]"], lambda: encode(weight.T, "nf4", moments=of))

    def test_decode(self):
        weight = weights_of(two_layers(64))["fc1.weight"]
        for name, least in (("int8", 40), ("int4", 18), ("nf4", 18), ("nvfp4", 18), ("fp8-e4m3", 28), ("q4_k", 18),
                            ("codebook:16", 16)):
            with self.subTest(name):
                codes, kind = encode(weight, name, axis=1, block_axis=0)
                back = decode(codes, kind)
                self.assertEqual((back.dtype, back.shape), (np.float32, weight.shape))
                self.assertGreater(10 * np.log10((weight**2).sum() / ((back - weight) ** 2).sum()), least)
                if kind.scales is None:
                    self.assert_fails("usage", [], lambda kind=kind: kind.along(0))
        mine = QuantizedType("int8", np.array([0.5, 0.25]), axis=1, zero_points=np.array([1, 0], np.int8))
        found = decode(np.array([[3, 4]], np.int8), mine)
        np.testing.assert_array_equal(found, [[1.0, 1.0]])
        self.assert_fails("impossible", ["f64"], lambda: decode(np.array([[3.0]]), mine))

    def test_encode_stops(self):
        size = 512 if SANITIZED else 2048
        values = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)

        def call():
            start = time.monotonic()
            encode(values, "q4_k", threads=1)
            return time.monotonic() - start

        whole = call()
        self.assertLess(self.seconds_until_stopped(call, whole / 10), whole / 2 + 0.1)

    def test_encode_by_a_table_of_ones_own(self):
        table = np.array([-3, -1, 0, 2], np.float32)
        values = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32) * 2
        codes, _ = encode(values, "codebook:4", table=table)
        np.testing.assert_array_equal(codes, np.abs(values[..., None] - table).argmin(-1))
        np.testing.assert_array_equal(decode(codes, encode(values, "codebook:4", table=table)[1]), table[codes])
        self.assert_fails("impossible", [], lambda: encode(values, "codebook:4", table=table[:3]))
        for wrong in ([], [1, 0, 2, 3], [1, 1, 2, 3], [0, 1, 2, np.nan]):
            self.assert_fails("usage", ["ascend"], lambda wrong=wrong: encode(values, "codebook:4", table=wrong))


if __name__ == "__main__":
    unittest.main()
