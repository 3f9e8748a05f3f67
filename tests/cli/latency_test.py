"""Gains in predicted nanoseconds: --gain latency, --hardware, list hardware.

    python3 tests/cli/latency_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json

from command_case import BAD_INPUT, EXAMPLES, SCHEME, USAGE, CommandTest, run_tests

# Whatever computes on codes takes no time, and conversions little.
FAST = {"int8_products": 1e4, "float_products": 0.1, "quantize": 1e4, "dequantize": 1e4,
        "bandwidth": 1e3, "overhead": 1}


class LatencyTest(CommandTest):
    def shipped(self):
        return json.loads(self.succeeds("list", "hardware", "--json"))["hardware"]

    def profile(self, name, **changes):
        """A file of the profile that is shipped first, with these changes; its path."""
        path = self.folder / name
        path.write_text(json.dumps({**self.shipped()[0], **changes}))
        return path

    def calibrated(self):
        """The options that quantize the test's model with what its values are on random samples."""
        self.succeeds("calibrate", self.model, "--random", 2, "--shape", "x=4x16", "-o",
                      "s.json")
        return self.model, "--scheme", "static-affine", "--calibration", "s.json"

    def plan(self, model, *options):
        return json.loads(self.succeeds("plan", model, *options, "--gain", "latency", "--json"))

    def test_list(self):
        shipped = self.shipped()
        text = self.succeeds("list", "hardware")
        for profile in shipped:
            self.assertIn(profile["name"], text)
            self.assertIn(profile["description"], text)
            self.assertIn(f"{profile['bandwidth']:g}", text)
        # What is listed is a file for --hardware, and means the same.
        options = self.calibrated()
        by_name = self.plan(*options, "--hardware", shipped[0]["name"])
        by_file = self.plan(*options, "--hardware", self.profile("same.json"))
        # The default is a profile, too, but the machine of nobody: sums of 16 bits are avoided.
        by_default = self.plan(*options, "--saturation", "allow")
        self.assertEqual(by_name, by_default)
        self.assertEqual(by_file, by_default)
        self.assertNotEqual(self.plan(*options), by_default)

    def test_fast_and_slow_integers(self):
        options = self.calibrated()
        fast = self.plan(*options, "--hardware",
                         self.profile("fast.json", **FAST))
        self.assertEqual(fast["gain_unit"], "nanoseconds")
        self.assertEqual(fast["plan"]["gain_model"], "latency")
        self.assertGreater(len(fast["plan"]["values"]), 3)
        # More is saved than is left, and no more than there was.
        self.assertGreater(fast["plan"]["objective"], fast["in_float"] / 2)
        self.assertLess(fast["plan"]["objective"], fast["in_float"])
        slow = self.plan(*options, "--hardware",
                         self.profile("slow.json", int8_products=1e-3, uint8_products=1e-3,
                                      int8_elements=1e-3))
        self.assertEqual(slow["plan"]["objective"], 0)
        self.assertGreater(slow["in_float"], 0)

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
        options = self.calibrated()
        text = self.succeeds("plan", *options, "--gain", "latency")
        self.assertIn("nanoseconds in float", text)
        self.assertNotIn("predicted", self.succeeds("plan", *options))

    def test_plans_and_recipes(self):
        options = self.calibrated()
        fast = self.profile("fast.json", **FAST)
        _, *scheme = options
        by_latency = (*scheme, "--gain", "latency", "--hardware", fast)
        self.succeeds("plan", self.model, *by_latency, "-o", "p.json", "--save-recipe", "r.json")
        self.assertNotEqual(json.loads((self.folder / "p.json").read_text())["values"], [])
        for name, how in (("a", (*by_latency, "--plan", "p.json")), ("b", by_latency),
                          ("c", ("--recipe", "r.json", "--calibration", "s.json"))):
            self.succeeds("quantize", self.model, "-o", f"{name}.onnx", *how)
            self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of(f"{name}.onnx"))
        recipe = json.loads((self.folder / "r.json").read_text())
        self.assertEqual((recipe["gain"], recipe["hardware"]), ("latency", str(fast)))
        # Another gain model does without the hardware.
        self.succeeds("quantize", self.model, "-o", "d.onnx", "--recipe", "r.json", "--calibration",
                      "s.json", "--gain", "operations")
        self.succeeds("explain", self.model, *by_latency)

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
