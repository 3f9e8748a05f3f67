"""The four-phase readme's own code, as it stands, run as one scheme.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/readme_test.py

`four_phase_readme.md` has its blocks. Below is all that they leave open: names (`prelude`), bodies that are `...`
(`BODIES`), and the methods that the readme speaks of without writing them (`scheme_of`).
"""

import pathlib
import re
import unittest

import numpy as np
import quadrant as qd
from onnx import TensorProto, helper, numpy_helper
from quadrant import scheme

README = pathlib.Path(__file__).with_name("four_phase_readme.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)

WEIGHTS = np.array([[1.0, -2.0, 0.3], [0.5, 4.0, -1.0]], np.float32)
SCALE = np.float32(4.0 / 127)


def prelude():
    """The names that the readme uses and does not define."""
    names = {name: getattr(scheme, name) for name in scheme.__all__}
    names |= {
        "Graph": qd.Model,
        "SomeOp": scheme.Op.of("transpose"),
        "Op1": scheme.Op.of("identity"),
        "Op2": scheme.Op.of("flatten"),
        "Op3": scheme.Op.of("onnx.Relu"),
        "value1": 10,
        "value2": 200,
        "value3": 3000,
        "parent_name": 0,  # the first parent, whatever it is called
        "dequantize_op": scheme.Op.of("dequantize"),
        "transform_constraint": lambda constraint, node: constraint,
    }
    return names


# What stands for `...`, by the comment above it.
BODIES = {
    "# Custom logic for nodes without parents": "return node.value is not None and node.dtype == 'float32'",
    "# Backward propagation logic": "return callback(self, constraint, node, context)",
    "# Forward quantization computation": "return forward(self, node, context)",
    "# Graph rewriting logic": "return rewriter(self, node, context)",
    "# Methods can access self.param1 and self.buddy_op": """def callback(self, constraint, node, context):
        assert isinstance(node, self.buddy_op)
        parent = MyQuantizationConstraint(constraint.param + self.param1)
        return constraint if context.quantization_table[0].propagate_constraint(parent) else None

    def rewriter(self, node, context):
        return rewriter(self, node, context)""",
}


def readme():
    """The names that the readme defines, with those of the prelude."""
    names = prelude()
    for block in BLOCKS:
        code = block
        for comment, body in BODIES.items():
            code = re.sub(rf"({re.escape(comment)}\n +)\.\.\.", lambda match, body=body: match[1] + body, code)
        exec(compile(code, "the readme", "exec"), names)  # noqa: S102
        if "MyQuantizationConstraint" in names:
            names["specific_constraint"] = names["MyQuantizationConstraint"](5)
    return names


def scheme_of(names):
    """Adds the root, and the consumer that asks for `param` 5."""
    quantization, constraint = names["MyQuantization"], names["MyQuantizationConstraint"]

    @scheme.register_quantizer(quantization=quantization, op_type="constant")
    class Root(names["PlaceholderQuantizationMethod"]):
        def callback(self, constraint, node, context):
            return constraint

        def rewriter(self, node, context):
            codes = np.rint(node.value / SCALE).astype(np.int8)
            context.set_weight(node, codes, scheme.QuantizedType("int8", SCALE))

    @scheme.register_quantizer(quantization=quantization, op_type="matmul")
    class Matmul(names["MatmulQuantizationMethod"]):
        state = scheme.Consumer

        def request(self, node, context):
            context.quantization_table[1].propagate_constraint(constraint(5))

    return names


def model(*ops):
    """x times what `ops` make of the weights."""
    nodes, last = [], "w"
    for i, op in enumerate(ops):
        nodes.append(helper.make_node(op, [last], [f"v{i}"], f"n{i}"))
        last = f"v{i}"
    nodes.append(helper.make_node("MatMul", ["x", last], ["y"], "product"))
    graph = helper.make_graph(
        nodes, "readme",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(WEIGHTS, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class ReadmeTest(unittest.TestCase):
    def setUp(self):
        self.names = scheme_of(readme())

    def quantize(self, *ops):
        return self.names["quantize_with_my_method"](model(*ops).SerializeToString())

    def assert_computes(self, result, inputs, expected):
        """The written file."""
        found = qd.run(result.to_onnx(), {"x": inputs})["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_all_blocks_are_here(self):
        self.assertEqual(len(BLOCKS), 13)

    def test_declares_what_parents_must_be(self):
        one = (scheme.AnyQuantizable,)
        two = (scheme.AnyQuantizable, scheme.AnyQuantizable)
        self.assertEqual(self.names["PermuteQuantizationMethod"]._patterns, (one,))
        self.assertEqual(self.names["SomeOpQuantizationMethod"]._patterns, (one,))  # the later one of that name
        self.assertEqual(
            self.names["MatmulQuantizationMethod"]._patterns,
            (two, (scheme.AnyQuantizable, scheme.AnyUnquantized), (scheme.AnyUnquantized, scheme.AnyQuantizable)),
        )
        first, second = self.names["ExampleMethod"]._patterns[0]
        self.assertEqual((first.states, second), (1 << 1 | 1 << 4, scheme.AnyQuantizable))

    def test_a_request_travels_and_comes_true(self):
        result = self.quantize("Transpose")
        found = {value["value"]: (value["constraint"], value["gain"]) for value in result.plan["values"]}
        self.assertEqual(found, {"w": ("param=5", 1), "v0": ("param=5", 1)})
        self.assertEqual(result.plan["objective"], 1)  # the gain of the one consumer, once
        rounded = np.rint(WEIGHTS / SCALE) * SCALE
        self.assert_computes(result, WEIGHTS, WEIGHTS @ rounded.T)
        self.assertIn("asked for param=5 by product (operand 1): gain 1", result.explain("v0"))

    def test_parameters_are_injected(self):
        result = self.quantize("Identity", "Flatten", "Relu")
        found = {value["value"]: value["constraint"] for value in result.plan["values"]}
        self.assertEqual(found, {"v2": "param=5", "v1": "param=3005", "v0": "param=3205", "w": "param=3215"})
        rounded = np.rint(WEIGHTS / SCALE) * SCALE
        self.assert_computes(result, WEIGHTS.T, WEIGHTS.T @ np.maximum(rounded, 0))

    def test_what_is_not_registered_stays_float(self):
        result = self.quantize("Sigmoid", "Transpose")
        self.assertEqual(result.plan["values"], [])
        self.assertIn("Unquantized", result.explain("v0"))


if __name__ == "__main__":
    unittest.main()
