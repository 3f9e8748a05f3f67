"""The tool webnn_cases, on cases of our own, right and wrong, and on files that are none.

    python3 tests/webnn/cases_test.py path/to/webnn_cases

The expected outputs of cases/*.json were computed with NumPy. Needs Python's standard library alone.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
CASES = pathlib.Path(__file__).parent / "cases"
WRONG, BAD = 1, 2

TENSOR = {"dtype": "int8", "shape": [2], "values": [1, -2], "constant": False}
RELU = {
    "name": "relu",
    "tensors": {"x": TENSOR},
    "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"], "attributes": {}}],
    "outputs": ["y"],
    "expected_outputs": {"y": {"dtype": "int8", "shape": [2], "values": [1, 0]}},
}
SCALE = {"dtype": "float32", "shape": [1], "values": [0.5], "constant": True}
ZERO = {"dtype": "int8", "shape": [1], "values": [0], "constant": True}
RESULT = {"y": {"dtype": "int8", "shape": [2], "values": [3, -4]}}
SUM = {  # between codes
    "name": "sum",
    "tensors": {"x": TENSOR, "s": SCALE, "z": ZERO},
    "nodes": [
        {"op": "dequantizeLinear", "inputs": ["x", "s", "z"], "outputs": ["r"], "attributes": {}},
        {"op": "div", "inputs": ["r", "r"], "outputs": ["t"], "attributes": {}},
        {"op": "quantizeLinear", "inputs": ["t", "s", "z"], "outputs": ["y"], "attributes": {}},
    ],
    "outputs": ["y"],
    "result_without_fusion": {"y": {"dtype": "int8", "shape": [2], "values": [2, 2]}},
    "result_with_fusion": {"y": {"dtype": "int8", "shape": [2], "values": [2, 2]}},
    "emitted_ops": [{"op": "DIV", "inputs": ["int8[2] q(0.5,0)"], "outputs": ["int8[2] q(0.5,0)"],
                     "act": None, "pad": None}],
}


def changed(case, *path, to):
    """A copy in which what stands at `path` is `to`; what is None is left out."""
    result = copy.deepcopy(case)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    if to is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = to
    return result


class CasesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "cases.json"

    def run_tool(self, *arguments):
        done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertIn(done.returncode, (0, WRONG, BAD), done.stderr)
        return done

    def run_text(self, text, *arguments):
        self.file.write_text(text, encoding="utf-8")
        return self.run_tool(self.file, *arguments)

    def run_cases(self, *cases, arguments=()):
        return self.run_text(json.dumps({"source": "a test", "cases": cases}), *arguments)

    def assert_bad(self, case, message):
        done = self.run_cases(case)
        self.assertEqual(done.returncode, BAD, done.stdout)
        self.assertIn(message, done.stdout + done.stderr)

    def test_own_cases_are_right(self):
        for path in sorted(CASES.glob("*.json")):
            count = len(json.loads(path.read_text(encoding="utf-8"))["cases"])
            with self.subTest(path.name):
                done = self.run_tool(path)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn(f"{count} compared", done.stdout)
                self.assertNotRegex(done.stdout, "DIFFERS|FAILED|MISSED|: no graph")

    def test_wrong_results_are_found(self):
        """Each expectation is changed: whatever a case expects is compared."""
        for path in sorted(CASES.glob("*.json")):
            cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
            for case in cases:
                result = list(case["expected_outputs"].values())[-1]
                values = result["values"]
                flat = result["dtype"] in ("bool", "uint8", "uint4", "int4")
                values[-1] = values[-1] ^ 2 if flat else values[-1] + (-40 if values[-1] > 60 else 40)
            with self.subTest(path.name):
                done = self.run_cases(*cases)
                self.assertEqual(done.returncode, WRONG, done.stdout)
                self.assertEqual(done.stdout.count("DIFFERS"), len(cases))

    def test_one_step_is_no_mistake(self):
        for value, code in ((2, 0), (3, WRONG)):
            done = self.run_cases(changed(RELU, "expected_outputs", "y", "values", 0, to=value))
            self.assertEqual(done.returncode, code)

    def test_truth_is_what_is_not_fused(self):
        case = {**RELU, "result_without_fusion": RESULT}
        self.assertEqual(self.run_cases(case).returncode, WRONG)
        self.assertEqual(self.run_cases({**case, "expected_outputs": RESULT,
                                         "result_without_fusion": RELU["expected_outputs"]}
                                        ).returncode, 0)
        done = self.run_cases(changed(RELU, "expected_outputs", to=None))
        self.assertEqual(done.returncode, 0)
        self.assertIn("0 compared", done.stdout)

    def test_types_and_shapes_are_compared(self):
        for path, value in (("dtype", "int32"), ("shape", [1, 2])):
            done = self.run_cases(changed(RELU, "expected_outputs", "y", path, to=value))
            self.assertEqual(done.returncode, WRONG)
            self.assertIn("inf", done.stdout)

    def test_browser(self):
        """There is no integer kernel that divides, so that it stands for a fusion that is missed."""
        done = self.run_cases(SUM)
        self.assertEqual(done.returncode, WRONG)
        self.assertIn("browser: fused", done.stdout)
        self.assertIn("MISSED div", done.stdout)
        wrong = changed(SUM, "result_with_fusion", "y", "values", to=[2, 10])
        done = self.run_cases(wrong)
        self.assertEqual(done.returncode, 0)
        self.assertIn("browser: fused, wrong by 8", done.stdout)
        real = changed(SUM, "emitted_ops", 0, "outputs", 0, to="float32[2]")
        done = self.run_cases(real)
        self.assertEqual(done.returncode, 0)
        self.assertIn("browser: not fused", done.stdout)
        failed = changed({**SUM, "fused_build_error": "no"}, "result_with_fusion", to=None)
        done = self.run_cases(failed)
        self.assertEqual(done.returncode, 0)
        self.assertIn("browser: build error", done.stdout)
        self.assertRegex(done.stdout, "1 build errors")

    def test_only(self):
        done = self.run_cases(RELU, SUM, arguments=("--only", "relu"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 cases", done.stdout)
        self.assertEqual(self.run_cases(RELU, arguments=("--only", "x")).returncode, BAD)

    def test_print(self):
        done = self.run_cases(RELU, arguments=("--print",))
        self.assertEqual(done.stdout.count("%y: tensor<2xi8> = onnx.Relu(%x)"), 2)

    def test_calls(self):
        done = self.run_tool("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage", done.stdout)
        for arguments in ((), ("--only",), ("a", "b"), ("--what",), ("a", "--write")):
            done = self.run_tool(*arguments)
            self.assertEqual(done.returncode, BAD, arguments)
            self.assertIn("usage", done.stderr)
        self.assertEqual(self.run_tool(self.file.with_name("missing")).returncode, BAD)
        self.assertEqual(self.run_tool(self.file.parent).returncode, BAD)

    def test_what_is_no_file_of_cases(self):
        for text in ("", "{", "[]", "1", "{}", '{"cases": 1}', '{"cases": [1]}',
                     '{"cases": [{}]}', '{"a": [], "a": []}', "[" * 1000, '{"cases": [{"name": 1}]}'):
            done = self.run_text(text)
            self.assertEqual(done.returncode, BAD, text)
            self.assertTrue(done.stderr)
        self.assertEqual(self.run_text('{"cases": []}').returncode, 0)

    def test_wrong_members(self):
        for path, value, message in (
                (("tensors",), None, "tensors"), (("tensors",), [], "expected an object"),
                (("tensors", "x"), 1, "expected an object"),
                (("tensors", "x", "dtype"), "int3", "no type"),
                (("tensors", "x", "dtype"), 3, "expected a string"),
                (("tensors", "x", "shape"), [-1], "$.cases[0].tensors"),
                (("tensors", "x", "shape"), [3], "2 values"),
                (("tensors", "x", "shape"), [2**31, 2**31, 2**31], "2 values"),
                (("tensors", "x", "shape"), [2**60], "2 values"),
                (("tensors", "x", "values"), 1, "expected an array"),
                (("tensors", "x", "values"), [1, 128], "element 1 is no int8"),
                (("tensors", "x", "values"), [1, 0.5], "element 1 is no int8"),
                (("tensors", "x", "values"), ["a", 1], "element 0 is no int8"),
                (("tensors", "x", "values"), [[], 1], "element 0 is no int8"),
                (("tensors", "x", "constant"), 1, "true or false"),
                (("nodes",), {}, "expected an array"), (("nodes", 0), [], "expected an object"),
                (("nodes", 0, "op"), None, "'op' is missing"),
                (("nodes", 0, "inputs"), "x", "expected an array"),
                (("nodes", 0, "attributes"), [], "expected an object"),
                (("outputs",), [], "there are none"), (("outputs",), [1], "expected a string"),
                (("expected_outputs",), [], "expected an object"),
                (("expected_outputs", "y", "values"), None, "expected an array"),
                (("name",), None, "'name' is missing")):
            with self.subTest(path=path, value=value):
                self.assert_bad(changed(RELU, *path, to=value), message)
        self.assert_bad({**RELU, "emitted_ops": [{"op": 1}]}, "emitted_ops[0]")
        self.assert_bad({**RELU, "fused_build_error": 1}, "expected a string")
        for dtype, value in (("int4", 8), ("uint4", -1), ("uint8", 256), ("bool", 2),
                             ("int32", 2**31), ("uint64", -1), ("int64", 2**63),
                             ("float32", "1"), ("float16", None)):
            tensor = {**TENSOR, "dtype": dtype, "values": [0, value]}
            self.assert_bad(changed(RELU, "tensors", "x", to=tensor), f"is no {dtype}")

    def test_what_is_no_graph(self):
        for path, value, message in (
                (("op",), "lstm", "not known"), (("inputs",), ["z"], "no 'z'"),
                (("inputs",), ["y"], "no 'y'"), (("inputs",), [], "inputs"),
                (("inputs",), [""], "inputs"), (("inputs",), ["x", "x"], "inputs"),
                (("outputs",), ["y", "z"], "names"), (("outputs",), [], "names"),
                (("outputs",), ["x"], "twice"), (("outputs",), [""], "empty"),
                (("attributes",), {"alpha": 1}, "unknown key")):
            with self.subTest(path=path, value=value):
                self.assert_bad(changed(RELU, "nodes", 0, *path, to=value), message)
        self.assert_bad(changed(RELU, "outputs", to=["q"]), "no 'q'")
        done = self.run_cases(changed(RELU, "nodes", 0, "op", to="lstm"), RELU)
        self.assertIn("2 cases", done.stdout)  # the other is run

    def test_wrong_operations(self):
        """Attributes and shapes that make no sense: of each, an error and no crash."""
        huge = 2**32 - 1
        for op, extents, attributes in (
                ("reshape", [[2]], {}), ("reshape", [[2]], {"newShape": [3]}),
                ("reshape", [[2]], {"newShape": [huge, huge]}),
                ("reshape", [[2]], {"newShape": [-1]}), ("reshape", [[2]], {"newShape": 2}),
                ("tile", [[2]], {"repetitions": [2, 2]}),
                ("expand", [[2]], {"newShape": [3]}),
                ("transpose", [[2, 2]], {"permutation": [0, 0]}),
                ("transpose", [[2, 2]], {"permutation": [0]}),
                ("transpose", [[2, 2]], {"permutation": [0, 2]}),
                ("concat", [[2], [3]], {}), ("concat", [[2], [3]], {"axis": 1}),
                ("concat", [[2], [3, 1]], {"axis": 0}),
                ("split", [[2]], {"splits": 3}), ("split", [[2]], {"splits": 0}),
                ("split", [[2]], {"splits": [2], "axis": 5}), ("split", [[2]], {"splits": [3]}),
                ("slice", [[2]], {"starts": [0]}), ("slice", [[2]], {"starts": [1], "sizes": [2]}),
                ("slice", [[2]], {"starts": [0], "sizes": [1], "strides": [0]}),
                ("pad", [[2]], {"beginningPadding": [1], "endingPadding": [1], "mode": "what"}),
                ("pad", [[2]], {"beginningPadding": [1, 1], "endingPadding": [1]}),
                ("pad", [[2]], {"beginningPadding": [huge], "endingPadding": [huge]}),
                ("reverse", [[2]], {"axes": [1]}), ("reduceSum", [[2]], {"axes": [0, 0]}),
                ("argMax", [[2]], {}), ("argMax", [[2]], {"axis": 1}),
                ("argMax", [[2]], {"axis": 0, "outputDataType": "text"}),
                ("cumulativeSum", [[2]], {"axis": 7}), ("softmax", [[2]], {"axis": 3}),
                ("cast", [[2]], {}), ("cast", [[2]], {"type": "int3"}),
                ("add", [[2], [3]], {}), ("matmul", [[2, 3], [2, 3]], {}),
                ("gemm", [[2, 3], [2, 3]], {}), ("gemm", [[2], [2]], {}),
                ("gemm", [[2, 3], [3, 2], [5]], {}), ("gemm", [[2, 3], [3, 2]], {"c": "nothing"}),
                ("conv2d", [[1, 1, 2, 2]], {}), ("conv2d", [[2], [2]], {}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 3, 3]], {}),
                ("conv2d", [[1, 2, 2, 2], [1, 1, 1, 1]], {}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"groups": 0}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"groups": -1}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"strides": [0, 0]}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"padding": [1]}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"padding": [huge] * 4}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"inputLayout": "what"}),
                ("conv2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"filterLayout": "what"}),
                ("convTranspose2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"outputSizes": [9, 9]}),
                ("convTranspose2d", [[1, 1, 2, 2], [1, 1, 1, 1]], {"strides": [huge, huge]}),
                ("maxPool2d", [[2]], {}), ("maxPool2d", [[1, 1, 2, 2]], {"windowDimensions": [3, 3]}),
                ("maxPool2d", [[1, 1, 2, 2]], {"windowDimensions": [0, 0]}),
                ("maxPool2d", [[1, 1, 2, 2]], {"strides": [0, 0]}),
                ("maxPool2d", [[1, 1, 2, 2]], {"outputSizes": [7, 7]}),
                ("averagePool2d", [[1, 1, 2, 2]], {"roundingType": "what"}),
                ("resample2d", [[2]], {}), ("resample2d", [[1, 1, 2, 2]], {"scales": [0, 1]}),
                ("resample2d", [[1, 1, 2, 2]], {"scales": [1e300, 1]}),
                ("resample2d", [[1, 1, 2, 2]], {"sizes": [huge, huge]}),
                ("resample2d", [[1, 1, 2, 2]], {"axes": [0, 9]}),
                ("resample2d", [[1, 1, 2, 2]], {"mode": "what"}),
                ("batchNormalization", [[1, 2], [3], [3]], {}),
                ("batchNormalization", [[1, 2], [2], [2]], {"axis": -1}),
                ("batchNormalization", [[1, 2], [2, 1], [2]], {}),
                ("instanceNormalization", [[2]], {}),
                ("layerNormalization", [[2, 2], [3]], {}),
                ("layerNormalization", [[2, 2]], {"axes": [2]}),
                ("gather", [[2], [1]], {}), ("triangular", [[2]], {}),
                ("dequantizeLinear", [[2], [2]], {}), ("quantizeLinear", [[4], [3], [3]], {}),
                ("quantizeLinear", [[4], [2, 2], [2, 2]], {}), ("clamp", [[2]], {"minValue": "a"})):
            tensors = {}
            for i, shape in enumerate(extents):
                count = 1
                for extent in shape:
                    count *= extent
                tensors[f"x{i}"] = {"dtype": "float32", "shape": shape, "values": [0.5] * count,
                                    "constant": i > 0}
            case = {**RELU, "tensors": tensors,
                    "nodes": [{"op": op, "inputs": list(tensors), "outputs": ["y"],
                               "attributes": attributes}]}
            with self.subTest(op=op, attributes=attributes, extents=extents):
                self.assert_bad(case, f"{op}#0")

    def test_no_graph_to_the_browser_either(self):
        case = changed({**RELU, "fused_build_error": "no"}, "expected_outputs", to=None)
        done = self.run_cases(changed(case, "nodes", 0, "op", to="lstm"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("nor to the browser", done.stdout)

    def test_last_line(self):
        done = self.run_cases(RELU)
        self.assertTrue(re.match(r"1 cases: 0 fused, .* 1 with nothing to fuse;.* 0 failures ",
                                 done.stdout.splitlines()[-1]), done.stdout)


if __name__ == "__main__":
    unittest.main()
