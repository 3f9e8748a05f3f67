"""`quadrant placement`: where a model can run, what loading costs there, and which file to ship.

    python3 tests/cli/placement_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import re
import struct

from command_case import (BAD_INPUT, DONE, INPUT_OUTPUT, SCHEME, USAGE, CommandTest, run_tests)
from onnx_writer import field, model, node, tensor, value_info

UINT8, INT8 = 2, 3
# Of the model that the command's tests share: x (16 x 32) and (32 x 8) weights.
ELEMENTS = 16 * 32 + 32 * 8


def integers(name, kind, dims, values):
    """A tensor of 8-bit integers."""
    return (b"".join(field(1, dim) for dim in dims) + field(2, kind) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}{'b' if kind == INT8 else 'B'}", *values)))


def fully_quantized(batch=1):
    """y = relu(x W), codes everywhere: x, W and y between QuantizeLinear and DequantizeLinear."""
    weight = [i % 17 - 8 for i in range(16 * 8)]
    return model(
        [node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
         node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
         node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
         node("MatMul", ["xd", "wd"], ["h"], "fc"), node("Relu", ["h"], ["r"], "act"),
         node("QuantizeLinear", ["r", "s", "z"], ["rq"]),
         node("DequantizeLinear", ["rq", "s", "z"], ["y"])],
        [tensor("s", [], [0.125]), integers("z", UINT8, [], [128]),
         tensor("ws", [], [0.25]), integers("wz", INT8, [], [0]),
         integers("w", INT8, [16, 8], weight)],
        [value_info("x", [batch, 16])], [value_info("y", [batch, 8])])


def same_in_floats():
    return model(
        [node("MatMul", ["x", "w"], ["h"], "fc"), node("Relu", ["h"], ["y"], "act")],
        [tensor("w", [16, 8], [(i % 17 - 8) / 4 for i in range(16 * 8)])],
        [value_info("x", [1, 16])], [value_info("y", [1, 8])])


class PlacementTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.codes = self.put("codes.onnx", fully_quantized())
        self.floats = self.put("floats.onnx", same_in_floats())

    def runtimes(self, *arguments):
        placed = self.json_of("placement", *arguments)["placement"]["runtimes"]
        return {runtime["runtime"]: runtime for runtime in placed}

    def table_rows(self, text):
        """Cells of all lines."""
        return [re.split(" {2,}", line.strip()) for line in text.splitlines()]

    def test_a_float_model(self):
        document = self.json_of("placement", self.model, "--throughput", 1000)
        self.assertEqual((document["model"], document["file_bytes"]),
                         (self.model, len(self.bytes_of(self.model))))
        self.assertEqual((document["other"], document["choice"], document["diagnostics"]),
                         (None, None, []))
        placement = document["placement"]
        self.assertEqual(placement["form"], "float")
        self.assertEqual(placement["parameters"],
                         {"count": 2, "elements": ELEMENTS, "bytes": 4 * ELEMENTS})
        self.assertEqual(placement["storage"], [
            {"form": "float", "element": "f32", "count": 2, "elements": ELEMENTS,
             "bytes": 4 * ELEMENTS}])
        self.assertEqual(placement["batch"],
                         {"state": "unknown", "inputs": [{"name": "x", "extent": None}]})
        self.assertEqual([constant["name"] for constant in placement["constants"]],
                         ["fc1.weight", "fc2.weight"])
        runtimes = {runtime["runtime"]: runtime for runtime in placement["runtimes"]}
        self.assertEqual({name: runtime["verdict"] for name, runtime in runtimes.items()},
                         {"CPU": "native", "GPU": "native", "DSP": "converted", "AIP": "refused"})
        written = ELEMENTS + 2 * 5  # codes, and for each weight a scale and a zero point
        self.assertEqual(runtimes["DSP"]["load"], {
            "converted": placement["parameters"], "bytes_read": 4 * ELEMENTS,
            "bytes_written": written, "seconds_estimated": ELEMENTS / 1000,
            "peak_bytes": 4 * ELEMENTS + written, "bytes_after": written})
        self.assertEqual(runtimes["CPU"]["load"]["peak_bytes"], 4 * ELEMENTS)
        self.assertIsNone(runtimes["AIP"]["load"])
        self.assertIn("2 of 2 parameters", runtimes["AIP"]["reason"])
        self.assertTrue(any("first axis" in note for note in placement["notes"]))

    def test_a_quantized_model(self):
        placement = self.json_of("placement", self.codes)["placement"]
        self.assertEqual((placement["form"], placement["batch"]["state"]), ("quantized", "1"))
        self.assertEqual(placement["activations"], {
            "count": 3, "quantized": 3, "unknown_type": 0, "first_unquantized": None})
        stored = 16 * 8 + 4 + 1
        self.assertEqual(placement["parameters"],
                         {"count": 1, "elements": 128, "bytes": stored})
        runtimes = {runtime["runtime"]: runtime for runtime in placement["runtimes"]}
        self.assertEqual({name: runtime["verdict"] for name, runtime in runtimes.items()},
                         {"CPU": "converted", "GPU": "converted", "DSP": "native",
                          "AIP": "native"})
        load = runtimes["GPU"]["load"]
        self.assertEqual((load["bytes_read"], load["bytes_written"], load["peak_bytes"],
                          load["bytes_after"]), (stored, 512, stored + 512, 512))
        self.assertTrue(runtimes["GPU"]["accuracy"]["float_may_be_better"])
        self.assertFalse(runtimes["GPU"]["execution_depends_on_form"])
        self.assertEqual(runtimes["AIP"]["subnets"], [
            {"runtime": "HTA", "uses": runtimes["AIP"]["subnets"][0]["uses"],
             "parameters": placement["parameters"], "nodes": ["fc", "act"]}])

    def test_weight_only(self):
        """Float activations: the DSP takes it, the AIP does not."""
        self.succeeds("quantize", self.model, "-o", "q.onnx", *SCHEME)
        runtimes = self.runtimes("q.onnx")
        self.assertEqual(runtimes["DSP"]["verdict"], "native")
        self.assertEqual(runtimes["AIP"]["verdict"], "refused")
        self.assertIn("activations are not quantized", runtimes["AIP"]["reason"])
        self.assertEqual(runtimes["AIP"]["refused_parameters"]["count"], 0)
        self.succeeds("quantize", self.model, "-o", "q4.onnx", *SCHEME, "--bits", 4)
        runtimes = self.runtimes("q4.onnx")
        self.assertEqual(runtimes["DSP"]["verdict"], "converted")
        self.assertEqual(runtimes["AIP"]["refused_parameters"]["count"], 2)

    def test_table(self):
        rows = self.table_rows(self.succeeds("placement", self.codes, "--throughput", 1e6))
        self.assertIn(["quantized", "i8", "1", "128", "133 B"], rows)
        self.assertIn(["CPU", "converted at load", "128", "133 B", "512 B", "128 us", "645 B",
                       "512 B"], rows)
        self.assertIn(["DSP", "native", "0", "0 B", "0 B", "0 s", "133 B", "133 B"], rows)
        self.assertIn(["activations", "3 of 3 quantized"], rows)
        self.assertEqual([row[:5] for row in rows if row[0] in ("HTA", "HNN")],
                         [["HTA", "1", "2", "1", "133 B"], ["HNN", "0", "0", "0", "0 B"]])
        text = self.succeeds("placement", self.model)
        self.assertIn(["AIP", "refused"], self.table_rows(text))
        self.assertIn("Time is an estimate", text)

    def test_runtimes(self):
        self.assertEqual(list(self.runtimes(self.codes, "--runtime", "dsp", "--runtime", "CPU")),
                         ["DSP", "CPU"])
        self.fails(USAGE, ["'DPS'", "did you mean 'DSP'"], "placement", self.codes, "--runtime",
                   "DPS")
        self.fails(USAGE, "twice", "placement", self.codes, "--runtime", "CPU", "--runtime", "cpu")

    def test_kinds_of_hta(self):
        subnets = self.runtimes(self.codes, "--hta", "matmul")["AIP"]["subnets"]
        self.assertEqual([(subnet["runtime"], subnet["nodes"]) for subnet in subnets],
                         [("HTA", ["fc"]), ("HNN", ["act"])])
        self.fails(USAGE, ["'matmull'", "did you mean 'matmul'"], "placement", self.codes, "--hta",
                   "conv,matmull")
        self.fails(USAGE, "AIP has", "placement", self.codes, "--hta", "conv", "--runtime", "CPU")

    def test_which_file(self):
        for call in ((self.floats, "--quantized", self.codes),
                     (self.codes, "--float", self.floats)):
            document = self.json_of("placement", *call)
            self.assertEqual((document["model"], document["other"]["model"]), (call[0], call[2]))
            choice = document["choice"]
            self.assertEqual(choice["ship"], "quantized")
            self.assertEqual(
                [(runtime["takes_float"], runtime["takes_quantized"], runtime["loads_faster"])
                 for runtime in choice["runtimes"]],
                [(True, True, "float")] * 2 + [(True, True, "quantized")]
                + [(False, True, "quantized")])
            smaller = len(self.bytes_of(self.codes)) < len(self.bytes_of(self.floats))
            self.assertEqual(choice["smaller"], "quantized" if smaller else "float")
        both = (self.floats, "--quantized", self.codes)
        text = self.succeeds("placement", *both, "--runtime", "DSP")
        self.assertIn("ship: quantized", text)
        self.put("large.onnx", same_in_floats() + field(6, "x" * 9999))  # doc_string
        self.assertIn("ship: either", self.succeeds("placement", "large.onnx", "--quantized",
                                                    self.codes, "--runtime", "GPU"))

    def test_files_that_are_not_what_they_should_be(self):
        self.fails(USAGE, ["floats.onnx", "no quantized parameters"], "placement", self.floats,
                   "--quantized", self.floats)
        self.fails(USAGE, ["codes.onnx", "has quantized parameters"], "placement", self.codes,
                   "--float", self.codes)
        result = self.run_command("placement", self.model, "--quantized", self.codes)
        self.assertEqual(result.returncode, DONE)
        self.assertRegex(result.stderr.decode(), r"\Awarning: codes.onnx: [^\n]*model.onnx[^\n]*\n")

    def test_data_beside_the_model(self):
        """The file's size is that of both."""
        self.put("wide.onnx", model(
            [node("MatMul", ["x", "w"], ["y"], "fc")],
            [tensor("w", [64, 64], [i % 7 / 4 for i in range(64 * 64)])],
            [value_info("x", [1, 64])], [value_info("y", [1, 64])]))
        self.succeeds("quantize", "wide.onnx", "-o", "q.onnx", *SCHEME, "--external-data")
        data = [name for name in self.files() if name.endswith(".data")]
        self.assertEqual(len(data), 1, self.files().keys())
        found = self.json_of("placement", "q.onnx")
        codes, parameters = len(self.bytes_of(data[0])), found["placement"]["parameters"]
        self.assertEqual(parameters, {"count": 1, "elements": 64 * 64,
                                      "bytes": 64 * 64 + 64 * (4 + 1)})
        self.assertGreaterEqual(found["file_bytes"], codes + len(self.bytes_of("q.onnx")))

    def test_models_without_weights(self):
        self.put("none.onnx", model([node("Relu", ["x"], ["y"], "act")], [],
                                    [value_info("x", ["n", 2])], [value_info("y", ["n", 2])]))
        placement = self.json_of("placement", "none.onnx")["placement"]
        self.assertEqual(placement["form"], "no parameters")
        self.assertEqual([runtime["verdict"] for runtime in placement["runtimes"]],
                         ["native", "native", "native", "refused"])
        self.assertIn("no parameters", self.succeeds("placement", "none.onnx"))

    def test_mistakes_in_the_call(self):
        self.fails(USAGE, "MODEL", "placement")
        self.fails(USAGE, "excludes", "placement", self.model, "--float", self.model,
                   "--quantized", self.model)
        self.fails(USAGE, "did you mean '--quantized'", "placement", self.model, "--quantised",
                   "x")
        self.fails(USAGE, "did you mean 'placement'", "placment", self.model)
        for throughput in ("0", "-1", "nan", "inf"):
            self.fails(USAGE, "above 0", "placement", self.model, "--throughput", throughput)
        for call in (("none.onnx",), (self.model, "--quantized", "none.onnx")):
            self.fails(INPUT_OUTPUT, "none.onnx", "placement", *call)
        self.put("text.onnx", b"no model")
        self.fails(BAD_INPUT, "text.onnx", "placement", "text.onnx")

    def test_names_cannot_reach_the_terminal(self):
        self.put("evil.onnx", model([node("Add", ["x", "w\x1b[2J"], ["y"])],
                                    [tensor("w\x1b[2J", [2], [1, 2])],
                                    [value_info("x", ["n", 2])], [value_info("y", ["n", 2])]))
        text = self.succeeds("placement", "evil.onnx")
        self.assertIn("w\\x1b[2J", text)
        self.assertNotIn("\x1b", text)


if __name__ == "__main__":
    run_tests()
