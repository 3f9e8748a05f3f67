"""`quadrant diagnose`: models that are bad for one known reason. It is found and named, and what is advised is
typed as it is printed, and helps.

    python3 tests/cli/diagnose_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import math
import random
import re
import shlex

from command_case import BAD_INPUT, EXAMPLES, USAGE, CommandTest, run_tests
from onnx_writer import model, node, tensor, value_info
from run_model_test import npy

STATIC = ("--scheme", "static-affine")
IN, WIDE, OUT = 16, 32, 8


def matrix(draw, rows, columns, scale):
    return [draw.gauss(0, scale) for _ in range(rows * columns)]


def by_column(values, columns, factors):
    """The values of a matrix, each column times its factor."""
    return [value * factors.get(i % columns, 1) for i, value in enumerate(values)]


class DiagnoseCase(CommandTest):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(5)

    def put_samples(self, count=12, width=IN, folder="data", number=None):
        (self.folder / folder).mkdir(exist_ok=True)
        number = number or (lambda: self.draw.gauss(0, 1))
        rows = [[number() for _ in range(width)] for _ in range(count)]
        for i, row in enumerate(rows):
            self.put(f"{folder}/{i}.npy", npy(row, [1, width]))
        return rows

    def put_model(self, nodes, *initializers, outputs=OUT):
        self.put("float.onnx", model(nodes, list(initializers), [value_info("x", ["batch", IN])],
                                     [value_info("y", ["batch", outputs])], opset=13))

    def put_two_layers(self, first, second):
        """y = relu(x W1) W2"""
        self.put_model([node("MatMul", ["x", "fc1"], ["h"], "first"), node("Relu", ["h"], ["r"], "limit"),
                        node("MatMul", ["r", "fc2"], ["y"], "second")],
                       tensor("fc1", [IN, WIDE], first), tensor("fc2", [WIDE, OUT], second))

    def quantize(self, *options):
        """Notes do not matter."""
        result = self.run_command("quantize", "float.onnx", "-o", "quantized.onnx", *options)
        self.assertEqual(result.returncode, 0, result.stderr.decode())

    def diagnosis(self, *options):
        return self.json_of("diagnose", "float.onnx", "quantized.onnx", "--data", "data", *options)

    def sqnr(self, quantized, *options):
        """Of the worst output, as `compare` has it; -1000 where something is not finite."""
        result = self.run_command("compare", "float.onnx", quantized, "--data", "data", "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        outputs = json.loads(result.stdout)["comparison"]["outputs"]
        return min(-1000 if output["non_finite"] else output["sqnr_db"] for output in outputs)

    def follow(self, command):
        """Types the command as it is printed."""
        words = shlex.split(command)
        self.assertEqual(words[0], "quadrant")
        result = self.run_command(*words[1:])
        self.assertEqual(result.returncode, 0, (command, result.stderr.decode()))
        self.assertIn("better.onnx", words)
        return "better.onnx"

    def assert_mends(self, remedy, least_gain, *options):
        """The command does what is said of it."""
        before = self.sqnr("quantized.onnx", *options)
        after = self.sqnr(self.follow(remedy["command"]), *options)
        self.assertAlmostEqual(after, remedy["worst"]["sqnr_db"], 6, remedy)
        self.assertGreater(after, before + least_gain, remedy)

    def cause(self, found, kind):
        causes = [cause for cause in found["causes"] if cause["kind"] == kind]
        self.assertTrue(causes, (kind, found["causes"]))
        return causes[0]


class DiagnoseTest(DiagnoseCase):
    def put_logarithm(self):
        """y = log(p) W2 + p W3 with p = sigmoid(x W1), which is near zero here and there."""
        self.put_model([node("MatMul", ["x", "fc1"], ["h"], "first"), node("Sigmoid", ["h"], ["p"], "gate"),
                        node("Log", ["p"], ["l"], "log"), node("MatMul", ["l", "fc2"], ["a"], "second"),
                        node("MatMul", ["p", "fc3"], ["b"], "third"), node("Add", ["a", "b"], ["y"], "sum")],
                       tensor("fc1", [IN, WIDE], matrix(self.draw, IN, WIDE, 1)),
                       tensor("fc2", [WIDE, OUT], matrix(self.draw, WIDE, OUT, 0.2)),
                       tensor("fc3", [WIDE, OUT], matrix(self.draw, WIDE, OUT, 0.2)))
        self.put_samples()
        self.quantize(*STATIC, "--calibration", "data")

    def test_small_values_in_front_of_a_logarithm(self):
        self.put_logarithm()
        found = self.diagnosis()
        first = found["causes"][0]
        self.assertEqual((first["name"], first["kind"], first["is_weight"]), ("p", "magnified", False))
        self.assertIn("'log' (onnx.Log)", first["found"])
        self.assertGreater(first["share"], 0.5)
        self.assertIn("--exclude '^p$'", first["remedy"]["command"])
        self.assert_mends(first["remedy"], 15)

    def test_text_says_the_same(self):
        self.put_logarithm()
        found = self.diagnosis()
        text = self.succeeds("diagnose", "float.onnx", "quantized.onnx", "--data", "data")
        for cause in found["causes"]:
            self.assertIn(cause["found"], text)
        commands = re.findall(r"^     (\S+) dB: (quadrant .*)$", text, re.M)
        remedies = [cause["remedy"] for cause in found["causes"] if cause["remedy"]]
        self.assertEqual(commands[0], (f"{remedies[0]['worst']['sqnr_db']:.1f}", remedies[0]["command"]))
        self.assertIn("1. p: errors of small values are magnified", text)

    def test_operation_between_conversions(self):
        self.put_logarithm()
        island = self.cause(self.diagnosis(), "float_island")
        self.assertEqual((island["name"], island["share"], island["remedy"]), ("log", None, None))
        self.assertIn("onnx.Log is not computed on codes", island["found"])

    def test_values_beyond_the_range(self):
        """Calibrated on smaller values than those that come."""
        self.put_two_layers(matrix(self.draw, IN, WIDE, 0.3), matrix(self.draw, WIDE, OUT, 0.3))
        small = self.put_samples(folder="small", number=lambda: self.draw.uniform(-0.5, 0.5))
        rows = self.put_samples()
        self.quantize(*STATIC, "--calibration", "small")
        found = self.diagnosis()
        cause = self.cause(found, "clipped")
        self.assertIn("--calibration data", cause["remedy"]["command"])
        self.assert_mends(cause["remedy"], 15)
        inputs = [each for each in found["causes"] if each["name"] == "x"]
        self.assertEqual(inputs[0]["kind"], "clipped")
        # The share, counted here; a value within half a step of the end is not clipped.
        low, high = min(map(min, small)), max(map(max, small))
        step = (high - low) / 255
        beyond = sum(not low - step < value < high + step for row in rows for value in row)
        said = float(re.match(r"(\S+) % of the values", inputs[0]["found"]).group(1))
        self.assertAlmostEqual(said / 100, beyond / (len(rows) * IN), delta=0.02)

    def test_one_channel_of_an_activation_is_far_larger(self):
        large = 11
        first = by_column(matrix(self.draw, IN, WIDE, 0.3), WIDE, {large: 60})
        second = matrix(self.draw, WIDE, OUT, 0.3)
        for i in range(OUT):
            second[large * OUT + i] /= 60
        self.put_two_layers(first, second)
        self.put_samples()
        self.quantize(*STATIC, "--calibration", "data")
        found = self.diagnosis()["causes"][0]
        self.assertIn(found["kind"], ("outlier_channel", "dead_channels"))
        self.assertEqual(found["name"], "r")
        self.assertIn(f"channel {large} reaches", found["found"])
        self.assertIn("--optimize cle", found["remedy"]["command"])
        self.assert_mends(found["remedy"], 6)

    def test_channels_that_die(self):
        """Of 32 channels of an activation, six are too small for a step of the scale of all."""
        dead = {3: 1e-3, 4: 1e-3, 8: 1e-3, 15: 1e-3, 21: 1e-3, 30: 1e-3}
        first = by_column(matrix(self.draw, IN, WIDE, 0.3), WIDE, dead)
        second = matrix(self.draw, WIDE, OUT, 0.3)
        for row in dead:
            for i in range(OUT):
                second[row * OUT + i] *= 1000
        self.put_two_layers(first, second)
        self.put_samples(count=40)
        self.quantize(*STATIC, "--calibration", "data")
        found = self.cause(self.diagnosis(), "dead_channels")
        self.assertEqual(found["name"], "r")
        self.assertIn(f"6 of {WIDE} channels are constant", found["found"])
        self.assertIn("channel 3 ", found["found"])
        self.assert_mends(found["remedy"], 6)

    def test_one_scale_for_unlike_channels_of_a_weight(self):
        large = 5
        second = matrix(self.draw, WIDE, OUT, 0.3)
        for i in range(OUT):
            second[large * OUT + i] /= 40
        self.put_two_layers(by_column(matrix(self.draw, IN, WIDE, 0.3), WIDE, {large: 40}), second)
        self.put_samples()
        self.quantize(*STATIC, "--calibration", "data", "--weights", "tensor", "--activation-bits", 16)
        found = [cause for cause in self.diagnosis()["causes"] if cause["is_weight"]][0]
        self.assertEqual(found["name"], "fc1")
        self.assertIn(found["kind"], ("outlier_channel", "dead_channels"))
        self.assertIn(f"channel {large} reaches", found["found"])
        self.assertNotIn("--weights tensor", found["remedy"]["command"])
        self.assertIn("--activation-bits 16", found["remedy"]["command"])
        self.assert_mends(found["remedy"], 6)

    def test_few_bits(self):
        self.put_two_layers(matrix(self.draw, IN, WIDE, 0.3), matrix(self.draw, WIDE, OUT, 0.3))
        self.put_samples()
        self.quantize("--scheme", "weight-only", "--bits", 4)
        found = self.diagnosis()
        self.assertEqual({cause["name"] for cause in found["causes"]}, {"fc1", "fc2"})
        for cause in found["causes"]:
            self.assertTrue(cause["is_weight"])
            self.assert_mends(cause["remedy"], 1)

    def test_shift(self):
        """Weights that are all rounded up, times data that are all positive, shift what comes out."""
        first = [(0.6 if row else 127) * (1 + column / WIDE) for row in range(IN) for column in range(WIDE)]
        self.put_model([node("MatMul", ["x", "fc1"], ["h"], "first"), node("Add", ["h", "bias"], ["y"], "add")],
                       tensor("fc1", [IN, WIDE], first), tensor("bias", [WIDE], [0.0] * WIDE), outputs=WIDE)
        (self.folder / "data").mkdir()
        for i in range(12):
            row = [self.draw.uniform(-0.02, 0.02), *(self.draw.uniform(0.5, 1) for _ in range(IN - 1))]
            self.put(f"data/{i}.npy", npy(row, [1, IN]))
        self.quantize(*STATIC, "--calibration", "data", "--saturation", "allow")
        found = self.cause(self.diagnosis(), "shifted_means")
        self.assertIn("--optimize bc", found["remedy"]["command"])
        self.assert_mends(found["remedy"], 3)

    def test_sums_that_leave_16_bits(self):
        self.put_two_layers([abs(value) for value in matrix(self.draw, IN, WIDE, 0.3)],
                            [abs(value) for value in matrix(self.draw, WIDE, OUT, 0.3)])
        self.put_samples(number=lambda: self.draw.uniform(0, 1))
        self.quantize(*STATIC, "--calibration", "data", "--saturation", "allow", "--unsigned-activations")
        found = self.cause(self.diagnosis(), "saturation")
        self.assertNotIn("--saturation allow", found["remedy"]["command"])
        self.assert_mends(found["remedy"], 3, "--runtime", "onnxruntime-avx2")

    def test_other_formats(self):
        """A remedy makes what the quantized model was: values keep no names of their own in TFLite."""
        self.put_two_layers(matrix(self.draw, IN, WIDE, 0.3), matrix(self.draw, WIDE, OUT, 0.3))
        self.put_samples(folder="small", number=lambda: self.draw.uniform(-0.5, 0.5))
        self.put_samples()
        for ending in ("tflite", "xml"):
            quantized = f"quantized.{ending}"
            self.succeeds("convert", "float.onnx", quantized, *STATIC, "--calibration", "small")
            found = self.json_of("diagnose", "float.onnx", quantized, "--data", "data")
            self.assertGreater(found["all_exact"]["sqnr_db"] or 1000, found["worst"]["sqnr_db"] + 20, ending)
            cause = self.cause(found, "clipped")
            words = shlex.split(cause["remedy"]["command"])
            self.assertEqual(words[1:4], ["convert", "float.onnx", f"better.{ending}"])
            self.succeeds(*words[1:])
            self.assertAlmostEqual(self.sqnr(words[3]), cause["remedy"]["worst"]["sqnr_db"], 1)
            self.assertGreater(self.sqnr(words[3]), self.sqnr(quantized) + 10)

    def test_all_together(self):
        """What is printed for all is better than each, and does what it says."""
        large = 11
        self.put_two_layers(by_column(matrix(self.draw, IN, WIDE, 0.3), WIDE, {large: 60}),
                            matrix(self.draw, WIDE, OUT, 0.3))
        self.put_samples()
        self.quantize(*STATIC, "--calibration", "data", "--weights", "tensor")
        found = self.diagnosis()
        alone = [cause["remedy"]["worst"]["sqnr_db"] for cause in found["causes"] if cause["remedy"]]
        if found["together"] is None:
            return
        self.assertGreater(found["together"]["worst"]["sqnr_db"], max(alone))
        self.assert_mends(found["together"], 0)

    def test_no_remedies(self):
        self.put_logarithm()
        found = self.diagnosis("--no-remedies")
        self.assertEqual([cause["remedy"] for cause in found["causes"]], [None] * len(found["causes"]))
        self.assertEqual(found["causes"][0]["name"], "p")
        self.assertEqual(len(self.diagnosis("--no-remedies", "--most", 1)["causes"]), 1)

    def test_equal_models(self):
        self.put_two_layers(matrix(self.draw, IN, WIDE, 0.3), matrix(self.draw, WIDE, OUT, 0.3))
        self.put_samples()
        text = self.succeeds("diagnose", "float.onnx", "float.onnx", "--data", "data")
        self.assertIn("exact", text)
        self.assertIn("nothing stands out", text)

    def test_operators_that_are_codes(self):
        self.put_two_layers(matrix(self.draw, IN, WIDE, 0.3), matrix(self.draw, WIDE, OUT, 0.3))
        self.put_samples()
        self.quantize("--scheme", "weight-only", "--bits", 4, "--block-size", 16, "--format", "matmulnbits")
        text = self.succeeds("diagnose", "float.onnx", "quantized.onnx", "--data", "data")
        self.assertIn("measured 0 of 0 quantized values", text)
        self.assertIn("operators that are codes themselves", text)

    def test_names_for_a_shell(self):
        """Names are patterns, and words of a shell, in what is printed."""
        name = "it's.a (log) [p]/0$"
        self.put_samples()
        self.put_model([node("MatMul", ["x", "fc1"], ["h"], "first"), node("Sigmoid", ["h"], [name], "gate"),
                        node("Log", [name], ["l"], "log"), node("MatMul", ["l", "fc2"], ["a"], "second"),
                        node("MatMul", [name, "fc2"], ["b"], "third"), node("Add", ["a", "b"], ["y"], "sum")],
                       tensor("fc1", [IN, WIDE], matrix(self.draw, IN, WIDE, 1)),
                       tensor("fc2", [WIDE, OUT], matrix(self.draw, WIDE, OUT, 0.2)))
        self.quantize(*STATIC, "--calibration", "data")
        first = self.diagnosis()["causes"][0]
        self.assertEqual(first["name"], name)
        self.assert_mends(first["remedy"], 10)

    def test_page_shows_what_is_printed(self):
        """All but digits, of which another processor may round the last ones."""
        page = (EXAMPLES.parents[1] / "docs" / "compare.md").read_text(encoding="utf-8")
        block = page.split("$ quadrant ", 1)[1].split("\n```", 1)[0]
        first, rest = block.split("\n$ quadrant ", 1)
        second, shown = rest.split("\n", 1)
        for name in ("digits_cnn.onnx", "digits_cnn.npz"):
            self.put(name, (EXAMPLES / name).read_bytes())
        self.assertEqual(self.run_command(*shlex.split(first)).returncode, 0)
        printed = self.run_command(*shlex.split(second)).stdout.decode()
        masked = [re.sub(r"-?[\d.]+", "#", text.strip("\n")) for text in (shown, printed)]
        self.assertEqual(*masked)

    def test_refusals(self):
        self.put_logarithm()
        call = ("diagnose", "float.onnx", "quantized.onnx")
        self.fails(USAGE, "--data is required", *call)
        other = model([node("Relu", ["z"], ["y"])], [], [value_info("z", ["batch", IN + 1])],
                      [value_info("y", ["batch", IN + 1])])
        self.fails(USAGE, "the input is", "diagnose", "float.onnx", self.put("other.onnx", other), "--data", "data")
        self.put("stats.json", b"{}")
        self.fails(USAGE, "stats.json", *call, "--data", "stats.json")
        self.put("data/0.npy", npy([math.nan] * IN, [1, IN]))
        self.fails(BAD_INPUT, "0.npy", *call, "--data", "data")


if __name__ == "__main__":
    run_tests()
