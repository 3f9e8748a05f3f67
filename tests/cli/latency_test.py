"""Gains in predicted nanoseconds: --gain latency, --hardware, list hardware.

    python3 tests/cli/latency_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json

from command_case import BAD_INPUT, DONE, EXAMPLES, SCHEME, USAGE, CommandTest, run_tests

AFFINE = ("--scheme", "static-affine", "--calibration")


class LatencyTest(CommandTest):
    def shipped(self):
        return json.loads(self.succeeds("list", "hardware", "--json"))["hardware"]

    def profile(self, name, **changes):
        """A file of the profile that is shipped first, with these changes; its path."""
        path = self.folder / name
        path.write_text(json.dumps({**self.shipped()[0], **changes}))
        return path

    def calibrated(self, name):
        model = EXAMPLES / f"{name}.onnx"
        done = self.run_command("calibrate", model, "--data", EXAMPLES / f"{name}.npz", "-o",
                                f"{name}.json")
        self.assertEqual(done.returncode, DONE, done.stderr)
        return model, f"{name}.json"

    def plan(self, model, *options):
        return json.loads(self.succeeds("plan", model, *options, "--gain", "latency", "--json"))

    def test_list(self):
        shipped = self.shipped()
        text = self.succeeds("list", "hardware")
        for profile in shipped:
            self.assertIn(profile["name"], text)
            self.assertIn(profile["description"], text)
            self.assertIn(f"{profile['bandwidth']}", text)
        # What is listed is a file for --hardware, and means the same.
        model, statistics = self.calibrated("digits_cnn")
        by_name = self.plan(model, *AFFINE, statistics, "--hardware", shipped[0]["name"])
        by_file = self.plan(model, *AFFINE, statistics, "--hardware", self.profile("same.json"))
        by_default = self.plan(model, *AFFINE, statistics)
        self.assertEqual(by_name, by_default)
        self.assertEqual(by_file, by_default)

    def test_fast_and_slow_integers(self):
        model, statistics = self.calibrated("tiny_transformer")
        fast = self.plan(model, *AFFINE, statistics, "--hardware",
                         self.profile("fast.json", int8_products=1e4, overhead=1e-3, float_products=1,
                                      quantize=1e4, dequantize=1e4, bandwidth=1e3))
        self.assertEqual(fast["gain_unit"], "nanoseconds")
        self.assertEqual(fast["plan"]["gain_model"], "latency")
        self.assertGreater(len(fast["plan"]["values"]), 10)
        # More is saved than is left, and no more than there was.
        self.assertGreater(fast["plan"]["objective"], fast["in_float"] / 2)
        self.assertLess(fast["plan"]["objective"], fast["in_float"])
        slow = self.plan(model, *AFFINE, statistics, "--hardware",
                         self.profile("slow.json", int8_products=1e-3, uint8_products=1e-3,
                                      int8_elements=1e-3))
        self.assertEqual(slow["plan"]["objective"], 0)
        self.assertEqual(slow["in_float"] > 0, True)

    def test_weights(self):
        # Without kernels a dequantize in front costs; with them the runtime reads fewer bytes.
        model = EXAMPLES / "tiny_transformer.onnx"
        without = self.plan(model, *SCHEME, "--hardware", self.profile("without.json"))
        self.assertEqual(without["plan"]["values"], [])
        kernels = self.profile("with.json", weights8_products=1e3)
        found = self.plan(model, *SCHEME, "--hardware", kernels)
        self.assertGreater(len(found["plan"]["values"]), 3)
        self.assertGreater(found["plan"]["objective"], 0)

    def test_text(self):
        model, statistics = self.calibrated("digits_cnn")
        text = self.succeeds("plan", model, *AFFINE, statistics, "--gain", "latency")
        self.assertIn("nanoseconds in float", text)
        self.assertNotIn("predicted", self.succeeds("plan", model, *AFFINE, statistics))

    def test_plans_and_recipes(self):
        model, statistics = self.calibrated("digits_cnn")
        fast = self.profile("fast.json", int8_products=1e4, quantize=1e4, dequantize=1e4)
        options = (*AFFINE, statistics, "--gain", "latency", "--hardware", fast)
        self.succeeds("plan", model, *options, "-o", "p.json", "--save-recipe", "r.json")
        self.succeeds("quantize", model, "-o", "a.onnx", *options, "--plan", "p.json")
        self.succeeds("quantize", model, "-o", "b.onnx", *options)
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))
        recipe = json.loads((self.folder / "r.json").read_text())
        self.assertEqual((recipe["gain"], recipe["hardware"]), ("latency", str(fast)))
        self.succeeds("quantize", model, "-o", "c.onnx", "--recipe", "r.json", "--calibration",
                      statistics)
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("c.onnx"))
        # Another gain model does without the hardware.
        self.succeeds("quantize", model, "-o", "d.onnx", "--recipe", "r.json", "--calibration",
                      statistics, "--gain", "operations")
        self.succeeds("explain", model, *options)

    def test_mistakes(self):
        plan = ("plan", self.model, *SCHEME)
        name = self.shipped()[0]["name"]
        self.fails(USAGE, "--hardware", *plan, "--hardware", name)
        self.fails(USAGE, "--hardware", *plan, "--gain", "bytes", "--hardware", name)
        latency = (*plan, "--gain", "latency", "--hardware")
        self.fails(USAGE, f"did you mean '{name}'", *latency, name[:-1])
        self.fails(USAGE, ["nowhere.json", name], *latency, "nowhere.json")
        self.fails(BAD_INPUT, ["b.json", "$.bandwidth"], *latency, self.profile("b.json", bandwidth=0))
        self.fails(BAD_INPUT, ["k.json", "did you mean 'overhead'"], *latency,
                   self.profile("k.json", overhed=1))
        (self.folder / "r.json").write_text(json.dumps(
            {"format": "quadrant.recipe", "version": 1, "hardware": name,
             "schemes": {"a": {"scheme": "weight_only"}}}))
        self.fails(BAD_INPUT, ["r.json", "hardware", "latency"], "plan", self.model, "--recipe",
                   "r.json")


if __name__ == "__main__":
    run_tests()
