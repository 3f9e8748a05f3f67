"""Small models made here, one for each thing that can go wrong, quantized weight-only."""

import _peers

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from _checks import check_all
from _command import run_tests, scratch
from _models import info, model_of, run, weight

node = helper.make_node
NOTHING = ()


def dense(w, opset=17, kind=TensorProto.FLOAT, name="w", **extra):
    """x * w."""
    return model_of([node("MatMul", ["x", name], ["y"], "dense")],
                    [info("x", ["N", w.shape[0]], kind)], [info("y", ["N", w.shape[1]], kind)],
                    {name: w}, opset, **extra)


def check(model, left=NOTHING, save=onnx.save, feeds=None, run_model=run, tolerance=1e-5):
    """All checks, and that all weights but `left` are quantized."""
    with scratch() as folder:
        source = folder / "a model.onnx"
        save(model, str(source))
        result = check_all(source, folder / "größe 8.onnx", feeds, tolerance, run_model)
        floats = set(result.weights) - set(result.axis_of)
        assert floats == set(left), f"left in float: {floats}"
        return result


# --- products --------------------------------------------------------------------------------------


def product(a, b, shape, **weights):
    """MatMul of an input `x` and a weight, or of two weights."""
    inputs = [] if "x" not in (a, b) else [info("x", shape)]
    output = np.matmul(*(np.zeros(shape) if v == "x" else weights[v] for v in (a, b)))
    return model_of([node("MatMul", [a, b], ["y"], "product")], inputs,
                    [info("y", output.shape)], weights)


def test_matmul():
    models = {
        "2-D": product("x", "w", [6, 4], w=weight(4, 5)),
        "left": product("w", "x", [4, 3], w=weight(5, 4)),
        "batched": product("x", "w", [2, 3, 6, 4], w=weight(2, 3, 4, 5)),
        "batched left": product("w", "x", [2, 4, 3], w=weight(2, 5, 4)),
        "broadcast": product("x", "w", [7, 1, 6, 4], w=weight(3, 4, 5)),
        "vector on the left": product("x", "w", [4], w=weight(4, 5)),
        "one column": product("x", "w", [6, 4], w=weight(4, 1)),
        "two weights": product("v", "w", None, v=weight(3, 4), w=weight(4, 5, seed=2)),
    }
    for name, model in models.items():
        yield name, check, model
    # A scale for each element, or nearly so, takes more bytes than it saves.
    yield "one row", check, product("x", "w", [6, 1], w=weight(1, 5)), ["w"]
    yield "one element", check, product("x", "w", [1, 1], w=weight(1, 1)), ["w"]
    yield "a vector", check, product("x", "w", [6, 4], w=weight(4))
    yield "with itself", check, product("w", "w", None, w=weight(4, 4))


def gemm(shape, w, transposed_result=False, **attributes):
    operands = ["w", "x"] if attributes.pop("left", False) else ["x", "w"]
    shapes = {"w": w.shape, "x": tuple(shape)}
    rows = shapes[operands[0]][1 if attributes.get("transA") else 0]
    columns = shapes[operands[1]][0 if attributes.get("transB") else 1]
    return model_of([node("Gemm", [*operands, "bias"], ["y"], "gemm", **attributes)],
                    [info("x", shape)], [info("y", [rows, columns])],
                    {"w": w, "bias": weight(columns, seed=2)})


def test_gemm():
    yield "plain", check, gemm([6, 4], weight(4, 5))
    yield "transB", check, gemm([6, 4], weight(5, 4), transB=1)
    yield "transA", check, gemm([4, 6], weight(4, 5), transA=1)
    yield "both", check, gemm([4, 6], weight(5, 4), transA=1, transB=1)
    yield "alpha, beta", check, gemm([6, 4], weight(5, 4), transB=1, alpha=0.3, beta=-2.0)
    yield "left", check, gemm([4, 6], weight(5, 4), left=True)
    yield "left, transA", check, gemm([4, 6], weight(4, 5), left=True, transA=1)
    matrix_bias = gemm([6, 4], weight(4, 5))
    matrix_bias.graph.initializer[1].CopyFrom(numpy_helper.from_array(weight(6, 5), "bias"))
    yield "bias of two dimensions", check, matrix_bias


def conv(shape, w, groups=1, op="Conv", **attributes):
    channels = w.shape[0] if op == "Conv" else w.shape[1] * groups
    return model_of([node(op, ["x", "w", "bias"], ["y"], "conv", group=groups, **attributes)],
                    [info("x", shape)], [info("y", [shape[0], channels] + [None] * (len(shape) - 2))],
                    {"w": w, "bias": weight(channels, seed=2)})


def test_conv():
    yield "1-D", check, conv([2, 3, 9], weight(5, 3, 3))
    yield "2-D", check, conv([2, 3, 8, 9], weight(5, 3, 3, 2), strides=[2, 1], pads=[1, 0, 1, 0])
    yield "3-D", check, conv([1, 2, 5, 6, 7], weight(3, 2, 2, 3, 2), dilations=[1, 2, 1])
    yield "pointwise", check, conv([1, 4, 5, 5], weight(6, 4, 1, 1))
    yield "grouped", check, conv([1, 6, 7, 7], weight(4, 3, 3, 3), groups=2)
    yield "depthwise", check, conv([1, 4, 7, 7], weight(4, 1, 3, 3), groups=4)
    yield "transposed", check, conv([1, 4, 5, 5], weight(4, 3, 3, 3), op="ConvTranspose")


# --- how a weight is reached -------------------------------------------------------------------------


def test_shared():
    both = model_of([node("MatMul", ["x", "w"], ["h"], "first"), node("Relu", ["h"], ["r"]),
                     node("MatMul", ["r", "w"], ["y"], "second")],
                    [info("x", ["N", 4])], [info("y", ["N", 4])], {"w": weight(4, 4)})
    yield "by two products", check, both
    opposite = model_of([node("MatMul", ["x", "w"], ["h"], "columns"),
                         node("Gemm", ["h", "w"], ["y"], "rows", transB=1)],
                        [info("x", [3, 4])], [info("y", [3, 4])], {"w": weight(4, 4)})
    yield "by two that keep other axes", check, opposite
    gram = model_of([node("Transpose", ["w"], ["t"]), node("MatMul", ["w", "t"], ["g"], "gram"),
                     node("MatMul", ["x", "g"], ["y"])],
                    [info("x", [3, 4])], [info("y", [3, 4])], {"w": weight(4, 4)})
    yield "with its transpose", check, gram
    read = model_of([node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "w"], ["y"])],
                    [info("x", [4, 4])], [info("y", [4, 4])], {"w": weight(4, 4)})
    yield "with another operation", check, read
    turned = model_of([node("MatMul", ["x", "w"], ["h"]), node("Transpose", ["w"], ["t"]),
                       node("Add", ["h", "t"], ["y"])],
                      [info("x", [4, 4])], [info("y", [4, 4])], {"w": weight(4, 4)})
    yield "with a transpose that leaves out perm", check, turned


def test_tied_embedding():
    model = model_of([node("Gather", ["table", "tokens"], ["e"]), node("Relu", ["e"], ["h"]),
                      node("Transpose", ["table"], ["t"], perm=[1, 0]),
                      node("MatMul", ["h", "t"], ["logits"], "head")],
                     [info("tokens", ["N", 5], TensorProto.INT64)], [info("logits", ["N", 5, 20])],
                     {"table": weight(20, 8)})
    assert check(model).axis_of == {"table": 0}


def moved(moves, shape, product_shape, weights=()):
    """x * (a weight of `shape` after these nodes, from `w` to `m`)."""
    return model_of([*moves, node("MatMul", ["x", "m"], ["y"], "dense")],
                    [info("x", [6, product_shape[-2]])],
                    [info("y", [*product_shape[:-2], 6, product_shape[-1]])],
                    {"w": weight(*shape), **dict(weights)})


def test_moves():
    def reshape(*dims):
        return [node("Reshape", ["w", "dims"], ["m"])], {"dims": np.array(dims)}

    def case(moves, shape, product_shape, weights=(), left=NOTHING):
        check(moved(moves, shape, product_shape, weights), left)

    yield "identity", case, [node("Identity", ["w"], ["m"])], (4, 5), (4, 5)
    yield "transpose", case, [node("Transpose", ["w"], ["m"])], (5, 4), (4, 5)
    yield "permuted", case, [node("Transpose", ["w"], ["m"], perm=[2, 0, 1])], (4, 5, 2), (2, 4, 5)
    rows, dims = reshape(-1, 5)
    yield "reshape of rows", case, rows, (2, 2, 5), (4, 5), dims
    kept, dims = reshape(0, 4, 5)
    yield "reshape with a kept dimension", case, kept, (2, 20), (2, 4, 5), dims
    mixed, dims = reshape(4, 6)
    yield "reshape of columns", case, mixed, (4, 2, 3), (4, 6), dims
    chain = [node("Transpose", ["w"], ["a"], perm=[1, 2, 0]), node("Identity", ["a"], ["b"]),
             node("Reshape", ["b", "dims"], ["m"])]
    yield "a chain", case, chain, (5, 2, 3), (6, 5), {"dims": np.array([-1, 5])}


def test_graph_output():
    model = dense(weight(4, 5))
    model.graph.output.append(info("w", [4, 5]))
    yield "the weight", check, model
    turned = model_of([node("Transpose", ["w"], ["t"]), node("MatMul", ["x", "t"], ["y"])],
                      [info("x", [3, 4])], [info("y", [3, 5]), info("t", [4, 5])],
                      {"w": weight(5, 4)})
    yield "the weight, transposed", check, turned


def branch(name, nodes, output, weights=()):
    tensors = [numpy_helper.from_array(array, key) for key, array in dict(weights).items()]
    return helper.make_graph(nodes, name, [], [info(output, None)], tensors)


def if_model(then_branch, else_branch, opset=17):
    """A product, and an If that both sees its weight `w` and its result `h`."""
    return model_of([node("MatMul", ["x", "w"], ["h"], "outer"),
                     node("If", ["condition"], ["y"], then_branch=then_branch,
                          else_branch=else_branch)],
                    [info("x", [4, 4]), info("condition", [], TensorProto.BOOL)],
                    [info("y", [4, 4])], {"w": weight(4, 4)}, opset)


def check_if(model, condition):
    x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    return check(model, feeds={"x": x, "condition": np.array(condition)})


def test_subgraph():
    adds = branch("adds", [node("Add", ["h", "w"], ["e"])], "e")
    captures = if_model(branch("multiplies", [node("MatMul", ["x", "w"], ["t"])], "t"), adds)
    own = {"w_quantized": weight(4, 4, seed=7)}
    names = if_model(branch("own", [node("Add", ["x", "w_quantized"], ["w_scale"])], "w_scale", own),
                     adds)
    for condition in (True, False):
        yield f"captures the weight, {condition}", check_if, captures, condition
        yield f"has the names that the weight gets, {condition}", check_if, names, condition


def test_loop():
    body = helper.make_graph(
        [node("MatMul", ["s", "w"], ["s_next"]), node("Identity", ["going"], ["going_next"])], "body",
        [info("i", [], TensorProto.INT64), info("going", [], TensorProto.BOOL), info("s", [4, 4])],
        [info("going_next", [], TensorProto.BOOL), info("s_next", [4, 4])])
    for opset in (11, 17):
        yield f"opset {opset}", check, model_of(
            [node("MatMul", ["x", "w"], ["h"]), node("Loop", ["n", "", "h"], ["y"], body=body)],
            [info("x", [4, 4])], [info("y", [4, 4])], {"w": weight(4, 4), "n": np.array(3)}, opset)


# --- how a weight is stored --------------------------------------------------------------------------


def reference_run(model, feeds):
    """ONNX's own evaluator, for types that ONNX Runtime has no CPU kernels for."""
    model = model if isinstance(model, onnx.ModelProto) else onnx.load(model)
    return ReferenceEvaluator(model).run(None, feeds)


def test_float_types():
    half = weight(40, 5, dtype=np.float16)
    for opset in (7, 11, 13, 17, 19, 21):
        yield f"float16, opset {opset}", check_float16, dense(half, opset, TensorProto.FLOAT16)
    for opset in (9, 17):
        yield f"float64, opset {opset}", check, dense(weight(4, 5, dtype=np.float64), opset,
                                                      TensorProto.DOUBLE)
    yield "bfloat16", check_bfloat16


def check_float16(model):
    # ONNX Runtime computes in float32 and, whatever its options, leaves the Cast to float16 and back
    # out: the weights then keep bits that float16 has no place for.
    check(model, tolerance=2**-9)


def check_bfloat16():
    x = weight(3, 40, seed=3, dtype=ml_dtypes.bfloat16)
    check(dense(weight(40, 5, dtype=ml_dtypes.bfloat16), 21, TensorProto.BFLOAT16),
          feeds={"x": x}, run_model=reference_run)


def test_constant_nodes():
    def constant(value, name):
        return node("Constant", [], [name], value=numpy_helper.from_array(value, "ignored"))

    model = model_of([constant(weight(3, 2, 3, 3), "k"), node("Conv", ["x", "k"], ["h"], "conv"),
                      constant(np.array([0, -1]), "dims"), node("Reshape", ["h", "dims"], ["f"]),
                      constant(weight(5, 3, seed=2), "w"), node("Transpose", ["w"], ["t"]),
                      node("MatMul", ["f", "t"], ["y"], "dense")],
                     [info("x", [1, 2, 3, 3])], [info("y", [1, 5])], {})
    result = check(model)
    assert result.axis_of == {"k": 0, "w": 0}, result.axis_of


def test_listed_as_input():
    model = dense(weight(4, 5), 8, ir_version=3)
    model.graph.input.append(info("w", [4, 5]))
    yield "ir_version 3", check, model
    later = dense(weight(4, 5), ir_version=8)
    later.graph.input.insert(0, info("w", [4, 5]))
    yield "ir_version 8", check, later


def test_typed_data():
    w = weight(4, 5)
    model = dense(w)
    model.graph.initializer[0].CopyFrom(
        helper.make_tensor("w", TensorProto.FLOAT, w.shape, w.ravel()))
    check(model)


def test_external_data():
    def save(model, path):
        onnx.save_model(model, path, save_as_external_data=True, size_threshold=0,
                        location="the data.bin")

    check(dense(weight(40, 50)), save=save)


def test_names():
    for name in ("重み", "größe", "a b", "/block.0/w", "w:0", "quoted \"'", "back\\slash", "%s{}",
                 "-w"):
        yield name, check, dense(weight(4, 5), name=name)


def test_taken_names():
    taken = ("w_quantized", "w_scale", "w_zero_point", "w_dequantize", "w_dequantized", "w_codes")
    model = model_of([node("MatMul", ["x", "w"], ["h"], "w_dequantize"),
                      *(node("Mul", ["h" if i == 0 else taken[i - 1], "x"], [name], name + "_quantized")
                        for i, name in enumerate(taken))],
                     [info("x", [4, 4])], [info(name, [4, 4]) for name in taken], {"w": weight(4, 4)})
    yield "results", check, model
    weights = {"w": weight(4, 4), "w_scale": weight(4), "w_quantized": weight(4, 4, seed=2)}
    model = model_of([node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "w_quantized"], ["g"]),
                      node("Add", ["g", "w_scale"], ["y"])],
                     [info("x", [4, 4])], [info("y", [4, 4])], weights)
    yield "weights", check, model
    nameless = dense(weight(4, 5))
    nameless.graph.node[0].name = ""
    yield "no name", check, nameless


# --- what is in it -----------------------------------------------------------------------------------


def changed(**columns):
    """A 6 x 5 weight with some columns replaced."""
    w = weight(6, 5)
    for name, values in columns.items():
        w[:, int(name[1:])] = values
    return w


def test_values():
    halves = np.array([127, 0.5, 1.5, -2.5, 126.5, -126.5])
    tiny = np.finfo(np.float32).tiny
    yield "a channel of zeros", check, dense(changed(c1=0.0))
    yield "all zero", check, dense(np.zeros((6, 5), np.float32))
    yield "negative zero", check, dense(changed(c2=-0.0))
    yield "half way", check, dense(changed(c0=halves, c3=halves * 2.0**-20))
    yield "the largest", check, dense(changed(c4=0.99 * np.finfo(np.float32).max / np.arange(1, 7)))
    yield "subnormal", check, dense(changed(c1=tiny / 8, c2=tiny * np.array([1, 2, 3, 4, 5, 6])))
    yield "around the smallest scale", check, dense(changed(c1=tiny * 127, c2=tiny * 126.99))


# --- opsets ------------------------------------------------------------------------------------------


def small_network(opset):
    """Convolution, pooling, a product through a transposed weight, and Softmax, valid in all opsets."""
    weights = {"k": weight(4, 1, 3, 3), "b": weight(4), "w": weight(6, 16, seed=2) / 50,
               "dims": np.array([0, -1])}
    return model_of([node("Conv", ["x", "k", "b"], ["c"], "conv"), node("Relu", ["c"], ["r"]),
                     node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                     node("Reshape", ["p", "dims"], ["f"]), node("Transpose", ["w"], ["t"]),
                     node("MatMul", ["f", "t"], ["logits"], "head"),
                     node("Softmax", ["logits"], ["y"], axis=1)],
                    [info("x", [2, 1, 6, 6])], [info("y", [2, 6])], weights, opset)


def test_opsets():
    for opset in range(7, _peers.NEWEST_OPSET + 1):
        yield opset, check, small_network(opset)


def test_opset_that_is_raised_with_branches():
    """Operations in branches are converted like all others."""
    squares, scales = (branch(name, [node("Mul", ["h", name], [name + "_y"])], name + "_y")
                       for name in ("h", "x"))
    result = check_if(if_model(squares, scales, 11), True)
    assert not result.document["written"]["fallback_reason"], result.document["written"]


if __name__ == "__main__":
    run_tests(globals())
