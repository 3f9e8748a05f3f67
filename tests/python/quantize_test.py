"""Quantization in Python: the command's bytes, the reasons, and what is refused.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/quantize_test.py        with $QUADRANT, the command
"""

import json
import logging
import pathlib
import re
import subprocess
import sys
import unittest
import warnings

import numpy as np
import onnx
import quadrant as qd
from _package import DIGITS, EXAMPLES, SANITIZED, PackageTest, digits, onnxruntime_outputs, rows, two_layers, weights_of

TRANSFORMER = str(EXAMPLES / "tiny_transformer.onnx")


def sqnr(signal, approximation):
    signal = signal.astype(np.float64)
    return 10 * np.log10((signal**2).sum() / ((signal - approximation) ** 2).sum())


class SameBytesTest(PackageTest):
    """As the command, byte for byte."""

    def check(self, model, options, result):
        self.command("quantize", model, "-o", self.path("commanded.onnx"), *options)
        result.save(self.path("called.onnx"))
        commanded = (self.folder / "commanded.onnx").read_bytes()
        self.assertEqual((self.folder / "called.onnx").read_bytes(), commanded)
        self.assertEqual(result.to_onnx(), commanded)

    def test_weights_of_8_bits(self):
        self.check(DIGITS, ["--scheme", "weight-only"], qd.quantize(DIGITS, "weight-only"))
        self.check(TRANSFORMER, ["--preset", "int8"], qd.quantize(TRANSFORMER, preset="int8"))

    def test_numpy_is_not_loaded_for_it(self):
        program = """
import sys
import quadrant as qd
qd.quantize(sys.argv[1], "weight-only", bits=4).save(sys.argv[2])
assert "numpy" not in sys.modules, "numpy"
assert qd.scheme.quantise_graph and "numpy" in sys.modules, "qd.scheme"
"""
        subprocess.run([sys.executable, "-c", program, DIGITS, self.path("small.onnx")], check=True, timeout=600)

    def test_options_and_patterns(self):
        self.check(
            TRANSFORMER,
            ["--scheme", "weight-only", "--bits", 4, "--block-size", 32, "--asymmetric", "--clip", "mse",
             "--exclude", r"blocks\.1", "--include", "weight|MatMul"],
            qd.quantize(TRANSFORMER, "weight-only", bits=4, granularity="block", block_size=32, symmetry="asymmetric",
                        clip="mse", exclude=r"blocks\.1", include=["weight|MatMul"]))

    def test_number_formats(self):
        self.check(TRANSFORMER, ["--scheme", "weight-only", "--type", "nf4"],
                   qd.quantize(TRANSFORMER, "weight-only", type="nf4"))

    def test_weights_rounded_by_samples(self):
        samples = digits(8)
        folder = self.save_samples("samples", samples)
        options = ["--scheme", "weight-only", "--bits", 4, "--block-size", 32, "--calibration", folder]
        for given in (samples, (sample for sample in samples), folder, pathlib.Path(folder)):
            self.check(DIGITS, options, qd.quantize(DIGITS, "weight-only", bits=4, block_size=32, calibration=given))

    def test_samples_of_integers(self):
        tokens = np.load(EXAMPLES / "tiny_transformer.npz")["tokens"]
        samples = [{"tokens": tokens[i : i + 1]} for i in range(4)]
        options = ["--scheme", "weight-only", "--bits", 4, "--calibration", self.save_samples("samples", samples)]
        self.check(TRANSFORMER, options, qd.quantize(TRANSFORMER, "weight-only", bits=4, calibration=samples))

    def test_static_int8(self):
        samples = digits(8)
        options = ["--scheme", "static-affine", "--calibration", self.save_samples("samples", samples)]
        self.check(DIGITS, options, qd.quantize(DIGITS, "static-affine", calibration=samples))
        self.check(DIGITS, [*options, "--optimize", "cle,bc", "--encoding", "percentile"],
                   qd.quantize(DIGITS, "static-affine", calibration=samples, optimize=["cle", "bc"],
                               encoding="percentile"))

    def test_statistics(self):
        statistics = qd.calibrate(DIGITS, digits(8))
        statistics.save(self.path("s.json"))
        options = ["--scheme", "static-affine", "--calibration", self.path("s.json")]
        for given in (statistics, self.path("s.json")):
            self.check(DIGITS, options, qd.quantize(DIGITS, "static-affine", calibration=given))
        self.command("calibrate", DIGITS, "--data", self.save_samples("samples", digits(8)), "-o", self.path("t.json"))
        self.assertEqual((self.folder / "s.json").read_bytes(), (self.folder / "t.json").read_bytes())

    def test_models_from_anywhere(self):
        expected = qd.quantize(DIGITS, "weight-only").to_onnx()
        for given in (onnx.load(DIGITS), pathlib.Path(DIGITS).read_bytes(), qd.read(DIGITS)):
            self.assertEqual(qd.quantize(given, "weight-only").to_onnx(), expected)

    def test_threads_do_not_matter(self):
        expected = qd.quantize(DIGITS, "static-affine", calibration=digits(8), threads=1).to_onnx()
        for threads in (2, 5):
            found = qd.quantize(DIGITS, "static-affine", calibration=digits(8), threads=threads)
            self.assertEqual(found.to_onnx(), expected)

    def test_budgets(self):
        self.check(TRANSFORMER, ["--preset", "mixed-4.5bit"], qd.quantize(TRANSFORMER, preset="mixed-4.5bit"))
        self.check(TRANSFORMER, ["--scheme", "weight-only", "--target-bits", 5],
                   qd.quantize(TRANSFORMER, "weight-only", target_bits=5))

    def test_recipes(self):
        recipe = {
            "format": "quadrant.recipe",
            "version": 1,
            "schemes": {"int8": {"scheme": "weight_only"},
                        "int4": {"scheme": "weight_only", "options": {"bits": 4, "block_size": 16}}},
            "rules": [{"scheme": "int4"}, {"match": {"name": "fc2"}, "scheme": "int8"}],
        }
        onnx.save(two_layers(), self.path("m.onnx"))
        (self.folder / "r.json").write_text(json.dumps(recipe))
        for given in (recipe, self.path("r.json")):
            result = qd.quantize(self.path("m.onnx"), recipe=given)
            self.check(self.path("m.onnx"), ["--recipe", self.path("r.json")], result)
        self.assertEqual({value["value"]: value["scheme"] for value in result.plan["values"]},
                         {"fc1.weight": "int4", "fc2.weight": "int8"})
        self.assertEqual(result.recipe["schemes"].keys(), {"int8", "int4"})

    def test_plans(self):
        decided = qd.quantize(TRANSFORMER, "weight-only", exclude="embedding")
        followed = qd.quantize(TRANSFORMER, "weight-only", plan=decided.plan)
        self.assertEqual(followed.to_onnx(), decided.to_onnx())
        self.command("plan", TRANSFORMER, "--scheme", "weight-only", "--exclude", "embedding",
                     "-o", self.path("plan.json"))
        self.assertEqual(decided.plan, json.loads((self.folder / "plan.json").read_text()))
        self.check(TRANSFORMER, ["--scheme", "weight-only", "--plan", self.path("plan.json")],
                   qd.quantize(TRANSFORMER, "weight-only", plan=self.path("plan.json")))

    def test_tflite(self):
        samples = digits(8)
        folder = self.save_samples("samples", samples)
        self.command("convert", DIGITS, self.path("commanded.tflite"), "--scheme", "static-affine",
                     "--calibration", folder)
        commanded = (self.folder / "commanded.tflite").read_bytes()
        qd.convert(DIGITS, self.path("called.tflite"), "static-affine", calibration=samples)
        self.assertEqual((self.folder / "called.tflite").read_bytes(), commanded)
        qd.quantize(DIGITS, "static-affine", calibration=samples, target="tflite").save(self.path("saved.tflite"))
        self.assertEqual((self.folder / "saved.tflite").read_bytes(), commanded)

    def test_conversion_with_codes_at_the_borders(self):
        samples = digits(8)
        folder = self.save_samples("samples", samples)
        for ending, target in (("tflite", None), ("xml", None), ("onnx", None), ("onnx", "onnx-qoperator"),
                               ("qd", "openvino-cpu")):
            name = f"commanded.{ending}"
            self.command("convert", DIGITS, self.path(name), "--scheme", "static-affine", "--calibration", folder,
                         "--io", "codes", *(("--target", target) if target else ()))
            qd.convert(DIGITS, self.path(f"called.{ending}"), "static-affine", calibration=samples, target=target,
                       coded_borders=True)
            self.assertEqual((self.folder / f"called.{ending}").read_bytes(), (self.folder / name).read_bytes(),
                             (ending, target))

    def test_conversion_alone(self):
        qd.quantize(DIGITS, "static-affine", calibration=digits(8)).save(self.path("qdq.onnx"))
        for ending in ("tflite", "xml", "qd", "onnx"):
            self.command("convert", self.path("qdq.onnx"), self.path(f"commanded.{ending}"))
            qd.convert(self.path("qdq.onnx"), self.path(f"called.{ending}"))
            self.assertEqual((self.folder / f"called.{ending}").read_bytes(),
                             (self.folder / f"commanded.{ending}").read_bytes(), ending)
        self.command("convert", self.path("qdq.onnx"), self.path("commanded.onnx"), "--target", "onnx-qoperator")
        qd.convert(self.path("qdq.onnx"), self.path("called.onnx"), target="onnx-qoperator")
        self.assertEqual((self.folder / "called.onnx").read_bytes(), (self.folder / "commanded.onnx").read_bytes())


class ResultTest(PackageTest):
    def test_onnxruntime_computes_the_same(self):
        samples = digits(32)
        for result, least in ((qd.quantize(DIGITS, "static-affine", calibration=samples), 20),
                              (qd.quantize(DIGITS, "weight-only"), 25)):
            contents = result.to_onnx()
            onnx.checker.check_model(onnx.load_from_string(contents))
            for sample in samples[:4]:
                theirs = onnxruntime_outputs(contents, sample)["logits"]
                ours = qd.run(result.model, sample)["logits"]
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=0.05 * np.abs(theirs).max())
                self.assertGreater(sqnr(onnxruntime_outputs(DIGITS, sample)["logits"], theirs), least)

    def test_weights_are_integers_that_mean_the_floats(self):
        result = qd.quantize(two_layers(), "weight-only")
        codes = result.model.weights["fc1.weight_quantized"]
        floats = result.float_model.weights["fc1.weight"]
        self.assertEqual((codes.dtype, codes.shape), (np.int8, floats.shape))
        proto = onnx.load_from_string(result.to_onnx())
        arrays = weights_of(proto)
        np.testing.assert_array_equal(codes, arrays["fc1.weight_quantized"])
        (dequantize,) = (node for node in proto.graph.node if node.input[0] == "fc1.weight_quantized")
        scales = arrays[dequantize.input[1]]
        self.assertEqual((dequantize.op_type, scales.shape), ("DequantizeLinear", (32,)))  # one for each output
        self.assertTrue((np.abs(codes * scales - floats) <= scales * 0.5001).all())

    def test_weights_of_4_bits(self):
        result = qd.quantize(two_layers(), "weight-only", bits=4, block_size=16)
        codes = result.model.weights["fc1.weight_quantized"]
        self.assertEqual(codes.dtype, np.int8)
        written = weights_of(onnx.load_from_string(result.to_onnx()))["fc1.weight_quantized"]
        np.testing.assert_array_equal(codes, written.astype(np.int8))

    def test_reasons(self):
        result = qd.quantize(two_layers(), "weight-only", exclude="fc2")
        self.assertIn("axis=", result.explain("fc1.weight"))
        self.assertIn("exclude", result.explain("fc2.weight"))
        self.assertIn("fc1", result.explain("fc1"))
        self.assert_fails("usage", ["'fc1.wieght'", "did you mean 'fc1.weight'"], lambda: result.explain("fc1.wieght"))
        summary = result.summary()
        self.assertEqual((summary["eligible"]["count"], summary["quantized_after"]["count"]), (2, 1))
        self.assertEqual([weight["name"] for weight in summary["left_in_float"]], ["fc2.weight"])
        self.assertIn("fc2.weight", str(result))
        self.assertIn("1 values quantized", repr(result))

    def test_a_page_for_notebooks(self):
        onnx.save(two_layers(), self.path("m.onnx"))
        report = qd.quantize(self.path("m.onnx"), "weight-only", bits=4).report()
        self.assertTrue(report.html.lstrip().lower().startswith("<!doctype html>"))
        for name in ("fc1.weight", "fc2.weight", "m.onnx"):
            self.assertIn(name, report.html)
        self.assertIsNone(re.search(r"""(?:src|href)\s*=\s*["']?\s*https?:""", report.html))
        report.save(self.path("r.html"))
        self.assertEqual((self.folder / "r.html").read_text(encoding="utf-8"), report.html)
        shown = report._repr_html_()
        self.assertTrue(shown.startswith("<iframe"))
        self.assertNotIn("<", re.search(r'srcdoc="([^"]*)"', shown).group(1))

    @unittest.skipIf(SANITIZED, "takes many minutes")
    def test_optimize(self):
        samples = digits(16)
        done = qd.optimize(DIGITS, samples, accept_sqnr_db=20)
        self.assertTrue(done.is_good_enough)
        self.assertEqual(done.attempts[done.best]["settings"], "default")
        done.save(self.path("called.onnx"))
        self.command("optimize", DIGITS, "-o", self.path("commanded.onnx"), "--calibration",
                     self.save_samples("samples", samples), "--accept-sqnr", "20")
        self.assertEqual((self.folder / "called.onnx").read_bytes(), (self.folder / "commanded.onnx").read_bytes())
        more = qd.optimize(DIGITS, samples, accept_sqnr_db=200, most_float=0)
        self.assertFalse(more.is_good_enough)
        self.assertGreater(len(more.attempts), 4)
        self.assertIsNotNone(more.attempts[more.best]["held_back_sqnr_db"])
        again = qd.quantize(DIGITS, recipe=more.recipe, calibration=samples)
        self.assertEqual(again.to_onnx(), more.model.to_onnx())
        labels = np.load(EXAMPLES / "digits_cnn.npz")["labels"][:16]
        self.assertIsNotNone(qd.optimize(DIGITS, samples, labels=labels).attempts[0]["points_lost"])

    @unittest.skipIf(SANITIZED, "takes many minutes")
    def test_optimize_leaves_operations_in_float(self):
        samples = [{"image": array} for array in np.array_split(np.concatenate([each["image"] for each in digits(200)]), 20)]
        done = qd.optimize(DIGITS, samples, accept_sqnr_db=45, most_float=1)
        excluded = [each for attempt in done.attempts for each in attempt["excluded"]]
        self.assertTrue(excluded)
        self.assertTrue(all(isinstance(name, str) and reason for name, reason in excluded), excluded)

    @unittest.skipIf(SANITIZED, "takes many minutes")
    def test_diagnose_measures_weights_in_front_of_normalizations(self):
        """Those of a model whose normalizations are not folded."""
        found = qd.diagnose(DIGITS, qd.quantize(DIGITS, "weight-only", bits=4).model, digits(20), remedies=False)
        self.assertNotIn("not measured", str(found))
        self.assertIn("exact", str(found))

    @unittest.skipIf(SANITIZED, "takes many minutes")
    def test_diagnose(self):
        samples = rows(8)
        bad = qd.quantize(two_layers(), "weight-only", bits=4)
        found = qd.diagnose(two_layers(), bad.model, samples)
        (output,) = qd.compare(two_layers(), bad.model, samples)
        self.assertAlmostEqual(found.sqnr_db, output["sqnr_db"], delta=1e-9)
        self.assertEqual({cause["name"] for cause in found}, {"fc1.weight", "fc2.weight"})
        self.assertGreater(found[0]["share"], found[1]["share"])
        for cause in found:
            self.assertTrue(cause["is_weight"])
            mended = qd.quantize(two_layers(), recipe=cause["remedy"]["recipe"], calibration=samples)
            (output,) = qd.compare(two_layers(), mended.model, samples)
            self.assertAlmostEqual(cause["remedy"]["sqnr_db"], output["sqnr_db"], delta=1e-6)
            self.assertGreater(output["sqnr_db"], found.sqnr_db)
        self.assertIn("scheme='weight_only'", str(found))
        named = qd.diagnose(two_layers(), bad.model, samples, remedies=False, most=1)
        self.assertEqual([(cause["name"], cause["remedy"]) for cause in named], [(found[0]["name"], None)])

    def test_sensitivity(self):
        samples = rows(4)
        found = qd.sensitivity(two_layers(), "weight-only", samples, bits=4)
        self.assertEqual({row["layer"] for row in found}, {"fc1.weight", "fc2.weight"})
        self.assertEqual([row["sqnr_db"] for row in found], sorted(row["sqnr_db"] for row in found))
        for row in found:
            alone = qd.quantize(two_layers(), "weight-only", bits=4, include=re.escape(row["layer"]))
            (output,) = qd.compare(two_layers(), alone.model, samples)
            self.assertAlmostEqual(row["sqnr_db"], output["sqnr_db"], delta=1e-6)


class RefusalTest(PackageTest):
    def test_words(self):
        quantize = qd.quantize
        for call, fragments in (
            (lambda: quantize(DIGITS), ["scheme", "preset", "recipe"]),
            (lambda: quantize(DIGITS, "weight-only", preset="int8"), ["one of"]),
            (lambda: quantize(DIGITS, "weihgt-only"), ["did you mean 'weight_only'"]),
            (lambda: quantize(DIGITS, preset="int9"), ["int8"]),
            (lambda: quantize(DIGITS, "weight-only", bitz=4), ["'bitz'", "did you mean 'bits'"]),
            (lambda: quantize(DIGITS, "weight-only", bitz=None), ["'bitz'", "did you mean 'bits'"]),
            (lambda: quantize(DIGITS, "weight-only", bits=77), ["bits", "77"]),
            (lambda: quantize(DIGITS, "weight-only", bits="many"), ["bits", "many"]),
            (lambda: quantize(DIGITS, "weight-only", activation_bits=16), ["activation_bits", "weight_only"]),
            (lambda: quantize(DIGITS, preset="int8", bits=4), ["bits", "int8"]),
            (lambda: quantize(DIGITS, "weight-only", exclude="feeture"), ["feeture"]),
            (lambda: quantize(DIGITS, "weight-only", include="("), ["include"]),
            (lambda: quantize(DIGITS, "weight-only", target="tpu"), ["tflite"]),
            (lambda: quantize(DIGITS, "weight-only", non_finite="keep"), ["leave"]),
            (lambda: quantize(DIGITS, "weight-only", gain="fame"), ["fame"]),
            (lambda: quantize(DIGITS, "weight-only", policy="optimum"), ["did you mean 'optimal'"]),
            (lambda: quantize(DIGITS, "weight-only", bits=4, target_bits=4), ["bits", "budget"]),
            (lambda: quantize(DIGITS, "static-affine"), ["calibration=SAMPLES"]),
            (lambda: qd.convert(DIGITS, self.path("m.onnx"), bits=4), ["bits", "scheme"]),
            (lambda: qd.convert(DIGITS, self.path("m.onnx"), target="tpu"), ["tpu"]),
            (lambda: qd.read(DIGITS).save(self.path("m.tflite"), external_data=True), ["external_data", "ONNX"]),
            (lambda: quantize(DIGITS, "weight-only").save(self.path("m.xml"), matmul_nbits=True), ["matmul_nbits", "ONNX"]),
            (lambda: quantize(DIGITS, "weight-only", policy="greddy"), ["policy", "did you mean 'greedy'"]),
        ):
            with self.subTest(fragments):
                self.assert_fails("usage", fragments, call)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_recipes_and_plans(self):
        self.assert_fails("usage", ["recipe: $"], lambda: qd.quantize(DIGITS, recipe={"rules": []}), file=None)
        of_types = {"format": "quadrant.recipe", "version": 1, "rules": [{"scheme": "weight_only", "options": {"bits": "4"}}]}
        self.assert_fails("usage", ["recipe: ", "bits"], lambda: qd.quantize(DIGITS, recipe=of_types))
        self.assert_fails("io", ["none.json"], lambda: qd.quantize(DIGITS, recipe=self.path("none.json")))
        self.assert_fails("usage", ["plan: ", "format"], lambda: qd.quantize(DIGITS, "weight-only", plan={}))
        for option in ("recipe", "plan"):  # broken files are no wrong calls
            (self.folder / "broken.json").write_text("{")
            scheme = None if option == "recipe" else "weight-only"
            self.assert_fails("invalid_model", [], lambda option=option, scheme=scheme: qd.quantize(
                DIGITS, scheme, **{option: self.path("broken.json")}), file=self.path("broken.json"))
        self.assert_fails("io", ["none.json"], lambda: qd.quantize(DIGITS, "weight-only", plan=self.path("none.json")))

    def test_what_cannot_be_done(self):
        proto = two_layers()
        weight = onnx.numpy_helper.to_array(proto.graph.initializer[0]).copy()
        weight[0, 0] = np.nan
        proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, "fc1.weight"))
        self.assert_fails("impossible", ["non_finite='leave'"], lambda: qd.quantize(proto, "weight-only"),
                          tensor="fc1.weight")
        result = qd.quantize(proto, "weight-only", non_finite="leave")
        self.assertEqual([value["value"] for value in result.plan["values"]], ["fc2.weight"])

    def test_files_appear_whole_or_not_at_all(self):
        result = qd.quantize(DIGITS, "weight-only")
        self.assert_fails("io", ["nowhere"], lambda: result.save(self.path("nowhere/m.onnx")))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_warnings_and_notes(self):
        with warnings.catch_warnings(record=True) as caught, self.assertLogs("quadrant", logging.INFO) as logged:
            warnings.simplefilter("always")
            qd.quantize(DIGITS, "static-affine", calibration=digits(4), optimize=["bc"])
            qd.quantize(DIGITS, "weight-only", bits=4, calibration=digits(4))
        (warning,) = (each for each in caught if issubclass(each.category, qd.QuadrantWarning))
        self.assertIn("cle", str(warning.message))
        self.assertEqual(warning.filename, __file__)
        self.assertTrue(any("weight" in message for message in logged.output), logged.output)
        with warnings.catch_warnings():
            warnings.simplefilter("error", qd.QuadrantWarning)
            with self.assertRaises(qd.QuadrantWarning):
                qd.quantize(DIGITS, "static-affine", calibration=digits(4), optimize=["bc"])


class ListTest(PackageTest):
    def test_as_the_command_has_them(self):
        self.assertEqual(qd.__version__, self.command("--version").split()[-1])
        schemes = {scheme["name"]: scheme for scheme in qd.list_schemes()}
        listed = json.loads(self.command("list", "--json"))["schemes"]
        self.assertEqual(set(schemes), {entry["scheme"] for entry in listed})
        bits = next(option for option in schemes["weight_only"]["options"] if option["name"] == "bits")
        self.assertIn("4", bits["takes"])
        self.assertIn("optimize", [option["name"] for option in schemes["static_affine"]["options"]])
        presets = {preset["name"]: preset["recipe"] for preset in qd.list_presets()}
        listed = json.loads(self.command("list", "presets", "--json"))["presets"]
        self.assertEqual(presets, {entry["preset"]: entry["recipe"] for entry in listed})
        types = json.loads(self.command("list", "types", "--json"))["types"]
        self.assertEqual({entry["name"]: entry["bits_per_weight"] for entry in qd.list_types()},
                         {entry["type"]: entry["bits_per_weight"] for entry in types})


if __name__ == "__main__":
    unittest.main()
