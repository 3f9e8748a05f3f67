"""`quadrant optimize`: which steps it takes, when it stops, and what it refuses; and `quantize --optimize`.

    python3 tests/cli/optimize_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import random

from command_case import DONE, EXAMPLES, IMPOSSIBLE, USAGE, CommandTest, run_tests
from onnx_writer import field, model, node, tensor, value_info
from run_model_test import npy

CHANNELS = 8


class OptimizeTest(CommandTest):
    """On two convolutions with a ReLU between, whose channels are very uneven."""

    def setUp(self):
        super().setUp()
        numbers = random.Random(3)
        factors = [4.0 ** (i - CHANNELS / 2) for i in range(CHANNELS)]
        first = [numbers.gauss(0, 1) * factors[i] for i in range(CHANNELS) for _ in range(3)]
        second = [numbers.gauss(0, 1) / factors[i] for _ in range(4) for i in range(CHANNELS)]
        self.model = self.put("m.onnx", model(
            [node("Conv", ["x", "w1"], ["a"], "first"), node("Relu", ["a"], ["r"], "act"),
             node("Conv", ["r", "w2"], ["y"], "second")],
            [tensor("w1", [CHANNELS, 3, 1, 1], first), tensor("w2", [4, CHANNELS, 1, 1], second)],
            [value_info("x", [1, 3, 4, 4])],
            [value_info("y", [1, 4, 4, 4])],
        ))
        (self.folder / "data").mkdir()
        for i in range(4):
            values = [numbers.gauss(0.3, 1) for _ in range(48)]
            self.put(f"data/s{i}.npy", npy(values, [1, 3, 4, 4]))

    def optimized(self, *options):
        result = self.run_command("optimize", self.model, "-o", "out.onnx", "--calibration", "data",
                                  "--weights", "tensor", "--json", *options)
        self.assertEqual(result.returncode, DONE, result.stderr)
        return json.loads(result.stdout)

    def test_stops_when_it_is_good_enough(self):
        document = self.optimized("--accept-sqnr", "-50")
        self.assertEqual([a["optimizations"] for a in document["attempts"]], [[]])
        self.assertTrue(document["is_good_enough"])
        self.assertTrue((self.folder / "out.onnx").exists())

    def test_equalizes_where_that_is_needed(self):
        document = self.optimized("--accept-sqnr", "25")
        steps = [a["optimizations"] for a in document["attempts"]]
        self.assertEqual(steps[:2], [[], ["cle", "hba"]])
        plain, equalized = document["attempts"][:2]
        self.assertGreater(equalized["sqnr_db"], plain["sqnr_db"] + 6)

    def test_writes_the_best(self):
        document = self.optimized("--accept-sqnr", "200")
        best = max(document["attempts"], key=lambda a: a["sqnr_db"])
        self.assertTrue(best["is_written"])
        self.assertEqual(sum(a["is_written"] for a in document["attempts"]), 1)
        self.assertFalse(document["is_good_enough"])

    def test_does_not_correct_what_is_poor(self):
        document = self.optimized("--accept-sqnr", "200")
        self.assertNotIn(["cle", "hba", "bc"], [a["optimizations"] for a in document["attempts"]])

    def test_corrects_what_came_close(self):
        plain = self.optimized("--accept-sqnr", "200")["attempts"][1]["sqnr_db"]
        document = self.optimized("--accept-sqnr", str(plain + 1))
        self.assertIn(["cle", "hba", "bc"], [a["optimizations"] for a in document["attempts"]])

    def test_what_quantizes_nothing_is_not_good_enough(self):
        self.put("e.onnx", model([node("Einsum", ["x", "w"], ["y"], "sum")
                                  + field(5, field(1, "equation") + field(4, "ij,jk->ik") + field(20, 3))],
                                 [tensor("w", [4, 4], [1.0, 0.5] * 8)],
                                 [value_info("x", [2, 4])], [value_info("y", [2, 4])]))
        (self.folder / "rows").mkdir()
        self.put("rows/0.npy", npy([i / 8 for i in range(8)], [2, 4]))
        call = ("optimize", "e.onnx", "-o", "out.onnx", "--calibration", "rows")
        said = self.succeeds(*call)
        self.assertIn("nothing is quantized", said)
        self.assertNotIn("good enough", said)
        document = self.json_of(*call)
        self.assertFalse(document["is_good_enough"])
        self.assertEqual([a["quantized_weights"] for a in document["attempts"]], [0])

    def test_outputs_that_are_no_numbers_are_not_good_enough(self):
        """One output is NaN whatever comes in; the other is computed on codes."""
        nan = float("nan")
        self.put("n.onnx", model([node("MatMul", ["x", "w"], ["y"], "product"), node("Add", ["y", "n"], ["z"], "broken")],
                                 [tensor("w", [16, 16], [(i % 9 - 4) / 4 for i in range(256)]), tensor("n", [16], [nan] * 16)],
                                 [value_info("x", [2, 16])], [value_info("y", [2, 16]), value_info("z", [2, 16])]))
        (self.folder / "rows").mkdir()
        self.put("rows/0.npy", npy([i / 8 for i in range(32)], [2, 16]))
        call = ("optimize", "n.onnx", "-o", "out.onnx", "--calibration", "rows", "--accept-sqnr", "-50")
        done = self.run_command(*call)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertIn("32 elements of the float model's outputs are NaN", done.stdout.decode())
        self.assertNotIn("good enough", done.stdout.decode())
        self.assertIn("1 of 1", done.stdout.decode())

    def test_weights_are_counted(self):
        self.assertEqual({(a["quantized_weights"], a["weights"]) for a in
                          self.optimized("--accept-sqnr", "200")["attempts"]}, {(2, 2)})

    def test_what_is_advised_can_be_done(self):
        """Options that the verdict names are of this command, and are finer."""
        call = ("optimize", self.model, "-o", "out.onnx", "--calibration", "data", "--accept-sqnr", "200")
        coarse = ("--weights", "tensor", "--weight-bits", "4")
        said = self.run_command(*call, *coarse).stdout.decode()
        self.assertIn("finer: --weight-bits 8, --weights channel, --activation-bits 16", said)
        finer = ("--weight-bits", 8, "--weights", "channel", "--activation-bits", 16)
        done = self.run_command(*call, *finer)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertNotIn("finer", done.stdout.decode())

        def best(*options):
            attempts = json.loads(self.run_command(*call, *options, "--json").stdout)["attempts"]
            return max(a["sqnr_db"] for a in attempts)
        self.assertGreater(best(*finer), best(*coarse))

    def test_the_table_has_times(self):
        result = self.run_command("optimize", self.model, "-o", "out.onnx", "--calibration", "data")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertIn("time", result.stdout.decode())
        self.assertRegex(result.stdout.decode(), r"\d\.\d s")

    def test_no_samples_is_a_usage_error(self):
        self.fails(USAGE, "--calibration", "optimize", self.model, "-o", "out.onnx")

    def test_statistics_are_not_enough(self):
        self.run_command("calibrate", self.model, "--data", "data", "-o", "s.json")
        self.fails(USAGE, ["s.json", "it needs samples"], "optimize", self.model, "-o", "out.onnx", "--calibration",
                   "s.json")

    def test_a_quantized_model_is_refused(self):
        self.optimized("--accept-sqnr", "-50")
        self.fails(IMPOSSIBLE, "quantized already", "optimize", "out.onnx", "-o", "again.onnx",
                   "--calibration", "data")

    def statically(self, *options, model=None, data="data"):
        result = self.run_command("quantize", model or self.model, "-o", "q.onnx", "--scheme",
                                  "static-affine", "--calibration", data, *options)
        self.assertEqual(result.returncode, DONE, result.stderr)
        return result.stderr.decode()

    def test_correction_alone_is_warned_of(self):
        self.assertIn("bc without cle", self.statically("--optimize", "bc"))
        self.assertNotIn("bc without cle", self.statically("--optimize", "cle,bc"))

    def test_correction_without_samples_needs_normalizations(self):
        notes = self.statically("--optimize", "cle,bc-analytic")
        self.assertIn("bc-analytic: the biases of 0 layers corrected", notes)
        self.assertIn("does not follow from known moments", notes)
        self.fails(USAGE, "leave out one", "quantize", self.model, "-o", "q.onnx", "--scheme",
                   "static-affine", "--calibration", "data", "--optimize", "bc,bc-analytic")
        digits = EXAMPLES / "digits_cnn.onnx"
        notes = self.statically("--optimize", "cle,bc-analytic", model=digits,
                                data=EXAMPLES / "digits_cnn.npz")
        self.assertRegex(notes, "bc-analytic: the biases of [1-9][0-9]* layers? corrected")

    def test_transform_writes_a_float_model(self):
        def transform(model, target):
            done = self.run_command("transform", model, "-o", target, "--optimize", "cle")
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assertRegex(done.stderr, b"[1-9][0-9]* pairs? of layers equalized")
        transform(self.model, "t.onnx")
        document = self.json_of("compare", self.model, "t.onnx", "--data", "data")
        for output in document["comparison"]["outputs"]:
            self.assertGreater(output["sqnr_db"], 120)
        self.assertNotEqual(self.bytes_of("t.onnx"), self.bytes_of(self.model))
        transform("t.onnx", "again.onnx")
        self.fails(USAGE, ["relu6", "cle"], "transform", self.model, "-o", "t.onnx", "--relu6",
                   "relu")
        self.fails(USAGE, "--optimize", "transform", self.model, "-o", "t.onnx", "--optimize", "bc")

    def test_absorption_without_normalizations_says_what_is_missing(self):
        notes = self.statically("--optimize", "cle,hba")
        self.assertIn("batch normalization", notes)
        self.assertRegex(notes, "[1-9][0-9]* pairs? of layers equalized")


if __name__ == "__main__":
    run_tests()
