"""Schemes written in Python: the built-in scheme's bytes, answers against a brute-force reader, and what goes wrong.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/scheme_test.py
"""

import dataclasses
import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref

import numpy as np
import onnx
import quadrant as qd
from _package import DIGITS, EXAMPLES, ROOT, PackageTest, two_layers
from onnx import TensorProto, helper, numpy_helper
from quadrant.scheme import (
    AnyQuantizable,
    AnyState,
    Consumer,
    Op,
    Quantizable,
    Quantization,
    QuantizationConstraint,
    QuantizationMethod,
    Quantized,
    QuantizedType,
    Unquantized,
    encode,
    quantise_graph,
    register_dequantizer,
    register_parameterized,
    register_quantizer,
    requires_parents,
    variadic,
)

sys.path.insert(0, str(ROOT / "examples" / "python"))
from weight_only_channel_wise import quantize_weight_only  # noqa: E402

TRANSFORMER = str(EXAMPLES / "tiny_transformer.onnx")


def made(nodes, inputs, outputs, weights):
    """A ModelProto; inputs and outputs are names, of any shape where none is given."""

    def ports(given):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in given.items()]

    graph = helper.make_graph(
        [helper.make_node(op, reads, makes, f"{op}_{makes[0]}", **rest) for op, reads, makes, rest in nodes],
        "test", ports(inputs), ports(outputs), [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("test", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


class Form(QuantizationConstraint):
    def __init__(self, number, gain=1):
        self.number = number
        self.gain = gain


def scheme_of(**methods):
    """A new scheme with methods by operation, `__` for a dot in its name."""

    class Tried(Quantization):
        pass

    for op, method in methods.items():
        register_quantizer(quantization=Tried, op_type=op.replace("__", "."))(method)
    return Tried


class Root(QuantizationMethod):
    """Weights take any form; codes are of step 1/16."""

    def check_eligibility(self, node, context):
        return node.dtype == "float32"

    def callback(self, constraint, node, context):
        return constraint

    def rewriter(self, node, context):
        codes = np.rint(node.value * 16).clip(-128, 127).astype(np.int8)
        context.set_weight(node, codes, QuantizedType("int8", 1 / 16))


@requires_parents(variadic(AnyState))
class Asker(QuantizationMethod):
    """Asks for form 1 of its last parent."""

    state = Consumer

    def request(self, node, context):
        context.quantization_table[len(node.parents) - 1].propagate_constraint(Form(1))


def quantize(model, quantization, **options):
    return quantise_graph(graph=model, quantization=quantization(), **options)


def selected(result):
    return {value["value"]: value["constraint"] for value in result.plan["values"]}


class SameBytesTest(PackageTest):
    """examples/python/weight_only_channel_wise.py as the built-in scheme, of which it shares no line."""

    def check(self, model, weights=None):
        ours, theirs = quantize_weight_only(model), qd.quantize(model, "weight-only")
        ours.save(self.path("ours.onnx"))
        theirs.save(self.path("theirs.onnx"))
        self.assertEqual((self.folder / "ours.onnx").read_bytes(), (self.folder / "theirs.onnx").read_bytes())

        def values(result):
            return [(value["value"], value["constraint"], value["gain"]) for value in result.plan["values"]]

        self.assertEqual(values(ours), values(theirs))
        self.assertEqual(ours.plan["objective"], theirs.plan["objective"])
        if weights is not None:
            self.assertEqual(selected(ours), weights)

    def test_examples(self):
        self.check(DIGITS)
        self.check(TRANSFORMER)

    def test_products(self):
        for flipped_a, flipped_b in itertools.product((0, 1), repeat=2):
            a, b = (5, 7)[:: 1 - 2 * flipped_a], (7, 3)[:: 1 - 2 * flipped_b]
            nodes = [("Gemm", ["x", "b", "c"], ["y"], {"transA": flipped_a, "transB": flipped_b}),
                     ("Gemm", ["a", "z"], ["u"], {"transA": flipped_a, "transB": flipped_b})]
            model = made(nodes, {"x": a, "z": b}, {"y": None, "u": None},
                         {"a": numbers(*a), "b": numbers(*b), "c": numbers(3)})
            self.check(model, {"a": f"axis={flipped_a}", "b": f"axis={1 - flipped_b}"})

    def test_convolutions(self):
        nodes = [("Conv", ["x", "w", "b"], ["h"], {}), ("Conv", ["h", "v"], ["y"], {"group": 4})]
        weights = {"w": numbers(8, 3, 3, 3), "b": numbers(8), "v": numbers(8, 2, 3, 3)}
        self.check(made(nodes, {"x": [1, 3, 9, 9]}, {"y": None}, weights), {"w": "axis=0", "v": "axis=0"})

    def test_what_moves_elements(self):
        # [2, 3, 4] -> [4, 3, 2] -> [4, 1, 3, 2] -> [4, 3, 2] -> [4, 6]: columns are spread over two axes then.
        nodes = [("Transpose", ["w"], ["a"], {"perm": [2, 1, 0]}), ("Unsqueeze", ["a", "one"], ["b"], {}),
                 ("Squeeze", ["b", "one"], ["c"], {}), ("Identity", ["c"], ["d"], {}),
                 ("MatMul", ["x", "d"], ["y"], {}), ("Reshape", ["d", "shape"], ["e"], {}),
                 ("MatMul", ["e", "z"], ["u"], {})]
        weights = {"w": numbers(2, 3, 4), "one": np.array([1]), "shape": np.array([4, 6])}
        model = made(nodes, {"x": [4, 5, 3], "z": [6, 2]}, {"y": None, "u": None}, weights)
        self.check(model)

    def test_ties_and_channels_of_zeros(self):
        weight = numbers(6, 6)
        weight[:, 2] = 0
        weight[3] = 1e-41
        nodes = [("MatMul", ["x", "w"], ["y"], {}), ("MatMul", ["w", "x"], ["z"], {}),
                 ("Gather", ["w", "i"], ["r"], {})]
        self.check(made(nodes, {"x": [6, 6]}, {"y": None, "z": None, "r": None}, {"w": weight, "i": np.array([1, 2])}))

    def test_weights_that_are_not_finite(self):
        weight = numbers(4, 4)
        weight[1, 1] = np.nan
        nodes = [("MatMul", ["x", "w"], ["h"], {}), ("MatMul", ["h", "v"], ["y"], {})]
        model = made(nodes, {"x": [4, 4]}, {"y": None}, {"w": weight, "v": numbers(4, 4)})
        self.assert_fails("impossible", ["it holds NaN or infinity"], lambda: quantize_weight_only(model), tensor="w")
        result = quantize_weight_only(model, non_finite="leave")
        self.assertEqual(selected(result), {"v": "axis=1"})
        self.assertIn("NaN", result.explain("w"))


class DecisionTest(PackageTest):
    def test_plans_are_followed(self):
        result = quantize_weight_only(TRANSFORMER)
        self.assertEqual(quantize_weight_only(TRANSFORMER, plan=result.plan).to_onnx(), result.to_onnx())
        part = result.plan | {"values": [v for v in result.plan["values"] if v["value"] == "embedding.weight"]}
        self.assertEqual(selected(quantize_weight_only(TRANSFORMER, plan=part)), {"embedding.weight": "axis=0"})
        part["values"][0]["constraint"] = "axis=7"
        self.assert_fails("impossible", ["axis=7"], lambda: quantize_weight_only(TRANSFORMER, plan=part))

    def test_scope_and_policy(self):
        model = two_layers()
        result = quantize_weight_only(model, exclude="fc1")
        self.assertEqual(selected(result), {"fc2.weight": "axis=1"})
        self.assertIn("1 of 2 eligible weights", str(result))
        self.assertEqual(selected(quantize_weight_only(model, include="fc1")), {"fc1.weight": "axis=1"})
        best = quantize_weight_only(TRANSFORMER, policy="optimal").plan
        self.assertGreaterEqual(best["objective"], quantize_weight_only(TRANSFORMER).plan["objective"])
        self.assert_fails("usage", ["no_such"], lambda: quantize_weight_only(model, exclude="no_such"))

    def test_says_why(self):
        result = quantize_weight_only(two_layers())
        self.assertIn("asked for axis=1 by fc1 (operand 1)", result.explain("fc1.weight"))
        self.assertEqual(result.summary()["quantized_after"]["count"], 2)
        self.assertIn("fc1.weight", result.report().html)
        self.assertEqual(result.plan["schemes"], [{"name": "WeightOnlyChannelWise", "options": ""}])

    def test_constraints_with_slots_differ(self):
        @dataclasses.dataclass(slots=True, eq=False)
        class Slotted(QuantizationConstraint):
            number: int
            gain: int = 1

        class Private(QuantizationConstraint):
            __slots__ = ("__number",)

            def __init__(self, number):
                self.__number = number

        self.assertNotEqual(Private(1), Private(2))
        self.assertEqual(Private(1), Private(1))
        self.assertEqual(str(Slotted(3)), "number=3")
        self.assertEqual(Slotted(1), Slotted(1, gain=2))
        self.assertEqual(hash(Form(1)), hash(Form(1)))
        self.assertIn(Form(1), [Form(0), Form(1)])
        self.assertEqual(repr(Form(2)), "Form(number=2)")
        for different in (Slotted(2), Form(1), 1):
            self.assertNotEqual(Slotted(1), different)
            self.assertFalse(type(different) is Slotted and Slotted(1).check(different))

    def test_why_eligibility_says_no(self):
        class Never(Root):
            def check_eligibility(self, node, context):
                return False

        result = quantize(two_layers(), scheme_of(constant=Never))
        self.assertIn("Never.check_eligibility says no", result.explain("fc1.weight"))

    def test_states_of_all_parents(self):
        seen = []

        class Looking(Asker):
            def request(self, node, context):
                seen.append((len(context.quantization_table), [type(state) for state in context.quantization_table], node))

        quantize(two_layers(), scheme_of(constant=Root, matmul=requires_parents(AnyState, AnyState)(Looking)))
        self.assertEqual({(count, len(states)) for count, states, _ in seen}, {(2, 2)})
        self.assertEqual(repr(seen[0][2]), "<quadrant.Op of a hook that has returned>")

    def test_gains_are_those_of_constraints(self):
        def asking(*gains):
            class Asks(Asker):
                def request(self, node, context):
                    for number, gain in gains:
                        context.quantization_table[1].propagate_constraint(Form(number, gain))

            return Asks

        model = made([("MatMul", ["x", "w"], ["y"], {}), ("Gemm", ["x", "w"], ["z"], {})], {"x": [2, 2]},
                     {"y": None, "z": None}, {"w": numbers(2, 2)})

        def chosen(first, second, **options):
            result = quantize(model, scheme_of(constant=Root, matmul=asking(*first), gemm=asking(*second)), **options)
            value = result.plan["values"][0]
            return value["constraint"], value["gain"], result.plan["objective"]

        self.assertEqual(chosen([(1, 5)], [(2, 4)]), ("number=1", 5, 5))
        self.assertEqual(chosen([(1, 5), (2, 2)], [(2, 4)]), ("number=2", 6, 6))  # equal constraints add up
        self.assertEqual(chosen([(1, 5)], [(2, 4)], gain="unit"), ("number=1", 1, 1))
        # Of equal gains the smaller number wins, whoever asks first.
        self.assertEqual(chosen([(10, 3)], [(9, 3)])[0], "number=9")
        self.assertEqual(chosen([(9, 3)], [(10, 3)])[0], "number=9")

    def test_forward_withholds(self):
        class Withholding(Root):
            def forward(self, node, context):
                return Unquantized("not today") if node.name == "w" else Quantizable([Form(1)])

        class Passing(QuantizationMethod):
            seen = []

            def callback(self, constraint, node, context):
                return constraint if context.quantization_table["w"].propagate_constraint(constraint) else None

            def forward(self, node, context):
                parent = context.quantization_table[node._parents[0]]
                self.seen.append(type(parent).__name__)
                return Quantizable([parent.constraint]) if isinstance(parent, Quantized) else Unquantized("a float")

            def rewriter(self, node, context):
                context.quantization_table[node.name] = Quantized(constraint=...)

        nodes = [("Transpose", ["w"], ["t"], {}), ("MatMul", ["x", "t"], ["y"], {})]
        model = made(nodes, {"x": [2, 2]}, {"y": None}, {"w": numbers(2, 2)})
        methods = {"transpose": requires_parents(AnyQuantizable)(Passing), "matmul": Asker}
        result = quantize(model, scheme_of(constant=Withholding, **methods))
        self.assertEqual(selected(result), {})
        self.assertIn("not today", result.explain("w"))
        self.assertIn("a float", result.explain("t"))
        result = quantize(model, scheme_of(constant=Root, **methods))
        self.assertEqual(selected(result), {"w": "number=1", "t": "number=1"})
        self.assertEqual(Passing.seen, ["Unquantized", "ToQuantize"])


class AnswersTest(PackageTest):
    """Parents' answers come after `callback` was called, and yet it is as if they had been known."""

    @staticmethod
    def accepts(op, answers):
        """`answers` are functions: what an operation asks depends on what it heard."""
        a, b, c = answers
        if op == "Or":
            return a() or b() or c()
        if op == "And":
            return a() and b() and c()
        return b() if a() else c()

    def model(self, chance):
        """Operations on the three values before, or others; and which of the weights are willing."""
        names = [f"w{i}" for i in range(6)]
        willing = {name: chance.random() < 0.5 for name in names}
        nodes = []
        for i in range(12):
            op = chance.choice(["Or", "And", "Choice"])
            nodes.append((op, chance.sample(names, 3), [f"v{i}"], {"domain": "test"}))
            names.append(f"v{i}")
        return nodes, willing

    def test_random_graphs(self):
        class Willing(Root):
            def callback(self, constraint, node, context):
                return constraint if willing[node.name] else None

        class Computing(QuantizationMethod):
            def callback(self, constraint, node, context):
                def ask(i):
                    return lambda: context.quantization_table[i].propagate_constraint(constraint)

                op = node.kind.split("::")[1]
                return constraint if AnswersTest.accepts(op, [ask(i) for i in range(3)]) else None

            def rewriter(self, node, context):
                context.set_type(node, QuantizedType("int8", 1))

        kinds = {f"onnx__test::{op}": Computing for op in ("Or", "And", "Choice")}
        scheme = scheme_of(constant=Willing, onnx__Relu=Asker, **kinds)
        outcomes = []
        for seed in range(60):
            nodes, willing = self.model(random.Random(seed))
            known = dict(willing)
            for op, reads, (name,), _ in nodes:
                a, b, c = (known[read] for read in reads)
                # What a parent can hold it need not hold: a "no" of its can always be had.
                known[name] = {"Or": a or b or c, "And": a and b and c, "Choice": (a and b) or c}[op]
            nodes.append(("Relu", ["v11"], ["y"], {}))
            model = onnx.load_from_string(made(nodes, {}, {"y": [1]}, {name: numbers(1) for name in willing}))
            model.graph.value_info.extend(
                helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [1]) for i in range(12))
            self.assertEqual("v11" in selected(quantize(model, scheme)), known["v11"], f"seed {seed}")
            outcomes.append(known["v11"])
        self.assertIn(True, outcomes)
        self.assertIn(False, outcomes)

    def test_many_parents(self):
        class Joining(QuantizationMethod):
            calls = 0

            def callback(self, constraint, node, context):
                type(self).calls += 1
                table = context.quantization_table
                return constraint if all(table[p].propagate_constraint(constraint) for p in node.parents) else None

            def rewriter(self, node, context):
                context.set_type(node, node.parents[0].type)

        weights = {f"w{i}": numbers(2, 2, seed=i) for i in range(300)}
        nodes = [("Concat", list(weights), ["c"], {"axis": 0}), ("Relu", ["c"], ["y"], {})]
        result = quantize(made(nodes, {}, {"y": None}, weights),
                          scheme_of(constant=Root, concat=requires_parents(variadic(AnyQuantizable))(Joining),
                                    onnx__Relu=Asker))
        self.assertEqual(len(selected(result)), 301)
        self.assertLessEqual(Joining.calls, 64)


class RewritingTest(PackageTest):
    def test_the_library_encodes(self):
        class Encoding(Root):
            def storage(self, constraint, node):
                return 2, 1

            def rewriter(self, node, context):
                context.set_weight(node, *encode(node.value, "nf4", axis=1, block_axis=0))

        model = two_layers(width=64, hidden=64)
        ours = quantize(model, scheme_of(constant=Encoding, matmul=Asker))
        theirs = qd.quantize(model, "weight-only", type="nf4")
        self.assertEqual(ours.to_onnx(), theirs.to_onnx())

    def test_types_of_codes(self):
        weight = numbers(4, 6)
        scales = np.abs(weight.reshape(2, 2, 6)).max(1) / 7
        points = np.full((2, 6), 1, np.int8)
        codes = (np.rint(weight / scales.repeat(2, 0)) + 1).clip(-8, 7).astype(np.int8)
        kind = QuantizedType("int4", scales, axis=0, block_size=2, zero_points=points)

        class Blocks(Root):
            def rewriter(self, node, context):
                context.set_weight(node, codes, kind)
                self.quantization.seen = node.type

        quantization = scheme_of(constant=Blocks, matmul=Asker)()
        model = made([("MatMul", ["x", "w"], ["y"], {})], {"x": [4, 4]}, {"y": None}, {"w": weight})
        result = quantise_graph(graph=model, quantization=quantization)
        seen = quantization.seen
        self.assertEqual((seen.dtype, seen.axis, seen.block_size, seen.range, seen.expressed),
                         ("int4", 0, 2, (-8, 7), "float32"))
        np.testing.assert_array_equal(seen.scales, scales)
        np.testing.assert_array_equal(seen.zero_points, points)
        found = qd.run(result.model, {"x": np.eye(4, dtype=np.float32)})["y"]
        np.testing.assert_allclose(found, (codes - 1.0) * scales.repeat(2, 0), rtol=1e-6)

    def test_operations_are_emitted(self):
        class Behind(Asker):
            """Multiplies by the scale behind the product, which reads codes as floats."""

            def request(self, node, context):
                context.quantization_table["w"].propagate_constraint(Form(1), codes=True)

            def rewriter(self, node, context):
                if context.read(1) is None:
                    return
                x, codes = node.parents
                floats = context.emit("dequantize", [context.relabel(codes, QuantizedType("int8", 1))])
                product = context.emit("matmul", [x, floats], shape=node.shape)
                scale = context.emit_constant(codes.type.scales, name="scale")
                context.replace(node, context.emit("multiply", [product, scale], shape=node.shape))

        model = made([("MatMul", ["x", "w"], ["y"], {})], {"x": [3, 4]}, {"y": None}, {"w": numbers(4, 5)})
        result = quantize(model, scheme_of(constant=Root, matmul=Behind))
        inputs = numbers(3, 4, seed=1)
        found = qd.run(result.to_onnx(), {"x": inputs})["y"]
        np.testing.assert_allclose(found, inputs @ np.rint(numbers(4, 5) * 16) / 16, rtol=1e-5)

    def test_dequantizers(self):
        class Doubling(Root):
            pass

        quantization = scheme_of(constant=Doubling, matmul=Asker)

        @register_dequantizer(quantization_method=quantization)
        def doubled(node, context):
            real = context.emit("dequantize", [node])
            return context.emit("add", [real, real])

        class Derived(quantization):
            """Has the methods and the dequantizer of its base."""

        model = made([("MatMul", ["x", "w"], ["y"], {})], {"x": [4, 4]}, {"y": None}, {"w": numbers(4, 5)})
        for each in (quantization, Derived):
            found = qd.run(quantize(model, each).model, {"x": np.eye(4, dtype=np.float32)})["y"]
            np.testing.assert_allclose(found, np.rint(numbers(4, 5) * 16) / 8)

    def test_what_examine_keeps(self):
        class Keeping(Root):
            def examine(self, constraint, node, context):
                context.keep(np.abs(node.value).max())

            def rewriter(self, node, context):
                scale = context.kept() / 127
                context.set_weight(node, np.rint(node.value / scale).astype(np.int8), QuantizedType("int8", scale))

        result = quantize(two_layers(), scheme_of(constant=Keeping, matmul=Asker))
        weight = qd.read(two_layers()).weights["fc1.weight"]
        np.testing.assert_array_equal(result.model.weights["fc1.weight_quantized"],
                                      np.rint(weight / (np.abs(weight).max() / 127)))


class MistakesTest(PackageTest):
    """No mistake of a hook ends the process, and each says where it is."""

    HOOKS = ("check_eligibility", "callback", "forward", "storage", "examine", "rewriter")

    def setUp(self):
        super().setUp()
        self.model = made([("MatMul", ["x", "w"], ["y"], {})], {"x": [2, 2]}, {"y": None}, {"w": numbers(2, 2)})

    def run_with(self, hook, function):
        """A scheme whose root has this hook."""
        method = type("Mistaken", (Root,), {hook: function})
        return quantize(self.model, scheme_of(constant=method, matmul=Asker), gain="bytes")

    def test_what_hooks_raise(self):
        for hook in self.HOOKS:
            raised = ZeroDivisionError("by zero")

            def fails(*_, raised=raised):
                raise raised

            error = self.assert_fails("usage", [f"Mistaken.{hook} failed: ZeroDivisionError: by zero"],
                                      lambda hook=hook, fails=fails: self.run_with(hook, fails), node="w")
            self.assertIs(error.__cause__, raised, hook)

    def test_what_requests_and_dequantizers_raise(self):
        class Asks(Asker):
            def request(self, node, context):
                return context.quantization_table[1].constraint

        error = self.assert_fails("usage", ["Asks.request failed: AttributeError"],
                                  lambda: quantize(self.model, scheme_of(constant=Root, matmul=Asks)))
        self.assertIsInstance(error.__cause__, AttributeError)

        quantization = scheme_of(constant=Root, matmul=Asker)

        @register_dequantizer(quantization_method=quantization)
        def lost(node, context):
            return None

        self.assert_fails("usage", ["lost returned None, and not an operation"],
                          lambda: quantize(self.model, quantization))

    def test_nonsense(self):
        nonsense = {
            "check_eligibility": [None, 3, Quantized(), "yes"],
            "callback": [True, 7, Form(2), "number=1"],
            "forward": [None, Quantizable([1]), Form(1), []],
            "storage": [1, (1,), ("a", "b"), (-1, 2), "ab"],
        }
        for hook, answers in nonsense.items():
            for answer in answers:
                with self.subTest(hook=hook, answer=answer):
                    self.assert_fails("usage", [f"Mistaken.{hook} returned "],
                                      lambda hook=hook, answer=answer: self.run_with(hook, lambda *_: answer), node="w")

    def test_mistakes_of_rewriters(self):
        def wrongly(change):
            return lambda: self.run_with("rewriter", lambda self, node, context: change(node, context))

        codes, kind = np.zeros((2, 2), np.int8), QuantizedType("int8", 1)
        self.assert_fails("impossible", ["did not"], wrongly(lambda node, context: None))
        for fragment, change in {
            "no type": lambda n, c: c.quantization_table.__setitem__(n.name, Quantized(...)),
            "selected was [number=1]": lambda n, c: c.quantization_table.__setitem__(n.name, Quantized(Form(2), kind)),
            "and not as": lambda n, c: c.quantization_table.__setitem__(n.name, Consumer()),
            "neither reads nor makes": lambda n, c: c.quantization_table["v"],
            "codes of 'w' are i16": lambda n, c: c.set_weight(n, codes.astype(np.int16), kind),
            "another shape": lambda n, c: c.set_weight(n, codes[:1], kind),
            "axis 2": lambda n, c: c.set_weight(n, codes, QuantizedType("int8", [1, 1], axis=2)),
            "shape": lambda n, c: c.set_weight(n, codes, QuantizedType("int8", [1, 1, 1], axis=1)),
            "a scale of 0": lambda n, c: c.set_weight(n, codes, QuantizedType("int8", 0)),
            "is no constant": lambda n, c: c.set_weight(n.users[0][0], codes, kind),
            "replaces nothing": lambda n, c: c.replace(n, n),
            "this is for request": lambda n, c: c.produce(Form(1)),
            "no operand 7": lambda n, c: c.set_parent(n, 7, n),
            "are emitted": lambda n, c: c.emit("constant", []),
            "no element type": lambda n, c: c.emit("onnx.Relu", [n], dtype="float3"),
            "no number": lambda n, c: c.emit("onnx.Relu", [n], alpha=object()),
            "this is for forward": lambda n, c: c._hook.offer(Form(1)),
            "this is for examine": lambda n, c: c.keep(codes),
            "callback and request": lambda n, c: c.quantization_table[n].propagate_constraint(Form(1)),
        }.items():
            with self.subTest(fragment):
                self.assert_fails("usage", ["Mistaken.rewriter failed", fragment], wrongly(change))

    def test_codes_that_no_type_has(self):
        def weight(value, kind, dtype=np.int8):
            codes = np.zeros((2, 2), dtype)
            codes[1, 0] = value
            return lambda self, node, context: context.set_weight(node, codes, kind())

        def constant(self, node, context):
            context.emit_constant(np.array([1, 77], np.int8), name="c", type=QuantizedType("int4", 1))

        def of_the_library(format):
            def rewriter(self, node, context):
                codes, kind = encode(node.value, format)
                context.set_weight(node, np.full_like(codes, 100), kind)

            return rewriter

        for rewriter, said in [
            (weight(100, lambda: QuantizedType("int4", 1)), "codes of 'w' are in -8 to 7, and not 100 at [1, 0]"),
            (weight(9, lambda: QuantizedType("int4", 1)), "and not 9 at"),
            (weight(-8, lambda: QuantizedType("int8", 1, range=(-7, 7))), "codes of 'w' are in -7 to 7, and not -8"),
            (weight(16, lambda: QuantizedType("uint4", 1), np.uint8), "in 0 to 15, and not 16"),
            (of_the_library("nf4"), "codes of 'w' are in 0 to 15, and not 100"),
            (of_the_library("table<5 x f16>[axis=0] : f32"), "codes of 'w' are in 0 to 4, and not 100"),
            (of_the_library("mxfp4"), "codes of 'w' are in 0 to 15, and not 100"),
            (constant, "codes of 'c' are in -8 to 7, and not 77 at [1]"),
        ]:
            self.assert_fails("usage", ["Mistaken.rewriter failed", said],
                              lambda rewriter=rewriter: self.run_with("rewriter", rewriter), node="w")
        self.run_with("rewriter", weight(-8, lambda: QuantizedType("int4", 1)))

    def test_types_that_are_none(self):
        for options, said in [
            ({"zero_points": 300}, "zero points are in -128 to 127, and not 300"),
            ({"zero_points": 2.7}, "zero points are whole numbers, and not 2.7"),
            ({"zero_points": float("nan")}, "zero points are whole numbers"),
            ({"zero_points": 8, "range": (-7, 7)}, "and not 8"),
            ({"scales": float("nan")}, "a scale of nan"),
            ({"scales": 1e60}, "a scale of inf"),
            ({"scales": 0}, "a scale of 0"),
            ({"scales": [1, 2]}, "give axis="),
            ({"block_size": 2}, "give axis="),
            ({"axis": -1, "scales": [1]}, "and not -1"),
            ({"axis": 0, "scales": [[1]], "block_size": -2}, "and not -2"),
            ({"dtype": "int7"}, "and not of 'int7'"),
            ({"dtype": "float32"}, "and not of 'float32'"),
            ({"range": (7, -7)}, "codes from 7 to -7"),
            ({"range": (-300, 700)}, "codes from -300 to 700"),
        ]:
            with self.subTest(said), self.assertRaises(qd.Error) as caught:
                QuantizedType(**({"dtype": "int8", "scales": 1} | options))
            self.assertIn(said, str(caught.exception))
        for scales in (None, "1"):
            with self.assertRaisesRegex(TypeError, "scales are numbers"):
                QuantizedType("int8", scales)
        self.assertEqual(QuantizedType("int8", [1, 2], zero_points=[2.0, 3], axis=0).zero_points.tolist(), [2, 3])
        last = encode(numbers(3, 4), "i4 * f32[channel] : f32", axis=-1, block_axis=0)[1]
        self.assertEqual((last.axis, last.scales.shape), (1, (4,)))

    def test_operations_that_there_are_not(self):
        for kind, said in {
            "Gemm": "Asker: there is no operation 'Gemm'; ONNX's Gemm is 'gemm'",
            "onnx.MatMul": "ONNX's MatMul is 'matmul'",
            "gem": "there is no operation 'gem'; did you mean 'gemm'",
            "onnx.Foo": "there is no operation 'onnx.Foo'",
            "": "there is no operation ''",
        }.items():
            scheme = scheme_of(constant=Root)
            register_quantizer(quantization=scheme, op_type=kind)(Asker)
            self.assert_fails("usage", [said], lambda scheme=scheme: quantize(self.model, scheme))

            def emits(node, context, kind=kind):
                return context.emit(kind, [node])

            scheme = scheme_of(constant=Root, matmul=Asker)
            register_dequantizer(quantization_method=scheme)(emits)
            self.assert_fails("usage", ["emits failed"], lambda scheme=scheme: quantize(self.model, scheme), node="w")

        # Of other domains, which models may have or not.
        quantize(self.model, scheme_of(constant=Root, **{"onnx.theirs::Foo": Asker}))

    def test_what_is_no_method(self):
        def later():
            async def request(self, node, context):
                pass

            return request

        def yields(self, node, context):
            yield 1

        quantization = scheme_of(constant=Root)
        for kind, said, attributes in [
            (qd.Error, "Wrong.calback is no hook, and 'callback' is one", {"calback": lambda *_: None}),
            (qd.Error, "'request' is one", {"requst": lambda *_: None}),
            (qd.Error, "'check_eligibility' is one", {"check_eligibilty": lambda *_: None}),
            (TypeError, "Wrong.state is Quantizable or Consumer, and not 'Consumer'", {"state": "Consumer"}),
            (TypeError, "Wrong.request is async or yields", {"request": later()}),
            (TypeError, "Wrong.rewriter is async or yields", {"rewriter": yields}),
        ]:
            with self.assertRaisesRegex(kind, said):
                register_quantizer(quantization=quantization, op_type="add")(type("Wrong", (Root,), attributes))
        helpers = {"storage_of": lambda *_: None, "_calback": lambda *_: None}
        register_quantizer(quantization=quantization, op_type="add")(type("Right", (Root,), helpers))
        with self.assertRaisesRegex(TypeError, "pairs of an operation and attributes"):
            register_parameterized(quantization=quantization, params=["gemm"])(Root)
        self.assert_fails("usage", ["Tried has no methods"], lambda: quantize(self.model, scheme_of()))

        class Needing(Root):
            def __init__(self, number):
                pass

        self.assert_fails("usage", ["Needing() failed: TypeError", "without arguments"],
                          lambda: quantize(self.model, scheme_of(constant=Needing)))
        with self.assertRaisesRegex(TypeError, "gain takes a name"):
            quantize(self.model, scheme_of(constant=Root), gain=3)
        with self.assertRaisesRegex(TypeError, "name takes a text"):
            quantize(self.model, scheme_of(constant=Root)).explain(3)

    def test_answers_of_the_wrong_kind(self):
        for reason in (3, None):
            self.assert_fails("usage", ["Mistaken.check_eligibility failed: TypeError: a reason is a text"],
                              lambda reason=reason: self.run_with("check_eligibility", lambda *_: Unquantized(reason)),
                              node="w")
        result = self.run_with("check_eligibility", lambda *_: Unquantized("half \ud800"))
        self.assertIn("half \\ud800", result.explain("w"))
        self.assertEqual(selected(self.run_with("check_eligibility", lambda s, n, c: np.bool_(n.name == "w"))),
                         {"w": "number=1"})

        def asking(request):
            method = type("Asks", (Asker,), {"request": request})
            return lambda: quantize(self.model, scheme_of(constant=Root, matmul=method))

        self.assert_fails("usage", ["Asks.request returned ", "and not None"], asking(lambda *_: Form(1)))
        for index in (-1, 2):
            self.assert_fails("usage", [f"2 parents, from 0 on, and none at {index}"],
                              asking(lambda s, n, c, index=index: c.quantization_table[index] and None))

        for said, change in {
            "attribute 'axis' is 1180591620717411303424, and holds": lambda n, c: c.emit("onnx.Relu", [n], axis=2**70),
            "attribute 'axis' is [None]": lambda n, c: c.emit("onnx.Relu", [n], axis=[None]),
            "attribute 'axis' is [1, 'a']": lambda n, c: c.emit("onnx.Relu", [n], axis=[1, "a"]),
            "attribute 'mode' is '\\ud800'": lambda n, c: c.emit("onnx.Relu", [n], mode="\ud800"),
            "a QuantizedType, and not 'int8'": lambda n, c: c.set_weight(n, np.zeros((2, 2), np.int8), "int8"),
            "a QuantizedType, and not 'i8'": lambda n, c: c.emit("onnx.Relu", [n], type="i8"),
            "a QuantizedType, and not <quadrant.Op": lambda n, c: c.relabel(n, n),
        }.items():
            self.assert_fails("usage", ["Mistaken.rewriter failed", said], lambda change=change: self.run_with(
                "rewriter", lambda self, node, context, change=change: change(node, context)))

    def test_operands_that_may_be_absent(self):
        seen = []

        class Looking(Asker):
            def request(self, node, context):
                seen.append(context.quantization_table[2])

        model = made([("Gemm", ["x", "w"], ["y"], {})], {"x": [2, 2]}, {"y": None}, {"w": numbers(2, 2)})
        quantize(model, scheme_of(constant=Root, gemm=Looking))
        self.assertEqual([state.reason for state in seen], ["absent"])

    def test_a_graph_that_is_none(self):
        def circle(node, context):
            Root.rewriter(self, node, context)
            product = node.users[0][0]
            context.set_parent(product, 0, product)

        def of_one_operand(node, context):
            Root.rewriter(self, node, context)
            made = context.emit("matmul", [node.users[0][0]])
            context.set_parent(node.users[0][0], 0, made)

        for change in (circle, of_one_operand):
            with self.assertRaises(qd.Error):
                self.run_with("rewriter", lambda self, node, context, change=change: change(node, context))

    def test_constraints_that_are_wrong(self):
        def asking(constraint):
            class Asks(Asker):
                def request(self, node, context):
                    context.quantization_table[1].propagate_constraint(constraint)

            return lambda: quantize(self.model, scheme_of(constant=Root, matmul=Asks))

        class Unhashable(Form):
            def hash(self):
                return []

        class Failing(Form):
            def check(self, other):
                raise OSError("no disk")

            def hash(self):
                return 1

        class Making(Form):
            """Equal constraints are found while others are made, of the same hash."""

            def hash(self):
                return 1

            def check(self, other):
                for number in range(20, 60) if table and max(self.number, other.number) < 20 else ():
                    table[0].propagate_constraint(Making(number))
                return self.number == other.number

        table = []

        class Makes(Asker):
            def request(self, node, context):
                table[:] = [context.quantization_table[1]]
                for number in (1, 2, 3, 1):
                    table[0].propagate_constraint(Making(number))
                table.clear()

        result = quantize(self.model, scheme_of(constant=Root, matmul=Makes))
        self.assertIn("asked for number=59", result.explain("w"))

        class Lone(Form):
            def __str__(self):
                return "\ud800"

        self.assert_fails("usage", ["Asks.request failed", "Unicode"], asking(Lone(1)))
        self.assert_fails("usage", ["Form: a gain is an integer"], asking(Form(1, gain=0.5)))
        self.assert_fails("usage", ["Form: a gain is an integer"], asking(Form(1, gain=2**70)))
        self.assert_fails("usage", ["Form: unhashable"], asking(Form([1, 2])))
        self.assert_fails("usage", ["unhashable"], asking(Unhashable(1)))
        self.assert_fails("usage", ["takes a QuantizationConstraint"], asking(5))
        self.assert_fails("usage", ["Asks.request failed", "integer"], asking(Form(1, gain="much")))

        class Twice(Asker):
            def request(self, node, context):
                for _ in range(2):
                    context.quantization_table[1].propagate_constraint(Failing(1))

        error = self.assert_fails("usage", ["no disk"],
                                  lambda: quantize(self.model, scheme_of(constant=Root, matmul=Twice)))
        self.assertIsInstance(error.__cause__, OSError)

    def test_a_hook_that_does_what_another_may(self):
        def answers(self, node, context):
            context._hook.end_alternative()

        def produces(self, constraint, node, context):
            context.produce(constraint)

        asking = type("Asking", (Asker,), {"request": answers})
        self.assert_fails("usage", ["this is for callback"],
                          lambda: quantize(self.model, scheme_of(constant=Root, matmul=asking)))
        self.assert_fails("usage", ["this is for request"], lambda: self.run_with("callback", produces))

    def test_what_is_kept_beyond_its_call(self):
        kept = []

        class Keeping(Root):
            def callback(self, constraint, node, context):
                kept.extend([node, context])
                return constraint

            def rewriter(self, node, context):
                self.quantization.problems = []
                for use in (lambda: kept[0].name, lambda: kept[1].refuse("no"), lambda: context.set_type(kept[0], kind),
                            lambda: context.emit("onnx.Relu", [kept[0]], shape=None, dtype="float32")):
                    try:
                        use()
                    except qd.Error as error:
                        self.quantization.problems.append(str(error))
                super().rewriter(node, context)

        kind = QuantizedType("int8", 1)
        quantization = scheme_of(constant=Keeping, matmul=Asker)()
        quantise_graph(graph=self.model, quantization=quantization)
        self.assertEqual(len(quantization.problems), 3)  # a reason that comes too late is passed over
        with self.assertRaisesRegex(qd.Error, "while the hook runs"):
            kept[0].shape  # noqa: B018

    def test_runs_inside_hooks(self):
        def starts(self, node, context):
            quantize_weight_only(two_layers())

        self.assert_fails("usage", ["a hook may not start a run"], lambda: self.run_with("rewriter", starts))

        def measures(self, node, context):
            qd.run(two_layers(), {"x": numbers(2, 16)})
            Root.rewriter(self, node, context)

        self.assertEqual(selected(self.run_with("rewriter", measures)), {"w": "number=1"})
        self.assertEqual(len(selected(quantize_weight_only(two_layers()))), 2)  # and the next run works

    def test_a_hook_that_never_returns(self):
        def never(self, node, context):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            while time.monotonic() < end:
                pass
            return True

        end = time.monotonic() + 60
        with self.assertRaises(KeyboardInterrupt):
            self.run_with("check_eligibility", never)
        self.assertLess(time.monotonic(), end - 30)

    def test_interrupts(self):
        def interrupts(self, node, context):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
            return True

        def exits(self, node, context):
            raise SystemExit(3)

        with self.assertRaises(KeyboardInterrupt):
            self.run_with("check_eligibility", interrupts)
        with self.assertRaises(SystemExit):
            self.run_with("check_eligibility", exits)

    def test_registration(self):
        quantization = scheme_of(constant=Root)

        class Other(Root):
            pass

        with self.assertRaisesRegex(qd.Error, "two methods for 'constant': .*Root and .*Other"):
            register_quantizer(quantization=quantization, op_type="constant")(Other)
        register_quantizer(quantization=quantization, op_type="constant")(Root)  # again, as a notebook does
        for call, message in {
            lambda: register_quantizer(quantization=quantization, op_type=int)(Root): "no operation",
            lambda: register_quantizer(quantization=quantization, op_type="add")(int): "does not derive",
            lambda: register_quantizer(quantization=Quantization, op_type="add")(Root): "no class that derives",
            lambda: requires_parents(int): "takes patterns",
            lambda: requires_parents(variadic(AnyState), AnyState): "only the last",
            lambda: requires_parents(*[AnyState] * 9): "at most eight",
            lambda: quantise_graph(graph=self.model, quantization=quantization): "is a Quantization",
        }.items():
            with self.assertRaisesRegex(TypeError, message):
                call()
        for options in ({"gain": "joy"}, {"policy": "best"}, {"non_finite": "maybe"}):
            self.assert_fails("usage", [next(iter(options.values()))],
                              lambda options=options: quantize(self.model, quantization, **options))


class LifetimeTest(PackageTest):
    def test_nothing_stays(self):
        alive = []

        class Counting(Root):
            def callback(self, constraint, node, context):
                alive.extend(map(weakref.ref, (self, constraint, node, context)))
                return constraint

        result = quantize(two_layers(), scheme_of(constant=Counting, matmul=Asker))
        self.assertEqual(len(alive), 8)
        gc.collect()
        # Not even while the result is there, to which classes and constraints may refer.
        self.assertEqual([each() for each in alive if each() is not None], [])
        self.assertIn("asked for number=1", result.explain("fc1.weight"))
        self.assertIn("number=1", result.report().html)

    def test_summary_has_the_sizes_of_files(self):
        onnx.save(two_layers(), self.path("model.onnx"))
        result = quantise_graph(graph=self.path("model.onnx"), quantization=scheme_of(constant=QuantizationMethod)())
        self.assertEqual(result.summary()["file_bytes_before"], os.path.getsize(self.path("model.onnx")))

    def test_nothing_leaks(self):
        # The names hold the classes and the result; a result that held classes would close a circle.
        script = ("import sys; names = {'__name__': 'tried'}; "
                  "exec(open('examples/python/weight_only_channel_wise.py').read(), names); "
                  "names['kept'] = names['quantize_weight_only'](sys.argv[1]); print(names['kept'])")
        done = subprocess.run([sys.executable, "-c", script, DIGITS], cwd=ROOT, capture_output=True, text=True,
                              timeout=100, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_threads(self):
        expected = quantize_weight_only(TRANSFORMER).to_onnx()
        found = []
        threads = [threading.Thread(target=lambda: found.append(quantize_weight_only(TRANSFORMER).to_onnx()))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)


class OpTest(PackageTest):
    def test_what_hooks_see(self):
        seen = {}

        class Looking(Asker):
            def request(self, node, context):
                data, weight, bias = node.parents
                seen.update(name=node.name, label=node.label, kind=node.kind, shape=node.shape, dtype=node.dtype,
                            parents=node._parents, attributes=node.attributes, value=weight.value, data=data.value,
                            absent=bias, users=[(op.kind, operand) for op, operand in data.users],
                            results=[op.name for op in node.results], same=node == weight.users[0][0],
                            classes=(type(node), isinstance(node, self.buddy_op)))

        nodes = [("Conv", ["x", "w", ""], ["y"], {"strides": [2, 2], "auto_pad": "VALID"})]
        weight = numbers(4, 3, 3, 3)
        quantize(made(nodes, {"x": [1, 3, 7, 7]}, {"y": [1, 4, 3, 3]}, {"w": weight}),
                 scheme_of(conv=requires_parents(variadic(AnyState))(Looking)))
        # Its pattern does not say that a parent may be absent.
        self.assertEqual(seen, {})
        quantize(made([("Conv", ["x", "w"], ["y"], {"strides": [2, 2]})], {"x": [1, 3, 7, 7]}, {"y": [1, 4, 3, 3]},
                      {"w": weight}),
                 scheme_of(conv=type("Two", (Looking,), {"request": lambda self, node, context: seen.update(
                     name=node.name, label=node.label, kind=node.kind, shape=node.shape, dtype=node.dtype,
                     parents=node._parents, strides=node.attributes["strides"], data=node.parents[0].value,
                     value=node.parents[1].value, users=[(op.kind, i) for op, i in node.parents[1].users],
                     same=node == node.parents[1].users[0][0], buddy=isinstance(node, self.buddy_op))})))
        np.testing.assert_array_equal(seen.pop("value"), weight)
        self.assertEqual(seen, {
            "name": "y", "label": "Conv_y", "kind": "conv", "shape": (1, 4, 3, 3), "dtype": "float32",
            "parents": ["x", "w"], "strides": [2, 2], "data": None, "users": [("conv", 1)], "same": True,
            "buddy": True})

    def test_classes_of_operations(self):
        class MyMatmul(Op):
            kind = "matmul"

        self.assertIs(Op.of("matmul"), Op.of("matmul"))
        seen = []

        class Looking(Asker):
            def request(self, node, context):
                seen.append((type(node), self.buddy_op))

        class Tried(Quantization):
            pass

        register_quantizer(quantization=Tried, op_type=MyMatmul)(Looking)
        quantize(two_layers(), Tried)
        self.assertEqual(set(seen), {(MyMatmul, MyMatmul)})


if __name__ == "__main__":
    unittest.main()
