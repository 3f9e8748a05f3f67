"""How the command chooses: --policy greedy and optimal, on the example models.

    python3 tests/cli/policy_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json

from command_case import DONE, EXAMPLES, SCHEME, USAGE, CommandTest, run_tests

MIX = ("--mix", "activations=static_affine", "--mix", "weights=weight_only")


class PolicyTest(CommandTest):
    def decide(self, model, policy, *arguments):
        return json.loads(self.succeeds("plan", model, *arguments, "--policy", policy, "--json"))

    def calibrated(self, name):
        """The model's path, and the file of what its values are on samples."""
        model = EXAMPLES / f"{name}.onnx"
        # It notes that the labels in the file are no input.
        done = self.run_command("calibrate", model, "--data", EXAMPLES / f"{name}.npz", "-o",
                                f"{name}.json")
        self.assertEqual(done.returncode, DONE, done.stderr)
        return model, f"{name}.json"

    def both(self, model, *arguments):
        greedy = self.decide(model, "greedy", *arguments)
        optimal = self.decide(model, "optimal", *arguments)
        self.assertEqual(greedy["plan"]["policy"], "greedy")
        self.assertEqual(optimal["plan"]["policy"], "optimal")
        self.assertIsNone(greedy["bound"])
        # No decision gains more, greedy's included.
        self.assertEqual(optimal["bound"], optimal["plan"]["objective"])
        self.assertLessEqual(greedy["plan"]["objective"], optimal["plan"]["objective"])
        return greedy["plan"]["objective"], optimal["plan"]["objective"]

    def test_optimal_is_never_below_greedy(self):
        for name in ("digits_cnn", "digits_lstm", "tiny_transformer"):
            with self.subTest(name):
                model, statistics = self.calibrated(name)
                self.both(model, *SCHEME)
                self.both(model, "--scheme", "static-affine", "--calibration", statistics)
                self.both(model, *MIX, "--calibration", statistics)

    def test_two_schemes_in_a_convolutional_network(self):
        # Greedy stores weights by the one scheme, and what would have computed on the other's codes
        # finds them gone.
        model, statistics = self.calibrated("digits_cnn")
        greedy, optimal = self.both(model, *MIX, "--calibration", statistics)
        self.assertGreater(optimal, greedy)

    def test_a_plan_is_followed_by_its_own_policy(self):
        self.succeeds("plan", self.model, *SCHEME, "--policy", "optimal", "-o", "p.json")
        by_plan = self.succeeds("quantize", self.model, "-o", "a.onnx", *SCHEME, "--plan", "p.json")
        self.succeeds("quantize", self.model, "-o", "b.onnx", *SCHEME, "--policy", "optimal")
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))
        self.assertIn("quantized", by_plan)

    def test_what_is_said_of_it(self):
        said = self.succeeds("plan", self.model, *SCHEME, "--policy", "optimal")
        self.assertIn("(no decision gains more)", said)
        self.assertNotIn("no decision", self.succeeds("plan", self.model, *SCHEME))
        said = self.succeeds("quantize", self.model, "-o", "o.onnx", *SCHEME, "--policy", "optimal")
        self.assertIn("(no decision gains more)", said)
        self.fails(USAGE, "best", "plan", self.model, *SCHEME, "--policy", "best")


if __name__ == "__main__":
    run_tests()
