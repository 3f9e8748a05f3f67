"""`quadrant encodings` writes what a quantized model's codes mean, and `--encodings` prescribes it.

    python3 tests/cli/encodings_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import struct

from command_case import DONE, EXAMPLES, IMPOSSIBLE, SCHEME, USAGE, CommandTest, run_tests
from onnx_writer import field, model, node, tensor, value_info

STATIC = ("--scheme", "static-affine")
UINT8, INT8 = 2, 3


def integers(name, kind, dims, values):
    """A tensor of 8-bit integers."""
    return (b"".join(field(1, dim) for dim in dims) + field(2, kind) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}{'b' if kind == INT8 else 'B'}", *values)))


def of_another_tool():
    """y = x W, with the names that ONNX Runtime's quantizer gives."""
    return model(
        [node("QuantizeLinear", ["x", "s", "z"], ["x_QuantizeLinear_Output"]),
         node("DequantizeLinear", ["x_QuantizeLinear_Output", "s", "z"],
              ["x_DequantizeLinear_Output"]),
         node("DequantizeLinear", ["W_quantized", "ws", "wz"], ["W_DequantizeLinear_Output"]),
         node("MatMul", ["x_DequantizeLinear_Output", "W_DequantizeLinear_Output"], ["y"]),
         node("QuantizeLinear", ["y", "t", "z"], ["y_QuantizeLinear_Output"]),
         node("DequantizeLinear", ["y_QuantizeLinear_Output", "t", "z"], ["out"])],
        [tensor("s", [], [0.125]), tensor("t", [], [0.5]), integers("z", UINT8, [], [100]),
         tensor("ws", [], [0.25]), integers("wz", INT8, [], [0]),
         integers("W_quantized", INT8, [4, 2], [-128, 3, 2, 1, 0, 127, 5, 7])],
        [value_info("x", [1, 4])], [value_info("out", [1, 2])])


class EncodingsTest(CommandTest):
    def entries(self, name):
        """Those of a file of version 1.0.0, by name, in both of its sections."""
        document = json.loads(self.bytes_of(name))
        self.assertEqual(document["version"], "1.0.0")
        return [{entry["name"]: entry for entry in document[section]}
                for section in ("activation_encodings", "param_encodings")]

    def put_encodings(self, activations, parameters=()):
        """A file of version 1.0.0, of (name, scale, zero point) or (name, scale, zero point, bits)."""
        def entries(tensors):
            return [{"name": name, "dtype": "INT", "bw": bits[0] if bits else 8, "is_sym": False,
                     "enc_type": "PER_TENSOR", "scale": [scale], "offset": [-zero_point]}
                    for name, scale, zero_point, *bits in tensors]
        return self.put("given.encodings", json.dumps(
            {"version": "1.0.0", "activation_encodings": entries(activations),
             "param_encodings": entries(parameters)}).encode())

    def quantize(self, encodings, *arguments):
        """What it warns of."""
        result = self.run_command("quantize", self.model, "-o", "made.onnx", *STATIC,
                                  "--encodings", encodings, *arguments)
        self.assertEqual(result.returncode, DONE, result.stderr.decode())
        return [line for line in result.stderr.decode().splitlines() if "warning" in line]

    def test_an_encoded_model_gives_its_codes_back(self):
        every = ("0.6.1", "1.0.0", "2.0.0")
        for name, options, versions in (
                ("digits_cnn", (), every), ("digits_cnn", ("--unsigned-activations",), every),
                ("digits_cnn", ("--weights", "tensor"), every), ("digits_lstm", (), every),
                ("digits_cnn", ("--quantized-inputs", "--quantized-outputs"), ("1.0.0",)),
                ("tiny_transformer", (), ("1.0.0",))):
            path = EXAMPLES / f"{name}.onnx"
            done = self.run_command("calibrate", path, "--data", EXAMPLES / f"{name}.npz", "-o",
                                    "stats.json")
            self.assertEqual(done.returncode, DONE, done.stderr)
            common = (path, *STATIC, *options)
            statistics = ("--calibration", "stats.json")
            first = self.run_command("quantize", *common, "-o", "first.onnx", *statistics)
            self.assertEqual(first.returncode, DONE, first.stderr)
            for version in versions:
                with self.subTest(model=name, options=options, version=version):
                    self.run_command("encodings", "first.onnx", "-o", "made.encodings",
                                     "--version", version)
                    for extra in ((), statistics):
                        again = self.run_command("quantize", *common, "-o", "again.onnx",
                                                 "--encodings", "made.encodings", *extra)
                        self.assertEqual(again.returncode, DONE, again.stderr)
                        self.assertNotIn(b"not used", again.stderr)
                        self.assertEqual(self.bytes_of("again.onnx"), self.bytes_of("first.onnx"))

    def test_names_of_another_tool(self):
        self.put("theirs.onnx", of_another_tool())
        said = self.json_of("encodings", "theirs.onnx", "-o", "made.encodings")
        self.assertEqual((said["activations"], said["parameters"]), (2, 1))
        activations, parameters = self.entries("made.encodings")
        self.assertEqual({name: (entry["bw"], entry["scale"], entry["offset"])
                          for name, entry in activations.items()},
                         {"x": (8, [0.125], [-100]), "y": (8, [0.5], [-100])})
        self.assertEqual({name: (entry["bw"], entry["scale"], entry["offset"])
                          for name, entry in parameters.items()}, {"W": (8, [0.25], [-128])})

    def test_a_float_model_has_none(self):
        self.fails(USAGE, "no values that are quantized to integers", "encodings", self.model, "-o", "e.json")
        self.fails(USAGE, "is read", "encodings", self.model, "-o", self.model)

    def test_what_nothing_is_known_of_stays_float(self):
        some = self.put_encodings([("x", 0.5, 10), ("r", 0.25, 0)])
        self.fails(USAGE, "--calibration PATH", "quantize", self.model, "-o", "made.onnx", *STATIC)
        told = self.quantize(some)
        self.assertEqual(len(told), 2, told)
        self.assertIn("nothing is known of the range of 'y'", told[0])
        self.assertIn("by calibration", told[0])
        # What is excluded needs no range.
        self.assertEqual(len(self.quantize(some, "--exclude", "^(fc2|y)$")), 1)
        every = self.put_encodings([("x", 0.5, 10), ("r", 0.25, 0), ("y", 2, 100)])
        self.assertEqual(self.quantize(every), [])
        self.assertEqual(self.succeeds("encodings", "made.onnx", "-o", "made.encodings"),
                         "encodings of 3 activations and 2 parameters written to made.encodings\n")
        activations, parameters = self.entries("made.encodings")
        self.assertEqual({name: (entry["scale"], entry["offset"])
                          for name, entry in activations.items()},
                         {"x": ([0.5], [-10]), "r": ([0.25], [0]), "y": ([2.0], [-100])})
        self.assertEqual(set(parameters), {"fc1.weight", "fc2.weight"})

    def test_what_is_not_used_is_told(self):
        given = self.put_encodings([("x", 0.5, 10), ("r", 0.25, 0), ("y", 2, 100)],
                                   [("fc2.weight", 0.5, 128)])
        told = self.quantize(given, "--exclude", "fc2")
        self.assertEqual(len(told), 3, told)  # nobody reads the codes of r any more
        for line, name in zip(told, ("fc2.weight", "r", "y")):
            self.assertIn(name, line)
            self.assertIn("its encoding is not used", line)

    def test_mistakes(self):
        def fails(code, fragments, *arguments):
            self.fails(code, fragments, "quantize", self.model, "-o", "made.onnx", *STATIC,
                       "--encodings", "given.encodings", *arguments)
        known = [("x", 0.5, 10), ("r", 0.25, 0), ("y", 2, 100)]
        self.put_encodings([*known, ("fc1.wieght", 1, 0)])
        fails(USAGE, ["no value 'fc1.wieght'", "did you mean 'fc1.weight'", "given.encodings"])
        self.put_encodings([*known[:2], ("y", 2, 100, 16)])
        fails(IMPOSSIBLE, ["'y'", "codes of 16 bits", "8"])
        self.put_encodings([*known, ("h", 0.5, 0)])
        fails(IMPOSSIBLE, ["'h'", "'r'", "different ones are prescribed"])
        self.put_encodings(known)
        fails(USAGE, "optimize changes the values", "--optimize", "cle")
        self.fails(USAGE, "--encodings is an option of static_affine", "quantize", self.model, "-o",
                   "made.onnx", *SCHEME, "--encodings", "given.encodings")


if __name__ == "__main__":
    run_tests()
