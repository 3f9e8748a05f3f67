"""Calls of local functions become the operations in them: ONNX Runtime computes the same from what is written, and
weights inside are weights like any."""

import _peers  # noqa: F401  (settings of the peers)

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch

RANDOM = np.random.default_rng(20261128)
OPSET = 17


def constant(name, *shape):
    values = RANDOM.standard_normal(shape).astype(np.float32)
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(values, name))


def node(kind, reads, makes, **attributes):
    return helper.make_node(kind, reads, makes, **attributes)


def with_given(made, name, given, kind):
    """The node, with an attribute that its function is given."""
    made.attribute.append(AttributeProto(name=name, ref_attr_name=given, type=kind))
    return made


def function(name, inputs, outputs, nodes, attributes=(), defaults=(), opset=OPSET):
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, nodes, imports, attributes, defaults)


def model_of(nodes, functions, outputs=("y",), inputs=("x",)):
    def tensors(names):
        return [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["n", 64]) for each in names]
    inputs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["n", 64]) for each in inputs]
    graph = helper.make_graph(nodes, "g", inputs, tensors(outputs))
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=9)


def linear(name="Linear"):
    """Weights inside."""
    return function(name, ["a"], ["b"], [constant("w", 64, 64), constant("bias", 64),
                                         node("MatMul", ["a", "w"], ["m"]), node("Add", ["m", "bias"], ["b"])])


def call(kind, reads, makes, **attributes):
    return helper.make_node(kind, reads, makes, domain="own", **attributes)


def leaky():
    alpha = helper.make_attribute("slope", 0.25)
    leak = with_given(node("LeakyRelu", ["a"], ["b"]), "alpha", "slope", AttributeProto.FLOAT)
    return function("Leak", ["a"], ["b"], [leak], [], [alpha])


def choice():
    """A body in a function, which reads what is around it there, and what the function is given."""
    then = helper.make_graph([with_given(node("LeakyRelu", ["t"], ["u"]), "alpha", "slope", AttributeProto.FLOAT)],
                             "then", [], [helper.make_tensor_value_info("u", TensorProto.FLOAT, ["n", 64])])
    other = helper.make_graph([constant("w", 64, 64), node("MatMul", ["a", "w"], ["v"])], "else", [],
                              [helper.make_tensor_value_info("v", TensorProto.FLOAT, ["n", 64])])
    return function("Choose", ["a"], ["b"],
                    [node("ReduceSum", ["a"], ["s"], keepdims=0),
                     node("Constant", [], ["zero"], value_float=0.0), node("Less", ["s", "zero"], ["p"]),
                     node("Neg", ["a"], ["t"]), node("If", ["p"], ["b"], then_branch=then, else_branch=other)],
                    ["slope"])


MODELS = {
    "weights": lambda: model_of([call("Linear", ["x"], ["y"])], [linear()]),
    "called twice": lambda: model_of([call("Linear", ["x"], ["m"], name="first"), call("Linear", ["m"], ["y"])],
                                     [linear()]),
    "one by another": lambda: model_of(
        [call("Twice", ["x"], ["y"])],
        [linear(), function("Twice", ["a"], ["b"], [call("Linear", ["a"], ["m"]), node("Relu", ["m"], ["r"]),
                                                    call("Linear", ["r"], ["b"])])]),
    "attributes": lambda: model_of([call("Leak", ["x"], ["m"]), call("Leak", ["m"], ["y"], slope=0.5)], [leaky()]),
    "attributes handed on": lambda: model_of(
        [call("Outer", ["x"], ["y"], by=0.125)],
        [leaky(), function("Outer", ["a"], ["b"],
                           [with_given(call("Leak", ["a"], ["b"]), "slope", "by", AttributeProto.FLOAT)], ["by"])]),
    "a left-out input": lambda: model_of(
        [call("Limit", ["x"], ["y"])],
        [function("Limit", ["a", "low", "high"], ["b"],
                  [node("Constant", [], ["top"], value_float=0.5), node("Clip", ["a", "low", "top"], ["b"])])]),
    "a result that nobody reads": lambda: model_of(
        [call("Some", ["x"], ["", "y"])],
        [function("Some", ["a"], ["b", "c"], [node("Relu", ["a"], ["b"]), node("Neg", ["b"], ["c"])])]),
    "names of the model": lambda: model_of(
        [node("Relu", ["x"], ["m"]), node("Neg", ["m"], ["w"]), call("Linear", ["w"], ["bias"]),
         node("Add", ["bias", "m"], ["y"])], [linear()]),
    "a body": lambda: model_of([call("Choose", ["x"], ["m"], slope=0.5), call("Linear", ["m"], ["y"])],
                               [linear(), choice()]),
}


def run(path, sample):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": sample})


def check_inlined(model):
    with scratch() as folder:
        source, target, small = folder / "model.onnx", folder / "out.onnx", folder / "small.onnx"
        onnx.save(model, source)
        onnx.checker.check_model(str(source))
        done = quadrant("convert", source, target)
        assert done.returncode == 0, done.stderr
        assert "become" in done.stderr and "local function" in done.stderr, done.stderr
        written = onnx.load(target)
        onnx.checker.check_model(str(target), full_check=True)
        assert not written.functions
        assert all(each.domain != "own" for each in written.graph.node)
        assert [each.name for each in written.graph.output] == [each.name for each in model.graph.output]
        sample = RANDOM.standard_normal((3, 64)).astype(np.float32)
        for wanted, found in zip(run(source, sample), run(target, sample), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        weights = sum(len(each.attribute[0].t.dims) == 2 for part in model.functions for each in part.node
                      if each.op_type == "Constant" and each.attribute[0].HasField("t"))
        if weights == 0:
            return
        done = quadrant("quantize", source, "-o", small, "--scheme", "weight-only")
        assert done.returncode == 0, done.stderr
        assert any(each.data_type == TensorProto.INT8 and len(each.dims) == 2
                   for each in onnx.load(small).graph.initializer)
        assert not any(each.data_type == TensorProto.FLOAT and len(each.dims) == 2
                       for each in onnx.load(small).graph.initializer)
        for wanted, found in zip(run(source, sample), run(small, sample), strict=True):
            noise = np.square(found - wanted).sum() / np.square(wanted).sum()
            assert noise < 1e-3, f"{10 * np.log10(noise)} dB of noise"


def test_inlined():
    for name, make in MODELS.items():
        yield name, check_inlined, make()


def check_numbers(model, wanted):
    """Of functions that ONNX Runtime refuses."""
    with scratch() as folder:
        onnx.save(model, folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "out.onnx")
        assert done.returncode == 0, done.stderr
        sample = RANDOM.standard_normal((3, 64)).astype(np.float32)
        for found, numbers in zip(run(folder / "out.onnx", sample), wanted(sample), strict=True):
            np.testing.assert_array_equal(found, numbers)


def test_names_that_are_given_twice():
    both = function("Both", ["a"], ["a", "b"], [node("Neg", ["a"], ["b"])])
    yield ("an input", check_numbers, model_of([call("Both", ["x"], ["y", "z"])], [both], ["y", "z"]),
           lambda x: (x, -x))
    pair = function("Pair", ["a"], ["b", "b"], [node("Neg", ["a"], ["b"])])
    yield ("a result", check_numbers, model_of([call("Pair", ["x"], ["y", "z"])], [pair], ["y", "z"]),
           lambda x: (-x, -x))


def converted(model):
    with scratch() as folder:
        onnx.save(model, folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "out.onnx")
        return done, onnx.load(folder / "out.onnx") if done.returncode == 0 else None


def test_carried():
    """What cannot be inlined stays as it is, with the reason."""
    older = function("Old", ["a"], ["b"], [node("Relu", ["a"], ["b"])], opset=13)
    done, written = converted(model_of([call("Old", ["x"], ["y"])], [older]))
    assert done.returncode == 0 and "'Old' is of opset 13" in done.stderr, done.stderr
    assert [each.name for each in written.functions] == ["Old"]
    assert written.graph.node[0].op_type == "Old"
    graph = helper.make_graph([node("Identity", ["x"], ["r"])], "given", [],
                              [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)])
    taking = function("Taking", ["a"], ["b"], [node("Relu", ["a"], ["b"])], ["body"])
    done, written = converted(model_of([call("Taking", ["x"], ["y"], body=graph)], [taking]))
    assert done.returncode == 0 and "'Taking' is given a graph" in done.stderr, done.stderr
    assert [each.name for each in written.functions] == ["Taking"]


def test_what_functions_say_of_themselves_is_named():
    told = linear("Told")
    told.doc_string = "A layer."
    done, written = converted(model_of([call("Told", ["x"], ["m"]), call("Plain", ["m"], ["y"])],
                                       [told, linear("Plain")]))
    assert done.returncode == 0 and not written.functions, done.stderr
    assert "metadata of local functions go with them: 'Told'\n" in done.stderr, done.stderr


def test_refused():
    round_and_round = function("Round", ["a"], ["b"], [call("Round", ["a"], ["b"])])
    done, _ = converted(model_of([call("Round", ["x"], ["y"])], [round_and_round]))
    assert done.returncode == 3 and "a local function calls itself" in done.stderr, done.stderr
    # Each calls the one before four times: 4^30 operations.
    many = [function("F0", ["a"], ["b"], [node("Relu", ["a"], ["b"])])]
    for i in range(1, 31):
        calls = [call(f"F{i - 1}", ["a" if j == 0 else f"m{j}"], [f"m{j + 1}" if j < 3 else "b"]) for j in range(4)]
        many.append(function(f"F{i}", ["a"], ["b"], calls))
    done, _ = converted(model_of([call("F30", ["x"], ["y"])], many))
    assert done.returncode == 3 and "become more than" in done.stderr, done.stderr
    done, _ = converted(model_of([call("Linear", ["x", "x"], ["y"])], [linear()]))
    assert done.returncode == 3 and "'Linear' has 1 inputs" in done.stderr, done.stderr
    # As many in the branches of an If, of which a function has one alone.
    calls = [call("Leaf", ["a"], [f"m{i}"]) for i in range(1200)]
    branch = helper.make_graph(calls, "branch", [], [helper.make_tensor_value_info("m0", TensorProto.FLOAT, None)])
    ifs = [function("Leaf", ["a"], ["b"], [node("Relu", ["a"], ["b"])])]
    for i in range(3):
        own = helper.make_graph([node("Relu" if i == 0 else "Same", ["a"], [f"m{j}"]) for j in range(1200)], "branch", [],
                                [helper.make_tensor_value_info("m0", TensorProto.FLOAT, None)])
        for each in own.node:
            if i > 0:
                each.op_type, each.domain = f"If{i - 1}", "own"
        ifs.append(function(f"If{i}", ["a"], ["b"], [constant("c", 1), node("Cast", ["c"], ["on"], to=TensorProto.BOOL),
                                                     node("If", ["on"], ["b"], then_branch=own, else_branch=branch)]))
    done, _ = converted(model_of([call("If2", ["x"], ["y"])], ifs))
    assert done.returncode == 3 and "become more than" in done.stderr, done.stderr
    twice = function("Twice", ["a", "a"], ["b"], [node("Relu", ["a"], ["b"])])
    done, _ = converted(model_of([call("Twice", ["x", "x"], ["y"])], [twice]))
    assert done.returncode == 3 and "'a' is defined twice" in done.stderr, done.stderr
    # A call says what a function's node is called, and no more.
    forged = with_given(node("Relu", ["a"], ["b"]), "onnx.yields", "slope", AttributeProto.INTS)
    done, _ = converted(model_of([call("Forged", ["x"], ["y"], slope=[1])], [function("Forged", ["a"], ["b"], [forged], ["slope"])]))
    assert done.returncode == 3 and "an attribute is called 'onnx.yields'" in done.stderr, done.stderr


if __name__ == "__main__":
    run_tests(globals())
