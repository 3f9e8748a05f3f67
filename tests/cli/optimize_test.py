"""`quadrant optimize`: what it tries, when it stops, what it writes, and what it refuses; and `quantize --optimize`.

    python3 tests/cli/optimize_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess

from command_case import BINARY, DONE, EXAMPLES, IMPOSSIBLE, INTERRUPTED, USAGE, CommandTest, run_tests, two_layers
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

    def test_corrects_what_was_equalized(self):
        document = self.optimized("--accept-sqnr", "200")
        self.assertEqual(document["attempts"][2]["optimizations"], ["cle", "hba", "bc"])

    def test_writes_the_best(self):
        document = self.optimized("--accept-sqnr", "200")
        best = max(document["attempts"], key=lambda a: a["sqnr_db"])
        written = [a for a in document["attempts"] if a["is_written"]]
        self.assertEqual(len(written), 1)
        self.assertGreater(written[0]["sqnr_db"], best["sqnr_db"] - 0.1)
        self.assertFalse(document["is_good_enough"])
        self.assertEqual(document["samples"], {"fitted": 3, "judged": 3, "held_back": 1, "are_crossed": True,
                                               "fitted_in_the_end": 4})

    def test_the_recipe_makes_the_same_file(self):
        document = self.optimized("--accept-sqnr", "200", "--save-recipe", "r.json")
        self.assertEqual(document["recipe"], json.loads((self.folder / "r.json").read_text()))
        self.run_command("quantize", self.model, "-o", "again.onnx", "--recipe", "r.json", "--calibration", "data")
        self.assertEqual(self.bytes_of("again.onnx"), self.bytes_of("out.onnx"))

    def test_what_is_said_of_encodings_stays(self):
        document = self.optimized("--accept-sqnr", "200", "--encoding", "mse")
        for attempt in document["attempts"]:
            self.assertNotIn("encoding", attempt["settings"])

    def test_samples_to_judge_on(self):
        (self.folder / "others").mkdir()
        numbers = random.Random(4)
        self.put("others/0.npy", npy([numbers.gauss(0.3, 1) for _ in range(48)], [1, 3, 4, 4]))
        document = self.optimized("--data", "others")
        self.assertEqual(document["samples"], {"fitted": 4, "judged": 1, "held_back": 0, "are_crossed": False,
                                               "fitted_in_the_end": 4})
        written = next(a for a in document["attempts"] if a["is_written"])
        compared = self.json_of("compare", self.model, "out.onnx", "--data", "others")["comparison"]
        self.assertAlmostEqual(written["sqnr_db"], min(o["sqnr_db"] for o in compared["outputs"]), 5)

    def test_what_stays_float_is_named(self):
        """The logarithm of a product that goes over four decades: in eight bits, the small results are zero."""
        numbers = random.Random(5)
        weights = [[numbers.uniform(0.2, 1) for _ in range(1024)], [numbers.gauss(0, 1) for _ in range(1024)]]
        self.put("l.onnx", model([node("MatMul", ["x", "w1"], ["p"], "first"), node("Log", ["p"], ["l"], "logarithm"),
                                  node("MatMul", ["l", "w2"], ["y"], "second")],
                                 [tensor("w1", [32, 32], weights[0]), tensor("w2", [32, 32], weights[1])],
                                 [value_info("x", [4, 32])], [value_info("y", [4, 32])]))
        (self.folder / "rows").mkdir()
        for i in range(16):
            sizes = [10 ** numbers.uniform(-4, 0) for _ in range(4)]
            self.put(f"rows/{i}.npy", npy([size * numbers.uniform(0.5, 1) for size in sizes for _ in range(32)], [4, 32]))
        call = ("optimize", "l.onnx", "-o", "out.onnx", "--calibration", "rows", "--accept-sqnr", "25")
        said = self.succeeds(*call, "--save-recipe", "r.json")
        self.assertIn("in float: p (in front of onnx.Log)", said)
        self.assertIn("good enough", said)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["exclude"], ["^p$"])
        said = self.succeeds(*call, "--most-float", "0")
        self.assertNotIn("in float", said)
        self.assertIn("all was tried", said)

    def test_not_all_stays_float(self):
        document = self.optimized("--accept-sqnr", "200", "--most-float", "100")
        written = next(a for a in document["attempts"] if a["is_written"])
        self.assertGreater(written["quantized_weights"], 0)

    def interrupted(self, after):
        """The exit code and the output of a long call, with Ctrl-C once its terminal shows `after`."""
        for i in range(4, 1500):
            shutil.copy(self.folder / "data/s0.npy", self.folder / f"data/s{i}.npy")
        ours, theirs = pty.openpty()
        with subprocess.Popen([BINARY, "optimize", self.model, "-o", "out.onnx", "--calibration", "data",
                               "--accept-sqnr", "200", "--json", "--threads", "1"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=theirs) as child:
            os.close(theirs)
            shown = b""
            while after not in shown:
                shown += os.read(ours, 1000)
            child.send_signal(signal.SIGINT)
            stdout = child.stdout.read()
        try:
            while part := os.read(ours, 1000):
                shown += part
        except OSError:  # the terminal's end
            pass
        os.close(ours)
        self.shown = shown
        return child.returncode, stdout

    def test_ctrl_c_writes_the_best_until_then(self):
        code, stdout = self.interrupted(b"default: ")
        self.assertEqual(code, DONE)
        document = json.loads(stdout)
        self.assertTrue(document["is_stopped"])
        self.assertEqual(sum(a["is_written"] for a in document["attempts"]), 1)
        self.json_of("inspect", "out.onnx")

    def test_ctrl_c_before_there_is_a_result(self):
        code, stdout = self.interrupted(b"%")
        self.assertEqual((code, stdout), (INTERRUPTED, b""))
        self.assertIn(b"quadrant: stopped as requested: nothing is written", self.shown)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_what_quantizes_nothing_is_not_good_enough(self):
        self.put("e.onnx", model([node("Einsum", ["x", "w"], ["y"], "sum")
                                  + field(5, field(1, "equation") + field(4, "ij,jk->ik") + field(20, 3))],
                                 [tensor("w", [4, 4], [1.0, 0.5] * 8)],
                                 [value_info("x", [2, 4])], [value_info("y", [2, 4])]))
        (self.folder / "rows").mkdir()
        self.put("rows/0.npy", npy([i / 8 for i in range(8)], [2, 4]))
        call = ("optimize", "e.onnx", "-o", "out.onnx", "--calibration", "rows")
        done = self.run_command(*call)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertIn(b"four samples or more", done.stderr)
        said = done.stdout.decode()
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

    def test_numbers_are_finite(self):
        for option in ("--accept", "--accept-sqnr", "--most-float"):
            for number in ("nan", "inf"):
                self.fails(USAGE, option, "optimize", self.model, "-o", "out.onnx", "--calibration", "data", option, number)

    def test_what_is_in_the_result_is_no_advice(self):
        call = ("optimize", self.model, "-o", "out.onnx", "--calibration", "data", "--accept-sqnr", "200",
                "--kernels", "tflite", "--most-float", "10")
        written = next(a for a in self.json_of(*call)["attempts"] if a["is_written"])
        self.assertIn("activation_bits 16", written["settings"])
        said = self.succeeds(*call)
        self.assertNotIn("--activation-bits", said)
        self.assertIn("a larger --most-float allows", said)

    def test_labels_are_spoken_of_in_points(self):
        self.put("labels.txt", b"0\n" * 4 * 16)
        said = self.succeeds("optimize", self.model, "-o", "out.onnx", "--calibration", "data", "--labels", "labels.txt")
        self.assertRegex(said, r"1 held back: -?\d+\.\d\d points lost, \d+\.\d\d dB")
        self.assertRegex(said, r"the float model: \d+\.\d\d % of 48 rows judged right")

    def test_labels_that_are_not_equally_many_for_each_sample(self):
        """Of 1 and 3 rows by turns: 2 for each on average."""
        self.put("t.onnx", two_layers())
        (self.folder / "rows").mkdir()
        for i in range(4):
            count = 1 + 2 * (i % 2)
            self.put(f"rows/{i}.npy", npy([j % 7 - 3 for j in range(16 * count)], [count, 16]))
        call = ("optimize", "t.onnx", "-o", "out.onnx", "--calibration", "rows", "--labels", "labels.txt")
        self.put("labels.txt", b"1\n" * 8)
        done = self.run_command(*call)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertIn(b"equally many labels each", done.stderr)
        self.assertIn(b"fitted and judged on the same 4 samples", done.stdout)
        self.put("labels.txt", b"1\n" * 4)
        self.fails(USAGE, ["labels.txt", "4 labels for 8 rows"], *call)

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
