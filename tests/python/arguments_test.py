"""Wrong arguments: each of each function is refused, by its name, in the words of Python.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/arguments_test.py
"""

import inspect
import re
import unittest
import warnings

import numpy as np
import onnx
import quadrant as qd
from _package import DIGITS, ROOT, PackageTest, digits, rows, two_layers
from quadrant import scheme

NAN, INF = float("nan"), float("inf")
MODEL = two_layers().SerializeToString()
WEIGHT = np.ones((4, 4), np.float32)


class Nothing(scheme.Quantization):
    pass


def functions():
    """Each with arguments that are right, up to samples and models that there are none of."""
    result = qd.quantize(MODEL, "weight-only")
    codes, kind = scheme.encode(WEIGHT, "i8 * f32[channel] : f32")
    return {
        qd.read: {"model": MODEL},
        qd.run: {"model": MODEL, "inputs": rows(1)[0]},
        qd.calibrate: {"model": MODEL, "samples": rows(1)},
        qd.second_moments: {"model": MODEL, "samples": rows(1)},
        qd.compare: {"first": MODEL, "second": MODEL, "samples": rows(1)},
        qd.diagnose: {"model": MODEL, "quantized": MODEL, "samples": rows(1)},
        qd.sensitivity: {"model": MODEL, "scheme": "weight-only", "samples": rows(1)},
        qd.optimize: {"model": MODEL, "calibration": rows(1)},
        qd.pareto: {"model": MODEL, "scheme": "weight-only"},
        qd.quantize: {"model": MODEL, "scheme": "weight-only"},
        qd.convert: {"model": MODEL, "path": "/none/m.onnx"},
        result.model.save: {"path": "/none/m.onnx"},
        result.save: {"path": "/none/m.onnx"},
        result.explain: {"name": "fc1"},
        scheme.quantise_graph: {"graph": MODEL, "quantization": Nothing()},
        scheme.encode: {"array": WEIGHT, "format": "nf4"},
        scheme.decode: {"codes": codes, "kind": kind},
        scheme.QuantizedType: {"dtype": "int8", "scales": 1},
        kind.along: {"axis": 0},
        scheme.or_absent: {"pattern": scheme.AnyState},
        scheme.variadic: {"pattern": scheme.AnyState},
    }


# Of the right type, and nothing that there is.
WRONG = {
    "accept_points": (NAN, INF, -0.1, 101),
    "accept_sqnr_db": (NAN, INF, -INF, 10**400),
    "axis": (-5, 2**70),
    "block_axis": (5, -5, 2**70),
    "block_size": (-1, 2**70),
    "most": (0, -1, 2**70),
    "most_float": (NAN, -0.1, 1.1),
    "range": ((1,), (0, 2**70)),
    "run_memory": (0, -1, 2**70),
    "target_bits": (NAN, INF, 0, -1),
    "threads": (-1, 1025, 2**70),
}
TEXTS = (
    "cache calibration data encodings exclude first format gain graph hardware include model name non_finite outputs path plan "
    "policy preset quantized recipe rounding samples scheme second target values weights"
)
WRONG |= dict.fromkeys(TEXTS.split(), ("", "a\0b", "a\ud800"))


class RefusalTest(PackageTest):
    def test_wrong_types(self):
        for function, right in functions().items():
            for name, parameter in inspect.signature(function).parameters.items():
                if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                    continue
                with self.subTest(function.__qualname__, argument=name):
                    with self.assertRaises(TypeError) as caught:
                        function(**(right | {name: object()}))
                    self.assertIn(name.replace("_", " "), str(caught.exception).replace("_", " "))
                    self.assertNotIn("incompatible function arguments", str(caught.exception))

    def test_bools_are_no_numbers(self):
        for function, right in functions().items():
            for name in inspect.signature(function).parameters.keys() & WRONG.keys():
                with self.subTest(function.__qualname__, argument=name), self.assertRaisesRegex(TypeError, name):
                    function(**(right | {name: True}))

    def test_wrong_values(self):
        seen = set()
        for function, right in functions().items():
            for name in inspect.signature(function).parameters.keys() & WRONG.keys():
                for value in WRONG[name]:
                    with self.subTest(function.__qualname__, argument=name, value=repr(value)):
                        self.assert_fails("usage", [name], lambda f=function, r=right | {name: value}: f(**r))
                seen.add(name)
        self.assertEqual(seen, WRONG.keys())

    def test_numbers_of_numpy_are_numbers(self):
        found = qd.diagnose(MODEL, MODEL, rows(1), most=np.int64(1), remedies=np.False_, threads=np.uint8(1))
        self.assertEqual(found.samples, 1)
        self.assertEqual(qd.quantize(MODEL, "weight-only", bits=np.int32(4)).to_onnx(),
                         qd.quantize(MODEL, "weight-only", bits=4).to_onnx())

    def test_options_of_schemes(self):
        for value in ({4}, object(), [1], b"4"):
            with self.assertRaisesRegex(TypeError, "bits takes|bits is"):
                qd.quantize(MODEL, "weight-only", bits=value)
        for name, value in (("block_size", -1), ("block_size", 2**70), ("bits", 4.5), ("clip", []), ("type", "nf4\n")):
            self.assert_fails("usage", [name], lambda given={name: value}: qd.quantize(MODEL, "weight-only", **given))
        for value in (NAN, INF, -1, 101):
            self.assert_fails("usage", ["percentile"],
                              lambda value=value: qd.quantize(MODEL, "static-affine", percentile=value, calibration=rows(1)))

    def test_documents_that_json_cannot_say(self):
        for value, kind in ((np.int64(1), TypeError), (NAN, qd.Error)):
            for name, scheme_name in (("recipe", None), ("plan", "weight-only")):
                with self.assertRaisesRegex(kind, f"^{name} is a dict of what JSON has"):
                    qd.quantize(MODEL, scheme_name, **{name: {"version": value}})

    def test_tables_axes_and_labels(self):
        for table in ([], [NAN], [0, INF], [0, 1e60], [[0, 1]], [1, 0]):
            self.assert_fails("usage", ["a table"], lambda table=table: scheme.encode(WEIGHT, "codebook:2", table=table))
        self.assert_fails("usage", ["axis", "and not 5"], lambda: scheme.encode(WEIGHT, "nf4", axis=5))
        for labels in ([], [2**63], [0, 1, 2]):
            self.assert_fails("usage", ["labels"], lambda labels=labels: qd.compare(MODEL, MODEL, rows(1), labels=labels))

    def test_what_maps_do_not_have(self):
        for found in (qd.calibrate(MODEL, rows(1)), qd.second_moments(MODEL, rows(1)), qd.read(MODEL).weights):
            for name in (5, None, "none"):
                self.assertNotIn(name, found)
                with self.assertRaises(KeyError):
                    found[name]

    def test_arrays_that_are_no_tensors(self):
        for array in (np.ones((2, 2), complex), np.array([["a"]]), np.array([[None]])):
            with self.assertRaisesRegex(TypeError, "numbers"):
                scheme.encode(array, "nf4")

        # Of what is no file, nothing is a broken file.
        self.assert_fails("usage", ["axes"], lambda: scheme.encode(np.float32(1), "nf4"))
        self.assert_fails("usage", ["float"], lambda: scheme.QuantizedType("int8", 1, expressed="int8"))

    def test_parts_of_schemes(self):
        self.assert_fails("usage", ["states"], lambda: scheme.EligibilityPattern(0))
        self.assert_fails("usage", ["states"], lambda: scheme.EligibilityPattern(32))
        for call in (
            lambda: scheme.AnyState | 5,
            lambda: scheme.Quantizable(5),
            lambda: scheme.Op.of(5),
            lambda: scheme.register_parameterized(quantization=Nothing, params=5),
            lambda: scheme.register_dequantizer(quantization_method=5),
            lambda: scheme.register_dequantizer(quantization_method=Nothing)(5),
        ):
            with self.assertRaises(TypeError):
                call()


class WordsTest(PackageTest):
    """What Python users read names keywords, and not the command's options."""

    def texts(self):
        proto = two_layers()
        weight = onnx.numpy_helper.to_array(proto.graph.initializer[0]).copy()
        weight[0, 0] = NAN
        proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, "fc1.weight"))
        doubles = [{"x": rows(1)[0]["x"].astype(np.float64)}]
        quantize = qd.quantize
        for call in (
            lambda: quantize(proto, "weight-only"),
            lambda: quantize(MODEL, "weight-only", bits=7),
            lambda: quantize(MODEL, "weight-only", block_size=1),
            lambda: quantize(MODEL, "weight-only", granularity="tensor", block_size=32),
            lambda: quantize(MODEL, "weight-only", type=""),
            lambda: quantize(MODEL, "weight-only", type="nf4", bits=4),
            lambda: quantize(MODEL, "weight-only", type="nf4", clip="mse"),
            lambda: quantize(MODEL, "weight-only", type="nf4", symmetry="symmetric"),
            lambda: quantize(MODEL, "weight-only", type="nf4", granularity="block"),
            lambda: quantize(MODEL, "weight-only", type="nf4", form="behind"),
            lambda: quantize(MODEL, "weight-only", scales="f8e4m3"),
            lambda: quantize(MODEL, "weight-only", rounding="feedback"),
            lambda: quantize(MODEL, "weight-only", sequential=True),
            lambda: quantize(MODEL, "weight-only", low_rank=0),
            lambda: quantize(MODEL, "weight-only", low_rank=4, target_bits=4),
            lambda: quantize(MODEL, "static-affine", low_rank=4, calibration=rows(1)),
            lambda: quantize(MODEL, "weight-only", optimize=["migrate"]),
            lambda: quantize(MODEL, "weight-only", optimize=["bc-analytic"]),
            lambda: quantize(MODEL, "weight-only", effort="best"),
            lambda: quantize(MODEL, "weight-only", encodings="none.json"),
            lambda: quantize(MODEL, "weight-only", hardware="none"),
            lambda: quantize(MODEL, "weight-only", hardware="none", gain="latency"),
            lambda: quantize(MODEL, "weight-only", bits=4, target_bits=4),
            lambda: quantize(MODEL, "weight-only", target_bits=0.001),
            lambda: quantize(MODEL, "weight-only", calibration=doubles),
            lambda: quantize(MODEL, "weight-only", calibration=qd.calibrate(MODEL, rows(1))),
            lambda: quantize(MODEL, "weight-only", exclude="none"),
            lambda: quantize(MODEL, "static-affine"),
            lambda: quantize(MODEL, preset="int8-static"),
            lambda: quantize(MODEL, "static-affine", optimize=["bc", "bc-analytic"], calibration=rows(1)),
            lambda: quantize(MODEL, "static-affine", optimize=["migrate"]),
            lambda: quantize(MODEL, "static-affine", optimize=["bc"], calibration=qd.calibrate(MODEL, rows(1))),
            lambda: quantize(MODEL, "static-affine", use_enhanced="both", weight_encoding="mse", calibration=rows(1)),
            lambda: quantize(MODEL, "static-affine", asymmetric_weights=True, calibration=rows(1)),
            lambda: quantize(MODEL, "static-affine", calibration=qd.second_moments(MODEL, rows(1))),
            lambda: quantize(MODEL, "static-affine", target_bits=4),
            lambda: quantize(MODEL, "static-affine", target="tflite", kernels="openvino", calibration=rows(1)),
            lambda: qd.optimize(MODEL, []),
            lambda: qd.sensitivity(MODEL, "static-affine", rows(1)),
            lambda: qd.pareto(MODEL, "static-affine"),
            lambda: qd.pareto(proto, "weight-only"),
            lambda: qd.run(DIGITS, digits(1)[0], run_memory=1000),
            lambda: qd.calibrate(MODEL, rows(1), values="none"),
            lambda: qd.convert(MODEL, self.path("m.onnx"), bits=4),
            lambda: qd.convert(MODEL, self.path("m.tflite"), target="webnn"),
            lambda: qd.convert(MODEL, self.path("m.onnx"), target="none"),
            lambda: scheme.encode(WEIGHT, "none"),
            lambda: scheme.encode(WEIGHT, "nf4", rounding="best"),
        ):
            try:
                yield str(call())
            except qd.Error as error:
                yield str(error)
        yield from (option["summary"] for each in qd.list_schemes() for option in each["options"])
        yield from (each["summary"] for each in qd.list_presets())
        bad = qd.quantize(MODEL, "weight-only", bits=4).model
        yield str(qd.diagnose(MODEL, bad, rows(2), most=1))

    def test_no_options_of_the_command(self):
        with warnings.catch_warnings(record=True) as caught, self.assertLogs("quadrant", "INFO") as logged:
            warnings.simplefilter("always")
            qd.quantize(DIGITS, "static-affine", calibration=digits(2), optimize=["bc"])
            texts = list(self.texts())
            texts += [str(each.message) for each in caught] + logged.output
        for text in texts:
            self.assertNotRegex(text, r"--[a-z]")

    def test_nor_in_the_librarys_sources(self):
        """Where texts are for all callers: pages of reports quote the command, and one source types its calls."""
        for folder in ("src", "methods", "include", "python/src"):
            for path in (ROOT / folder).rglob("*.?pp"):
                own = path.relative_to(ROOT).as_posix()
                if own.startswith("src/cli/") or own.endswith("_html.cpp") or own == "src/recipe/typed_recipe.cpp":
                    continue
                code = re.sub(r"^\s*//.*$", "", path.read_text("utf-8"), flags=re.MULTILINE)
                for literal in re.findall(r'"(?:[^"\\\n]|\\.)*"', code):
                    self.assertNotRegex(literal, r"--[a-z{]", own)


if __name__ == "__main__":
    unittest.main()
