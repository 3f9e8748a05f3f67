"""What the command says and does about sums of two products in 16 bits.

    python3 tests/cli/saturation_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import random

from command_case import CommandTest, run_tests
from onnx_writer import model, node, tensor, value_info
from run_model_test import npy

STATIC = ("--scheme", "static-affine", "--calibration", "s.json")
ALLOWING = ("--saturation", "allow")
PRODUCTS = 2
CAN, CANNOT = "can saturate at 16 bits", "stay in 16 bits"


def products():
    """y = x w0 w1, with positive weights of which many are large."""
    numbers = random.Random(3)
    weights = [tensor(f"w{i}", [16, 16], [numbers.uniform(0.5, 1) for _ in range(256)])
               for i in range(PRODUCTS)]
    return model([node("MatMul", ["x", "w0"], ["h"], "first"), node("MatMul", ["h", "w1"], ["y"], "second")],
                 weights, [value_info("x", [4, 16])], [value_info("y", [4, 16])])


class SaturationTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.put("m.onnx", products())
        numbers = random.Random(1)
        self.put("x.npy", npy([numbers.uniform(0, 1) for _ in range(64)], [4, 16]))
        self.succeeds("calibrate", "m.onnx", "--data", "x.npy", "-o", "s.json")

    def inexact(self, *options):
        """Pairs that can saturate, of all products and both runtimes."""
        found = self.json_of("quantize", "m.onnx", "-o", "q.onnx", *STATIC, *options)["sums_in_16_bits"]
        self.assertEqual(len(found), PRODUCTS)
        return sum(product[runtime]["inexact"] for product in found for runtime in ("onnxruntime", "openvino"))

    def test_what_is_avoided(self):
        self.assertEqual(self.inexact(), 0)
        self.assertEqual(self.inexact("--saturation", "7bit"), 0)
        self.assertGreater(self.inexact(*ALLOWING), 0)
        allowed = self.bytes_of("q.onnx")
        self.assertGreater(self.inexact("--target-cpu", "vnni"), 0)
        self.assertEqual(self.bytes_of("q.onnx"), allowed)
        self.assertEqual(self.inexact("--target-cpu", "vnni", "--saturation", "avoid"), 0)

    def test_a_machine_that_sums_in_32_bits(self):
        latency = ("--gain", "latency", "--hardware")
        profile = self.json_of("list", "hardware")["hardware"][0]
        self.assertTrue(profile["sums_in_32_bits"])
        profile["float_products"] = 0.01  # so that codes are worth it in a small model
        gains = {}
        for sums_in_32_bits in (True, False):
            profile["sums_in_32_bits"] = sums_in_32_bits
            self.put("here.json", json.dumps(profile).encode())
            done = self.json_of("quantize", "m.onnx", "-o", "q.onnx", *STATIC, *latency, "here.json")
            gains[sums_in_32_bits] = sum(product["onnxruntime"]["inexact"] for product in done["sums_in_16_bits"])
        self.assertGreater(gains[True], 0)
        self.assertEqual(gains[False], 0)

    def test_it_is_said(self):
        for options, said in (((), CANNOT), (ALLOWING, CAN)):
            for text in (self.succeeds("quantize", "m.onnx", "-o", "q.onnx", *STATIC, *options),
                         self.succeeds("convert", "m.onnx", "q.xml", *STATIC, *options),
                         self.succeeds("placement", "q.onnx")):
                self.assertIn(said, text)
        self.assertIn("first", self.succeeds("placement", "q.onnx").split("operation")[1])
        self.assertEqual(len(self.json_of("placement", "q.onnx")["sums_in_16_bits"]), PRODUCTS)
        self.assertNotIn("16 bits", self.succeeds("convert", "m.onnx", "q.tflite", *STATIC))
        self.assertNotIn("16 bits", self.succeeds("placement", "m.onnx"))
        self.succeeds("quantize", "m.onnx", "-o", "q.onnx", *STATIC, "--report", "page.html")
        self.assertIn(CANNOT, self.bytes_of("page.html").decode())
        for node in ("w0", "first"):
            self.assertIn("two by two in 16 bits", self.succeeds("explain", "m.onnx", node, *STATIC))
            # What stays in real numbers has no such sums.
            self.assertNotIn("two by two", self.succeeds("explain", "m.onnx", node, *STATIC, "--exclude", f"^{node}$"))

    def test_what_comes_out(self):
        sqnr = {}
        for way in ("avoid", "allow"):
            self.inexact("--saturation", way)
            for runtime in ("interpreter", "onnxruntime-avx2", "openvino-avx2"):
                compare = ("compare", "m.onnx", "q.onnx", "--data", "x.npy", "--runtime", runtime)
                self.assertEqual(CAN in self.run_command(*compare).stderr.decode(), way == "allow")
                done = json.loads(self.run_command(*compare, "--json").stdout)
                sqnr[way, runtime] = done["comparison"]["outputs"][0]["sqnr_db"]
        for runtime in ("onnxruntime-avx2", "openvino-avx2"):
            self.assertEqual(sqnr["avoid", runtime], sqnr["avoid", "interpreter"])
            self.assertLess(sqnr["allow", runtime], sqnr["allow", "interpreter"] - 10)


if __name__ == "__main__":
    run_tests()
