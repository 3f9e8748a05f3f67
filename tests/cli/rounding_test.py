"""The command with weights that are rounded by samples.

    python3 tests/cli/rounding_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import filecmp
import json
import os
import pathlib
import random
import re
import subprocess

from command_case import BAD_INPUT, BINARY, DONE, INPUT_OUTPUT, SCHEME, USAGE, CommandTest, run_tests, two_layers
from onnx_writer import INT64, model, node, tensor, value_info
from run_model_test import npy

FOUR_BITS = (*SCHEME, "--bits", "4", "--block-size", "16")


class RoundingTest(CommandTest):
    """On y = relu(x W1) W2, with samples whose elements go together."""

    def setUp(self):
        super().setUp()
        self.numbers = random.Random(5)
        self.put_samples("data", self.drawn(24))
        self.put_samples("others", self.drawn(24))

    def drawn(self, count):
        """Each of few rows, which are mixtures of three."""
        samples = []
        for _ in range(count):
            row = []
            for _ in range(2):
                sources = [self.numbers.gauss(0, 1) for _ in range(3)]
                row += [sum(s * ((i * k + k) % 5 - 1) for k, s in enumerate(sources, 1)) + self.numbers.gauss(0, .2)
                        for i in range(16)]
            samples.append(npy(row, [2, 16]))
        return samples

    def put_samples(self, folder, contents):
        (self.folder / folder).mkdir()
        for i, sample in enumerate(contents):
            self.put(f"{folder}/{i:03}.npy", sample)

    def quantize(self, target, *options, data="data"):
        result = self.run_command("quantize", self.model, "-o", target, *FOUR_BITS, "--calibration", data, *options)
        self.assertEqual(result.returncode, DONE, result.stderr)
        return result.stderr.decode()

    def noise(self, target):
        """Of y, on samples that nothing was rounded by."""
        compared = self.json_of("compare", self.model, target, "--data", "others")
        return compared["comparison"]["outputs"][0]["sqnr_db"]

    def test_results_are_nearer_on_other_samples(self):
        self.succeeds("quantize", self.model, "-o", "nearest.onnx", *FOUR_BITS)
        before = self.noise("nearest.onnx")
        for rounding in ("feedback", "descent"):
            said = self.quantize("rounded.onnx", "--rounding", rounding)
            self.assertRegex(said, r"2 weights rounded by the layers' inputs: .* [0-9.]+ dB less error")
            self.assertGreater(self.noise("rounded.onnx"), before + 1)
            self.assertEqual(len(self.bytes_of("rounded.onnx")), len(self.bytes_of("nearest.onnx")))

    def test_what_came_of_each_weight_in_json(self):
        result = self.run_command("quantize", self.model, "-o", "q.onnx", *FOUR_BITS, "--calibration", "data", "--json")
        found = {each["weight"]: each for each in json.loads(result.stdout)["rounding"]}
        self.assertEqual(set(found), {"fc1.weight", "fc2.weight"})
        for each in found.values():  # of which the second can be said exactly
            self.assertLessEqual(each["error"], each["error_nearest"])
        self.assertLess(found["fc1.weight"]["error"], found["fc1.weight"]["error_nearest"])
        self.assertGreater(found["fc1.weight"]["rows_descent"] + found["fc1.weight"]["rows_feedback"], 0)
        without = self.json_of("quantize", self.model, "-o", "q.onnx", *FOUR_BITS)
        self.assertIsNone(without["rounding"])

    def test_the_same_bytes_for_threads_and_orders(self):
        self.quantize("first.onnx", "--threads", "1")
        self.quantize("second.onnx", "--threads", "3")
        self.assertEqual(self.bytes_of("first.onnx"), self.bytes_of("second.onnx"))
        names = sorted((self.folder / "data").iterdir())
        self.put_samples("backwards", [name.read_bytes() for name in reversed(names)])
        self.quantize("third.onnx", data="backwards")
        self.assertEqual(self.bytes_of("first.onnx"), self.bytes_of("third.onnx"))

    def test_moments_in_files(self):
        self.quantize("direct.onnx")
        calibrate = ("calibrate", self.model, "--moments")
        self.succeeds(*calibrate, "--data", "data", "-o", "all.moments")
        quantize = ("quantize", self.model, *FOUR_BITS, "--moments")
        for count in (2, 3, 7):
            grids, parts = [], []
            for i in range(1, count + 1):
                self.succeeds(*calibrate, "--grid-only", "--data", "data", "--part", f"{i}/{count}", "-o", f"g{i}")
                grids += ["--merge", f"g{i}"]
            self.succeeds(*calibrate, "--grid-only", *grids, "-o", "grid")
            for i in range(count, 0, -1):
                self.succeeds(*calibrate, "--grid", "grid", "--data", "data", "--part", f"{i}/{count}", "-o", f"m{i}")
                parts += ["--merge", f"m{i}"]
            self.succeeds(*calibrate, *parts, "-o", "sum.moments")
            self.assertEqual(self.bytes_of("sum.moments"), self.bytes_of("all.moments"))
        result = self.run_command(*quantize, "sum.moments", "-o", "saved.onnx")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(self.bytes_of("saved.onnx"), self.bytes_of("direct.onnx"))
        document = self.json_of(*calibrate, "--merge", "all.moments")
        self.assertEqual([(each["weight"], each["columns"], each["inputs"]) for each in document["weights"]],
                         [("fc1.weight", 16, 48), ("fc2.weight", 32, 48)])

    def test_moments_of_blocks(self):
        calibrate = ("calibrate", self.model, "--data", "data")
        quantize = ("quantize", self.model, *FOUR_BITS, "--moments")
        for word, said in (("full", ["full", "full"]), ("diagonal", ["diagonal"] * 2),
                           ("blocks:20", ["full", "blocks:20"])):
            with self.subTest(word=word):
                found = self.json_of(*calibrate, "--moments", word, "-o", "m")
                self.assertEqual([each["moments"] for each in found["weights"]], said)
                errors = {}
                for rounding in ("weighted", "feedback", "descent"):
                    result = self.json_of(*quantize, "m", "-o", f"{rounding}.onnx", "--rounding", rounding)
                    errors[rounding] = sum(each["error"] for each in result["rounding"])
                self.assertGreaterEqual(errors["weighted"], errors["feedback"])
                self.assertGreaterEqual(errors["feedback"], errors["descent"])
                self.succeeds(*calibrate, "--moments", word, "--grid-only", "-o", "g")
                for i in (1, 2):
                    self.succeeds(*calibrate, "--moments", "--grid", "g", "--part", f"{i}/2", "-o", f"m{i}")
                self.succeeds("calibrate", self.model, "--moments", "--merge", "m1", "--merge", "m2", "-o", "sum")
                self.assertEqual(self.bytes_of("sum"), self.bytes_of("m"))
        # The word may be left out anywhere, as it was when there was none.
        self.succeeds("calibrate", "--moments", self.model, "--data", "data", "-o", "first")
        self.succeeds("calibrate", "--data", "data", "-o", "last", "--moments", self.model)
        self.succeeds(*calibrate, "--moments", "-o", "m")
        self.assertEqual(self.bytes_of("first"), self.bytes_of("m"))
        self.assertEqual(self.bytes_of("last"), self.bytes_of("m"))
        for word in ("blocks:0", "blocks:x", "blocks", "ful"):
            self.fails(USAGE, f"there is no '{word}'", *calibrate, "--moments", word, "-o", "o")
        self.fails(USAGE, "MODEL is required", "calibrate", "--data", "data", "-o", "o")
        # g has blocks of 20, m all pairs: a word that says so may be repeated.
        self.succeeds(*calibrate, "--moments", "blocks:20", "--grid", "g", "-o", "o")
        self.succeeds("calibrate", self.model, "--moments", "full", "--merge", "m", "-o", "o")
        for word, *files in (("diagonal", "--grid", "g"), ("full", "--grid", "g"), ("diagonal", "--merge", "m"),
                             ("diagonal", "--grid-only", "--merge", "g")):
            with self.subTest(word=word, files=files):
                self.fails(USAGE, ["which decides", f"without '{word}'"], *calibrate, "--moments", word, *files, "-o", "o")

    def test_moments_within_memory(self):
        """Products of the same input: many sums, and few weights."""
        n, layers = 640, 32
        sums = 4 * n * (n + 1)
        weights = [tensor(f"w{i}", [n, 4], [self.numbers.gauss(0, 1) for _ in range(4 * n)]) for i in range(layers)]
        self.put("wide.onnx", model([node("MatMul", ["x", f"w{i}"], [f"y{i}"]) for i in range(layers)], weights,
                                    [value_info("x", [8, n])], [value_info(f"y{i}", [8, 4]) for i in range(layers)]))
        self.put_samples("wide", [npy([self.numbers.gauss(0, 1) for _ in range(8 * n)], [8, n]) for _ in range(2)])
        memory = 16 * sums
        calibrate = ("calibrate", "wide.onnx", "--data", "wide", "--threads", "2", "--moments")
        quantize = ("quantize", "wide.onnx", *SCHEME, "--bits", "4", "--calibration", "wide", "--threads", "2",
                    "--rounding", "feedback")
        least = self.peak_memory(*calibrate, "diagonal", "-o", "least")
        for command, name in ((calibrate, "moments"), (quantize, "onnx")):
            with self.subTest(command=command[0]):
                free = self.peak_memory(*command, "-o", f"free.{name}")
                bounded = self.peak_memory(*command, "--memory", memory, "-o", f"bounded.{name}")
                # Not read at once: what this process takes would count for the next.
                self.assertTrue(filecmp.cmp(self.folder / f"bounded.{name}", self.folder / f"free.{name}", False))
                self.assertGreater(free - least, .9 * layers * sums)
                self.assertGreater(free - bounded, layers * sums - memory)
                if command is calibrate:  # `quantize` has buffers of its own for what it writes
                    self.assertLess(bounded - least, memory)
        said = self.run_command(*quantize, "--memory", memory, "-o", "bounded.onnx").stderr.decode()
        self.assertRegex(said, "the samples run 4 times")
        said = self.run_command(*quantize, "--memory", memory // 2, "-o", "less.onnx").stderr.decode()
        self.assertRegex(said, "blocks of 256 columns")

    def test_moments_that_do_not_fit(self):
        calibrate = ("calibrate", self.model, "--moments")
        self.succeeds(*calibrate, "--data", "data", "-o", "m")
        self.succeeds(*calibrate, "--data", "others", "-o", "n")
        self.succeeds(*calibrate, "--grid-only", "--data", "data", "-o", "g")
        quantize = ("quantize", self.model, "-o", "q.onnx", *FOUR_BITS, "--moments")
        self.fails(USAGE, ["fc1.weight", "another grid"], *calibrate, "--merge", "m", "--merge", "n", "-o", "o")
        self.fails(USAGE, "--grid-only", *calibrate, "--data", "data", "--part", "1/2", "-o", "o")
        self.fails(USAGE, "no sums", *calibrate, "--merge", "g", "-o", "o")
        self.fails(USAGE, "no grid", *calibrate, "--grid-only", "--merge", "m", "-o", "o")
        self.fails(USAGE, ["g", "grid"], *quantize, "g")
        self.fails(USAGE, "uses no moments", *quantize, "m", "--rounding", "nearest")
        self.fails(USAGE, ["m", "samples, not moments"], *quantize, "m", "--optimize", "cle")
        self.fails(USAGE, "it needs samples", *quantize, "m", "--sequential")
        self.fails(USAGE, "--moments is an option of weight_only", "quantize", self.model, "-o", "q.onnx", "--scheme",
                   "static-affine", "--calibration", "data", "--moments", "m")
        self.put("other.onnx", two_layers([.5] * 512))
        self.fails(USAGE, ["m", "another model"], "quantize", "other.onnx", "-o", "q.onnx", *FOUR_BITS, "--moments", "m")
        self.fails(USAGE, ["m", "another model"], "calibrate", "other.onnx", "--moments", "--merge", "m", "-o", "o")
        self.put("cut", self.bytes_of("m")[:100])
        self.fails(BAD_INPUT, ["cut", "byte"], *quantize, "cut")
        self.fails(BAD_INPUT, ["model.onnx", "no file of second moments"], *quantize, self.model)
        self.fails(INPUT_OUTPUT, "nowhere", *quantize, "nowhere")
        # What grows keeps its grid, and says what that does not reach.
        grown = self.run_command(*calibrate, "--data", "others", "--merge", "m", "-o", "m")
        self.assertEqual(grown.returncode, DONE, grown.stderr)
        self.assertRegex(grown.stderr.decode(), r"\Awarning: .* numbers of inputs are larger than the grid")
        self.assertEqual(self.json_of(*calibrate, "--merge", "m")["samples"], 48)

    def test_without_rounding_by_data_nothing_changes(self):
        self.succeeds("quantize", self.model, "-o", "without.onnx", *FOUR_BITS)
        self.assertEqual(self.quantize("with.onnx", "--rounding", "nearest"), "")
        self.assertEqual(self.bytes_of("with.onnx"), self.bytes_of("without.onnx"))
        self.fails(INPUT_OUTPUT, "nowhere", "quantize", self.model, "-o", "q.onnx", *FOUR_BITS, "--rounding", "nearest",
                   "--calibration", "nowhere")

    def test_weights_that_no_layer_tells_of(self):
        self.put("table.onnx", model(
            [node("Gather", ["t", "i"], ["e"], "lookup"), node("MatMul", ["e", "w"], ["y"], "fc")],
            [tensor("t", [6, 16], [self.numbers.gauss(0, 1) for _ in range(96)]),
             tensor("w", [16, 8], [self.numbers.gauss(0, 1) for _ in range(128)])],
            [value_info("i", ["batch"], INT64)], [value_info("y", ["batch", 8])]))
        self.put_samples("places", [npy([k % 6, k % 5, k % 4], [3], "<i8") for k in range(8)])
        self.model = "table.onnx"
        said = self.quantize("q.onnx", data="places")
        self.assertIn("tensor 't': its codes are the nearest ones: no layer's inputs tell", said)
        self.assertIn("1 weight rounded", said)

    def test_formats_of_all_kinds(self):
        for name in ("nf4", "mxfp4", "q4_k", "codebook:8", "int3"):
            options = ("quantize", self.model, *SCHEME, "--type", name)
            nearest = self.run_command(*options, "-o", "nearest.onnx")
            self.assertEqual(nearest.returncode, DONE, nearest.stderr)
            rounded = self.run_command(*options, "-o", "rounded.onnx", "--calibration", "data")
            self.assertEqual(rounded.returncode, DONE, rounded.stderr)
            self.assertGreater(self.noise("rounded.onnx"), self.noise("nearest.onnx"), name)

    def test_plans_of_budgets(self):
        options = (*SCHEME, "--calibration", "data")
        saved = self.run_command("plan", self.model, *options, "--data", "others", "--target-bits", "6", "-o", "plan.json")
        self.assertEqual(saved.returncode, DONE, saved.stderr)
        followed = self.run_command("quantize", self.model, "-o", "followed.onnx", *options, "--plan", "plan.json")
        self.assertIn("2 weights rounded", followed.stderr.decode())
        self.run_command("quantize", self.model, "-o", "nearest.onnx", *SCHEME, "--plan", "plan.json")
        self.assertGreater(self.noise("followed.onnx"), self.noise("nearest.onnx"))

    def test_a_cache_knows_samples_and_rounding(self):
        def error(*options):
            command = ("sensitivity", self.model, *FOUR_BITS, "--data", "others", "--cache", "cache.json", "--json")
            result = self.run_command(*command, *options)
            self.assertEqual(result.returncode, DONE, result.stderr)
            return json.loads(result.stdout)["layers"][0]["outputs"][0]["sqnr_db"]
        errors = {error(), error("--calibration", "data"), error("--calibration", "data", "--rounding", "weighted"),
                  error("--calibration", "others")}
        self.assertEqual(len(errors), 4)

    def test_samples_that_say_little(self):
        self.put_samples("few", self.drawn(2))
        self.assertIn("the layers of 2 weights have fewer inputs in these samples", self.quantize("q.onnx", data="few"))
        self.put_samples("zeros", [npy([0] * 32, [2, 16])])
        said = self.quantize("q.onnx", data="zeros")
        self.assertIn("tensor 'fc1.weight': its codes are the nearest ones: its layer has no inputs but zeros", said)

    def test_scales_of_types_with_zero_points(self):
        result = self.run_command("quantize", self.model, "-o", "q.onnx", *SCHEME, "--type", "(u3 - z) * f32[channel] : f32",
                                  "--calibration", "data", "--rounding", "weighted", "--json")
        rows = {each["weight"]: each["rows_weighted"] for each in json.loads(result.stdout)["rounding"]}
        self.assertGreater(rows["fc1.weight"], 0)

    def test_a_choice_of_nearest_is_no_gap(self):
        mix = ("--mix", "a=weight-only,bits=4,rounding=nearest", "--mix", "b=weight-only,bits=8")
        said = self.run_command("quantize", self.model, "-o", "q.onnx", *mix, "--calibration", "data")
        self.assertEqual(said.returncode, DONE, said.stderr)
        self.assertNotIn("no layer's inputs tell", said.stderr.decode())
        self.quantize("again.onnx")
        self.model = "again.onnx"
        self.assertNotIn("no layer's inputs tell", self.quantize("twice.onnx"))

    def test_biases(self):
        self.put("biased.onnx", model(
            [node("Gemm", ["x", "w", "b"], ["y"], "fc")],
            [tensor("w", [16, 8], [self.numbers.gauss(0, 1) for _ in range(128)]), tensor("b", [8], [1.0] * 8)],
            [value_info("x", ["batch", 16])], [value_info("y", ["batch", 8])]))
        self.model = "biased.onnx"
        self.assertIn("bc: the biases of 1 layer corrected", self.quantize("corrected.onnx", "--optimize", "bc"))
        self.fails(USAGE, ["optimize bc", "--calibration"], "quantize", self.model, "-o", "q.onnx", *FOUR_BITS,
                   "--optimize", "bc")
        self.fails(USAGE, ["bc-analytic", "static_affine"], "quantize", self.model, "-o", "q.onnx", *FOUR_BITS,
                   "--optimize", "bc-analytic")

    def test_without_samples(self):
        for rounding in ("weighted", "feedback", "descent"):
            self.fails(USAGE, [f"rounding {rounding}", "--calibration PATH"], "quantize", self.model, "-o", "q.onnx",
                       *FOUR_BITS, "--rounding", rounding)
        self.assertEqual(re.findall("rounded", self.succeeds("quantize", self.model, "-o", "q.onnx", *FOUR_BITS,
                                                             "--rounding", "nearest")), [])

    def test_a_rounder_of_ones_own(self):
        """examples/own_rounder.cpp is error feedback in the order of the inputs."""
        example = pathlib.Path(BINARY).parent / "example_own_rounder"
        if not example.exists() and "CI" not in os.environ:
            self.skipTest("the examples are not built")
        self.succeeds("calibrate", self.model, "--moments", "--data", "data", "-o", "m")
        for target, data in (("own.onnx", ("--calibration", "data")), ("saved.onnx", ("--moments", "m"))):
            made = subprocess.run([example, "quantize", self.model, "-o", target, "--scheme", "feedback", *data, "--json"],
                                  cwd=self.folder, capture_output=True, check=False)
            self.assertEqual((made.returncode, made.stderr), (DONE, b""))
            rounding = json.loads(made.stdout)["rounding"]
            self.assertEqual([weight["weight"] for weight in rounding], ["fc1.weight", "fc2.weight"])
            self.assertLess(rounding[0]["error"], rounding[0]["error_nearest"])
        self.assertEqual(self.bytes_of("own.onnx"), self.bytes_of("saved.onnx"))
        self.succeeds("quantize", self.model, "-o", "nearest.onnx", *SCHEME, "--type", "int4")
        self.assertGreater(self.noise("own.onnx"), self.noise("nearest.onnx") + 3)


if __name__ == "__main__":
    run_tests()
