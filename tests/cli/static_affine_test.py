"""The command with the scheme static_affine: its options, what it writes and prints, what it refuses.

    python3 tests/cli/static_affine_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import random
import re

from command_case import BAD_INPUT, DONE, IMPOSSIBLE, INPUT_OUTPUT, USAGE, CommandTest, run_tests
from onnx_writer import model, node, tensor, value_info
from run_model_test import npy

SCHEME = ("--scheme", "static-affine")
VALUES = {"fc1.weight", "h", "r", "fc2.weight", "y"}


def chain(layers):
    """y = x w0 w1 ... of 16 x 16 each."""
    numbers = random.Random(3)
    names = ["x", *(f"h{i}" for i in range(layers - 1)), "y"]
    return model(
        [node("MatMul", [names[i], f"w{i}"], [names[i + 1]], f"layer{i}") for i in range(layers)],
        [tensor(f"w{i}", [16, 16], [numbers.gauss(0, 1) for _ in range(256)]) for i in range(layers)],
        [value_info("x", ["batch", 16])], [value_info("y", ["batch", 16])])


class StaticAffineTest(CommandTest):
    """On y = relu(x W1) W2, with samples of two rows of x."""

    def setUp(self):
        super().setUp()
        self.numbers = random.Random(1)
        self.samples = [npy([self.numbers.gauss(0, 1) for _ in range(32)], [2, 16])
                        for _ in range(12)]
        self.put_samples("data", self.samples)
        self.succeeds("calibrate", self.model, "--data", "data", "-o", "s.json")

    def put_samples(self, folder, contents):
        (self.folder / folder).mkdir()
        for i, sample in enumerate(contents):
            self.put(f"{folder}/{i:03}.npy", sample)

    def quantize(self, target, *options, calibration="s.json", model=None):
        return self.json_of("quantize", model or self.model, "-o", target, *SCHEME, "--calibration",
                            calibration, *options)

    def planned(self, *options):
        document = self.json_of("plan", self.model, *SCHEME, "--calibration", "s.json", *options)
        return {value["value"]: value["constraint"] for value in document["plan"]["values"]}

    def test_data_is_required(self):
        for command in (("quantize", self.model, "-o", "q.onnx"), ("plan", self.model),
                        ("explain", self.model, "h")):
            self.fails(USAGE, ["--calibration", "quadrant calibrate"], *command, *SCHEME)

    def test_samples_and_statistics_are_the_same(self):
        by_statistics = self.quantize("a.onnx")
        by_samples = self.quantize("b.onnx", calibration="data")
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))
        for document in (by_statistics, by_samples):
            summary = document["summary"]
            self.assertEqual((summary["scheme"], summary["gain_model"]),
                             ("static_affine", "operations"))
            self.assertGreater(summary["objective"], 0)
            self.assertEqual(summary["eligible"], summary["eligible_quantized"])
            self.assertLess(summary["file_bytes_after"], summary["file_bytes_before"])
            self.assertEqual(summary["file_bytes_after"], len(self.bytes_of("a.onnx")))

    def test_neither_threads_nor_the_order_of_samples_matter(self):
        self.quantize("a.onnx", calibration="data")
        for threads in (1, 2):
            self.quantize("b.onnx", "--threads", threads, calibration="data")
            self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))
        shuffled = list(self.samples)
        random.Random(2).shuffle(shuffled)
        self.assertNotEqual(shuffled, self.samples)
        self.put_samples("shuffled", shuffled)
        for encoding in ("minmax", "mse", "enhanced", "percentile", "entropy"):
            for folder, target in (("data", "a.onnx"), ("shuffled", "b.onnx")):
                self.quantize(target, "--encoding", encoding, calibration=folder)
            self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"), encoding)

    def test_samples_that_do_not_fit(self):
        quantize = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--calibration")
        for name, contents in (("shape", npy([1, 2, 3], [1, 3])),
                               ("type", npy([1] * 16, [1, 16], "<i8")),
                               ("nan", npy([float("nan")] * 16, [1, 16])),
                               ("cut", npy([1], [1, 16]))):
            self.put_samples(name, [self.samples[0], contents])
            self.fails(BAD_INPUT, f"{name}/001.npy", *quantize, name)
        (self.folder / "empty").mkdir()
        self.fails(USAGE, "empty", *quantize, "empty")
        self.fails(INPUT_OUTPUT, "nowhere", *quantize, "nowhere")
        self.fails(INPUT_OUTPUT, "none.json", *quantize, "none.json")

    def test_statistics_that_do_not_fit(self):
        quantize = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--calibration")
        self.put("other.json", self.bytes_of("s.json").replace(b'"h"', b'"fc9"'))
        self.fails(USAGE, ["other.json", "'fc9'", "another model"], *quantize, "other.json")
        # Of other contents, as where the model was changed since: values go by their names, and a warning says so.
        self.put("changed.json", re.sub(rb'"model_hash": "[0-9a-f]+"', b'"model_hash": "0123456789abcdef"',
                                        self.bytes_of("s.json")))
        done = self.run_command(*quantize, "changed.json")
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertIn(b"changed.json: these statistics were gathered on another model", done.stderr)
        self.put("cut.json", self.bytes_of("s.json")[:-10])
        self.fails(BAD_INPUT, "cut.json", *quantize, "cut.json")
        self.put("plan.json", b"{}")
        self.fails(BAD_INPUT, "plan.json", *quantize, "plan.json")

    def test_options_of_the_other_scheme(self):
        static = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--calibration", "s.json")
        for option in (("--bits", 4), ("--symmetric",), ("--block-size", 32), ("--clip", "mse")):
            self.fails(USAGE, [option[0], "weight_only", "list static_affine"], *static, *option)
        weights = ("quantize", self.model, "-o", "q.onnx", "--scheme", "weight-only")
        for option in (("--activation-bits", 16), ("--encodings", "s.json"), ("--use-enhanced",),
                       ("--unsigned-activations",)):
            self.fails(USAGE, [option[0], "static_affine", "list weight_only"], *weights, *option)
        self.fails(USAGE, ["s.json", "samples", "ranges"], *weights, "--calibration", "s.json")

    def test_formats(self):
        quantize = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--calibration", "s.json")
        self.fails(USAGE, ["MatMulNBits", "weight_only"], *quantize, "--format", "matmulnbits")

    def test_values_of_options(self):
        quantize = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--calibration", "s.json")
        for option, value in (("--activation-bits", 4), ("--weight-bits", 16), ("--bias-bits", 16),
                              ("--weights", "block"), ("--encoding", "max"), ("--percentile", 10),
                              ("--activation-encoding", "adjusted-weights"), ("--profile", "tflite"),
                              ("--optimize", "ble"), ("--use-enhanced", "biases")):
            self.fails(USAGE, [option, str(value)], *quantize, option, value)

    def test_transforms_that_are_typed_as_options(self):
        for name in ("rotate", "cle", "hba", "migrate", "bc"):
            self.fails(USAGE, [f"'--{name}'", f"did you mean '--optimize {name}'"], "quantize", self.model, "-o",
                       "q.onnx", *SCHEME, f"--{name}")
        self.fails(USAGE, "did you mean '--optimize rotate'", "transform", self.model, "-o", "q.onnx", "--rotate")

    def test_a_model_that_is_quantized_already(self):
        self.quantize("q.onnx")
        self.succeeds("quantize", self.model, "-o", "w.onnx", "--scheme", "weight-only")
        self.run_command("convert", "q.onnx", "operators.onnx", "--target", "onnx-qoperator")
        self.assertIn(b"QLinearMatMul", self.bytes_of("operators.onnx"))
        for copy in ("q.xml", "q.tflite", "q.qd"):
            self.assertEqual(self.run_command("convert", "q.onnx", copy).returncode, DONE)
        self.assertIn(b"FakeQuantize", self.bytes_of("q.xml"))
        dynamic = model([node("DynamicQuantizeLinear", ["x"], ["c", "s", "z"], "dynamic"),
                         node("DequantizeLinear", ["c", "s", "z"], ["y"], "back")], [],
                        [value_info("x", ["batch", 16])], [value_info("y", ["batch", 16])])
        self.put("dynamic.onnx", dynamic)
        for name in ("q.onnx", "w.onnx", "operators.onnx", "q.xml", "q.tflite", "q.qd", "dynamic.onnx"):
            for command in (("quantize", name, "-o", "twice.onnx"), ("convert", name, "twice.xml"),
                            ("convert", name, "twice.tflite"), ("plan", name), ("sensitivity", name, "--data", "data")):
                self.fails(IMPOSSIBLE, [name, "quantized already", "float model"], *command, *SCHEME,
                           "--calibration", "data")

    def test_optimizations_need_samples(self):
        quantize = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--optimize", "cle")
        self.fails(USAGE, ["s.json", "optimize", "samples"], *quantize, "--calibration", "s.json")
        result = self.run_command(*quantize, "--calibration", "data")
        self.assertEqual(result.returncode, DONE)
        self.assertRegex(result.stderr.decode(), r"note: .*cle: 1 pair of layers equalized")
        self.quantize("plain.onnx")
        self.assertNotEqual(self.bytes_of("q.onnx"), self.bytes_of("plain.onnx"))

    def test_what_options_choose(self):
        self.assertEqual(self.planned(), {
            "fc1.weight": "weight i8 axis=1", "fc2.weight": "weight i8 axis=1",
            "h": "activation i8", "r": "activation i8", "y": "activation i8"})
        self.assertEqual(self.planned("--weights", "tensor")["fc1.weight"], "weight i8")
        self.assertEqual(self.planned("--weight-bits", 4)["fc1.weight"], "weight i4 axis=1")
        self.assertEqual(self.planned("--activation-bits", 16)["h"], "activation i16")
        self.assertEqual(self.planned("--unsigned-activations")["h"], "activation u8")
        self.assertIn("x", self.planned("--quantized-inputs"))

    def test_enhanced(self):
        self.quantize("both.onnx", "--use-enhanced")
        self.quantize("each.onnx", "--weight-encoding", "enhanced", "--activation-encoding",
                      "enhanced")
        self.assertEqual(self.bytes_of("both.onnx"), self.bytes_of("each.onnx"))
        self.quantize("weights.onnx", "--use-enhanced", "weights")
        self.quantize("one.onnx", "--weight-encoding", "enhanced")
        self.assertEqual(self.bytes_of("weights.onnx"), self.bytes_of("one.onnx"))
        self.assertNotEqual(self.bytes_of("weights.onnx"), self.bytes_of("both.onnx"))

    def test_options_that_contradict(self):
        quantize = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--calibration", "s.json")
        self.fails(USAGE, ["--use-enhanced", "mse"], *quantize, "--use-enhanced", "weights",
                   "--weight-encoding", "mse")
        self.quantize("q.onnx", "--use-enhanced", "weights", "--activation-encoding", "mse")
        self.fails(USAGE, ["relu6", "cle"], *quantize, "--relu6", "relu")

    def encodings_of(self, values, *options):
        """Scale and offset of x and of W, both of these values, by SNPE's rules."""
        count = len(values)
        self.put("small.onnx", model(
            [node("MatMul", ["x", "W"], ["y"])], [tensor("W", [count, 1], values)],
            [value_info("x", [1, count])], [value_info("y", [1, 1])]))
        self.put("small.npy", npy(values, [1, count]))
        self.quantize("q.onnx", "--profile", "snpe", "--weights", "tensor", "--asymmetric-weights",
                      "--unsigned-activations", "--quantized-inputs", "--gain", "unit", *options,
                      calibration="small.npy", model="small.onnx")
        self.succeeds("encodings", "q.onnx", "-o", "e.json")
        document = json.loads(self.bytes_of("e.json"))
        found = {entry["name"]: (float(f"{entry['scale'][0]:.6g}"), entry["offset"][0])
                 for section in ("activation_encodings", "param_encodings")
                 for entry in document[section]}
        return found["x"], found["W"]

    def test_the_examples_of_snpe(self):
        for values, scale, offset in (([-1.8, -1, 0, 0.5], 0.00901961, -200),
                                      ([5, 10], 0.0392157, 0), ([-20, -6], 0.0784314, -255),
                                      ([-5.1, 5.1], 0.04, -128), ([0, 0], 0.0000392157, 0),
                                      ([0.1, 0.2, 0.7], 0.0027451, 0)):
            self.assertEqual(self.encodings_of(values), ((scale, offset), (scale, offset)), values)
        activation, weight = self.encodings_of([-1.8, -1, 0, 0.5], "--weight-encoding",
                                               "adjusted-weights")
        self.assertEqual(activation, (0.00901961, -200))
        self.assertEqual(weight, (0.00904523, -199))

    def test_adjusted_weights_are_asymmetric(self):
        quantize = ("quantize", self.model, "-o", "q.onnx", *SCHEME, "--calibration", "s.json")
        self.fails(IMPOSSIBLE, ["adjusted-weights", "asymmetric"], *quantize, "--weight-encoding",
                   "adjusted-weights")
        self.fails(IMPOSSIBLE, ["asymmetric", "tensor"], *quantize, "--asymmetric-weights")

    def test_include_and_exclude(self):
        # The limit computes on codes of what fc1 makes in float.
        self.assertEqual(self.planned("--exclude", "fc1").keys(), {"fc2.weight", "r", "y"})
        self.assertEqual(self.planned("--include", "fc1").keys(), {"fc1.weight", "h"})
        self.assertEqual(self.planned("--exclude", "fc"), {})
        document = self.quantize("q.onnx", "--exclude", "fc1")
        self.assertEqual(document["summary"]["eligible_quantized"]["count"], 1)
        self.fails(USAGE, "fc[", "plan", self.model, *SCHEME, "--calibration", "s.json",
                   "--exclude", "fc[")

    def test_plan(self):
        text = self.succeeds("plan", self.model, *SCHEME, "--calibration", "s.json")
        self.assertRegex(text, r"\n  h +activation i8 +- +\d+\n")
        self.assertRegex(text, r"\n  objective +\d+ operations\n")
        document = self.json_of("plan", self.model, *SCHEME, "--calibration", "s.json", "-o",
                                "plan.json")
        self.assertEqual(document["plan"], json.loads(self.bytes_of("plan.json")))
        self.assertEqual({value["value"] for value in document["plan"]["values"]}, VALUES)
        self.assertEqual(document["gain_unit"], "operations")

    def test_following_a_plan(self):
        self.succeeds("plan", self.model, *SCHEME, "--calibration", "s.json", "--exclude", "fc1",
                      "-o", "plan.json")
        self.quantize("a.onnx", "--plan", "plan.json")
        self.quantize("b.onnx", "--exclude", "fc1")
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))
        quantize = ("quantize", self.model, "-o", "q.onnx", "--plan", "plan.json")
        self.fails(IMPOSSIBLE, ["activations=i8", "activations=i16"], *quantize, *SCHEME,
                   "--calibration", "s.json", "--activation-bits", 16)
        self.fails(IMPOSSIBLE, ["static_affine", "weight_only"], *quantize, "--scheme",
                   "weight-only")
        self.fails(USAGE, "exclude", *quantize, *SCHEME, "--calibration", "s.json", "--exclude",
                   "fc1")

    def test_explain(self):
        explain = ("explain", self.model)
        text = self.succeeds(*explain, "r", *SCHEME, "--calibration", "s.json")
        self.assertIn("activation i8", text)
        text = self.succeeds(*explain, "h", *SCHEME, "--calibration", "s.json", "--exclude", "fc1")
        self.assertIn("excluded by the pattern 'fc1'", text)
        document = self.json_of(*explain, "fc1.weight", *SCHEME, "--calibration", "s.json")
        self.assertIn("weight i8 axis=1", json.dumps(document))

    def test_values_without_statistics_stay_float(self):
        document = json.loads(self.bytes_of("s.json"))
        document["values"] = [v for v in document["values"] if v["value"] not in ("h", "r")]
        self.put("less.json", json.dumps(document).encode())
        less = ("--calibration", "less.json")
        values = self.run_command("plan", self.model, *SCHEME, *less, "--json")
        self.assertEqual(values.returncode, DONE)
        found = {v["value"] for v in json.loads(values.stdout)["plan"]["values"]}
        self.assertEqual(found, set())
        text = self.run_command("explain", self.model, "r", *SCHEME, *less).stdout.decode()
        self.assertIn("calibrate the model", text)

    def test_dry_run(self):
        before = self.files()
        quantize = ("quantize", self.model, *SCHEME, "--calibration", "s.json", "--dry-run")
        self.assertIn("dry run: nothing is written", self.succeeds(*quantize))
        document = self.json_of(*quantize)
        self.assertEqual((document["dry_run"], document["output"], document["written"]),
                         (True, None, None))
        self.assertEqual(self.files(), before)
        self.assertEqual(document["summary"]["objective"],
                         self.quantize("q.onnx")["summary"]["objective"])

    def test_list(self):
        for name in ("static-affine", "static_affine"):
            text = self.succeeds("list", name)
            for expected in ("--calibration PATH", "--activation-bits 8|16", "conv ", "onnx.Relu",
                             "ranges seen on sample data"):
                self.assertIn(expected, text)
        self.assertIn("static_affine", self.succeeds("list"))
        document = self.json_of("list", "static-affine")
        self.assertEqual(document["scheme"], "static_affine")
        self.assertRegex(document["options"], r"^activations=i8 asymmetric minmax weights=i8 ")
        roles = {method["operation"]: method["role"] for method in document["methods"]}
        self.assertEqual({roles[operation] for operation in ("conv", "onnx.Clip", "input")},
                         {"quantizer"})
        self.assertEqual({roles[operation] for operation in ("lstm", "output")}, {"consumer"})
        self.fails(USAGE, "did you mean 'static_affine'", "list", "static-afine")

    def test_the_written_model_runs_like_the_float_one(self):
        self.quantize("q.onnx")
        document = self.json_of("compare", self.model, "q.onnx", "--data", "data")
        output, = (v for v in document["comparison"]["outputs"] if v["name"] == "y")
        self.assertGreater(output["sqnr_db"], 30)
        self.assertLess(output["sqnr_db"], 60)

    def test_a_weight_that_is_computed_is_a_weight(self):
        numbers = [random.Random(5).gauss(0, 1) for _ in range(256)]
        given = [value_info("x", ["batch", 16])], [value_info("y", ["batch", 16])]
        product = node("MatMul", ["x", "w"], ["y"], "product")
        for name, nodes, weight in (
                ("computed", [node("Neg", ["v"], ["w"], "neg"), product], tensor("v", [16, 16], numbers)),
                ("plain", [product], tensor("w", [16, 16], [-number for number in numbers]))):
            self.put(f"{name}.onnx", model(nodes, [weight], *given))
            self.succeeds("quantize", f"{name}.onnx", "-o", f"{name}.int8.onnx", *SCHEME,
                          "--calibration", "data")
            self.succeeds("run", f"{name}.int8.onnx", "--random", 2, "--shape", "x=3x16", "-o", name)
        self.assertEqual(*(self.bytes_of(f"{name}/random_0.npz") for name in ("computed", "plain")))
        self.assertEqual(*(sorted(entry["type"] for entry in self.json_of("inspect", f"{name}.int8.onnx")["constants"])
                           for name in ("computed", "plain")))

    def test_sensitivity(self):
        self.model = self.put("chain.onnx", chain(3))
        self.succeeds("calibrate", self.model, "--data", "data", "-o", "s.json")
        document = self.json_of("sensitivity", self.model, *SCHEME, "--calibration", "s.json",
                                "--data", "data")
        names = " + ".join(layer["layer"] for layer in document["layers"])
        self.assertEqual(sorted(names.split(" + ")), ["w0", "w1", "w2"])
        for layer in document["layers"]:
            self.assertGreater(layer["outputs"][0]["sqnr_db"], 20)
        self.fails(USAGE, "--calibration", "sensitivity", self.model, *SCHEME, "--data", "data")


if __name__ == "__main__":
    run_tests()
