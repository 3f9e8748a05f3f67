"""Tells what a runtime's kernels lose from faults of the models that they run.

On x86 without VNNI, ONNX Runtime and OpenVINO add two neighbouring products of unsigned data and signed
weights in 16 bits, and sums beyond 32767 or -32768 end there: the result is not what the file says. Here
each runtime is asked, by a product, whether it does so, and each model, by its weights, whether that can
happen to it. Where either says no, models run as they are. At the end a test tells how many ran how.
"""

import atexit
import collections
import functools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _fold import MOVES, GraphReader, attributes_of
from _models import session_of

# OpenVINO then computes quantized models in real numbers, as if it had no kernels for codes.
IN_REALS = {"LP_TRANSFORMS_MODE": False}

# Operators of ONNX Runtime: where the data's zero point is, the weight, and its zero point.
PLACES = {"MatMulInteger": (2, 1, 3), "QLinearMatMul": (2, 3, 5), "QLinearConv": (2, 3, 5),
          "QGemm": (2, 3, 5)}

judged = collections.Counter()


@atexit.register
def tell():
    for how, count in sorted(judged.items()):
        print(f"{how}: {count}")


# --- whether a runtime's sums end at 16 bits ---------------------------------------------------------


def ended_product(a, b):
    """a @ b of uint8 and int8 where each two neighbours' sum ends at 16 bits, and the sum of those does
    not."""
    odd = a.shape[1] % 2
    a, b = np.pad(a.astype(np.int32), ((0, 0), (0, odd))), np.pad(b.astype(np.int32), ((0, odd), (0, 0)))
    pairs = np.einsum("mkp,kpn->mkn", a.reshape(len(a), -1, 2), b.reshape(-1, 2, b.shape[1]))
    return np.clip(pairs, -32768, 32767).sum(1)


def product_in_onnxruntime(a, b):
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "product",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, a.shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT32, None)], [numpy_helper.from_array(b, "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return session_of(model).run(None, {"a": a})[0]


def product_in_openvino(a, b):
    import openvino  # not all tests that need this module need this peer
    from _openvino import compiled_by_openvino
    from openvino import opset13 as ops

    def fake(node, low, high):
        bounds = [ops.constant(np.float32(bound)) for bound in (low, high, low, high)]
        return ops.fake_quantize(node, *bounds, high - low + 1)

    x = ops.parameter(a.shape, np.float32)
    weight = fake(ops.constant(b.astype(np.float32)), -127, 127)
    product = openvino.Model([ops.matmul(fake(x, 0, 255), weight, False, False)], [x], "product")
    compiled = compiled_by_openvino(product)
    kinds = {node.get_rt_info()["runtimePrecision"].astype(str)
             for node in compiled.get_runtime_model().get_ops()
             if node.get_rt_info()["layerType"].astype(str) in ("FullyConnected", "MatMul")}
    assert kinds & {"u8", "i8"}, f"OpenVINO does not compute a product of codes on codes: {kinds}"
    return compiled([a.astype(np.float32)])[0]


def ends_at_16_bits(product):
    """Of products of the largest codes, half of which is lost then. Any other result is an error."""
    a, b = np.full((4, 64), 255, np.uint8), np.full((64, 16), 127, np.int8)
    found = product(a, b)
    if np.allclose(found, a.astype(np.int32) @ b):
        return False
    assert np.allclose(found, ended_product(a, b)), f"neither right nor ended at 16 bits: {found}"
    return True


@functools.cache
def in_onnxruntime():
    return ends_at_16_bits(product_in_onnxruntime)


@functools.cache
def in_openvino():
    return ends_at_16_bits(product_in_openvino)


# --- whether it can happen to a model ----------------------------------------------------------------


def in_order(node, codes):
    """A row for each output, in the order in which ONNX Runtime adds; neighbours are 2i and 2i + 1."""
    attributes = attributes_of(node)
    if node.op_type == "QLinearConv":
        if codes.shape[1] == 1 and codes.shape[0] == attributes.get("group", 1):
            return codes.reshape(-1, 1)  # the kernel for these adds in 32 bits
        return np.moveaxis(codes, 1, -1).reshape(len(codes), -1)
    if not attributes.get("transB"):
        codes = np.swapaxes(codes, -1, -2)
    return codes.reshape(-1, codes.shape[-1])


def has_bad_pair(rows):
    """255 times two neighbours' sum is beyond 16 bits: both of one sign, and more than 128 together."""
    wide = np.pad(rows.astype(np.int32), ((0, 0), (0, rows.shape[1] % 2)))
    first, second = wide[:, ::2], wide[:, 1::2]
    return bool(np.any((first * second > 0) & (np.abs(first + second) > 128)))


def operands(reader, node):
    """The data's zero point, the weight and its zero point; None for what is missing or computed."""
    names = [node.input[place] if place < len(node.input) else "" for place in PLACES[node.op_type]]
    folded = [reader.fold(name) if name else None for name in names]
    return [arrays and arrays["values"] for arrays in folded]


def nodes_that_end(model):
    """The operators of unsigned data and of a signed weight with a bad pair, each with the weight and its
    zero point. Data without a zero point count as unsigned: ONNX Runtime would refuse an unsigned weight
    beside others."""
    reader = GraphReader(model, MOVES)
    for node in model.graph.node:
        if node.op_type not in PLACES:
            continue
        data_zero, weight, zero = operands(reader, node)
        if weight is None or weight.dtype != np.int8:
            continue
        if data_zero is not None and data_zero.dtype != np.uint8:
            continue
        if has_bad_pair(in_order(node, weight)):
            yield node, weight, np.zeros((), np.int8) if zero is None else zero


# --- the same model, with sums of 32 bits ------------------------------------------------------------


def make_weight_unsigned(model, node, *codes):
    """128 more, and 128 more as its zero point: the same differences. Products of two unsigned are added
    in 32 bits everywhere."""
    places = PLACES[node.op_type][1:]
    node.input.extend([""] * (max(places) + 1 - len(node.input)))
    for place, signed in zip(places, codes):
        node.input[place] = f"{node.output[0]} unsigned {place}"
        shifted = (signed.astype(np.int16) + 128).astype(np.uint8)
        model.graph.initializer.append(numpy_helper.from_array(shifted, node.input[place]))


def exact(session, path):
    """The session of a model, or, where that would lose what is beyond 16 bits, one of the same model
    with unsigned weights."""
    model = onnx.load(path) if in_onnxruntime() else None
    ending = list(nodes_that_end(model)) if model else []
    judged[f"models that ONNX Runtime runs {'with unsigned weights' if ending else 'as they are'}"] += 1
    if not ending:
        return session
    for node, weight, zero in ending:
        make_weight_unsigned(model, node, weight, zero)
    return session_of(model)
