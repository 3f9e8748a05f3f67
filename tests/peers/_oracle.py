"""What weight-only quantization must come to, from its definition, in numpy.

Nothing here knows how the command works: the weights, their channel axes and their codes are derived
from the original model, and the written model is read like any other ONNX file.
"""

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

MOVES = ("Identity", "Transpose", "Reshape")


# --- numbers ---------------------------------------------------------------------------------------


def symmetric_int8(weight, axis):
    """Codes and scales, one scale for each index of `axis`: largest magnitude / 127, and 1 where that
    is no normal float32 (a channel of zeros); codes round to even and stay within 127."""
    weight = np.asarray(weight, np.float32)
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scales = (np.abs(weight).max(axis=others) / np.float32(127)).astype(np.float32)
    scales[scales < np.finfo(np.float32).tiny] = 1
    codes = np.clip(np.rint(weight / along(scales, axis, weight.ndim)), -127, 127).astype(np.int8)
    return codes, scales


def along(vector, axis, rank):
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


def dequantized(codes, scales, axis, dtype=np.float32):
    return (codes.astype(np.float32) * along(scales, axis, codes.ndim)).astype(dtype)


# --- graphs ----------------------------------------------------------------------------------------


def attributes_of(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


class GraphReader:
    """Constants and producers of a graph, by value name."""

    def __init__(self, model):
        self.graph = model.graph
        self.tensors = {t.name: t for t in self.graph.initializer}
        self.producers = {}
        for node in self.graph.node:
            attributes = attributes_of(node) if node.op_type == "Constant" else {}
            if "value" in attributes:
                self.tensors[node.output[0]] = attributes["value"]
            self.producers.update((name, node) for name in node.output if name)

    def array(self, name):
        return numpy_helper.to_array(self.tensors[name])

    def is_constant(self, name):
        return name in self.tensors

    def source(self, name):
        """The constant that moves of elements make `name` from, and those moves, the first one first;
        (None, []) where something else makes it."""
        moves = []
        while not self.is_constant(name):
            node = self.producers.get(name)
            if node is None or node.op_type not in MOVES or node.domain not in ("", "ai.onnx"):
                return None, []
            if node.op_type == "Reshape" and len(node.input) > 1:
                if not self.is_constant(node.input[1]):
                    return None, []
            moves.append(node)
            name = node.input[0]
        return name, moves[::-1]

    def apply(self, moves, array):
        for node in moves:
            array = self.move(node, array)
        return array

    def move(self, node, array):
        attributes = attributes_of(node)
        if node.op_type == "Transpose":
            return array.transpose(attributes.get("perm"))
        if node.op_type == "Reshape":
            shape = self.array(node.input[1])
            if not attributes.get("allowzero"):
                shape = [array.shape[i] if d == 0 else d for i, d in enumerate(shape)]
            return array.reshape([int(d) for d in shape])
        return array


# --- the original model: which weights, and along which axis ------------------------------------------


def kept_axes(node, ranks):
    """(operand, axis) that the sums of a node do not run over, for operands that can be weights."""
    attributes = attributes_of(node)
    if node.op_type == "MatMul":
        wanted = [(0, -2), (1, -1)]  # rows of the left matrix, columns of the right one
    elif node.op_type == "Gemm":
        wanted = [(0, 1 if attributes.get("transA") else 0), (1, 0 if attributes.get("transB") else 1)]
    elif node.op_type == "Conv":
        wanted = [(1, 0)]  # output channels
    else:
        wanted = []
    return [(i, axis % ranks[i]) for i, axis in wanted if ranks.get(i, 0) >= 2]


class Weight:
    """A constant of at least two dimensions that products read."""

    def __init__(self, name, array):
        self.name, self.array = name, array
        self.axes = set()  # the axes of `array` that one of its readers keeps
        self.uses = []     # (node, operand, moves)


def source_axes(reader, moves, shape, axis):
    """The axes of a constant whose index is the index along `axis` after the moves: none where the
    moves mix it with others."""
    found = set()
    for source in range(len(shape)):
        index = np.broadcast_to(along(np.arange(shape[source]), source, len(shape)), shape)
        moved = reader.apply(moves, index)
        wanted = along(np.arange(moved.shape[axis]), axis, moved.ndim)
        if np.array_equal(moved, np.broadcast_to(wanted, moved.shape)):
            found.add(source)
    return found


def find_weights(reader):
    weights = {}
    for node in reader.graph.node:
        if node.domain not in ("", "ai.onnx"):
            continue
        found = {i: reader.source(name) for i, name in enumerate(node.input) if name}
        found = {i: source for i, source in found.items() if source[0] is not None}
        moved = {i: reader.apply(moves, reader.array(name)) for i, (name, moves) in found.items()
                 if node.op_type in ("MatMul", "Gemm", "Conv")}
        for operand, axis in kept_axes(node, {i: array.ndim for i, array in moved.items()}):
            name, moves = found[operand]
            array = reader.array(name)
            if array.ndim < 2 or array.size == 0 or not is_real(array.dtype):
                continue
            weight = weights.setdefault(name, Weight(name, array))
            weight.axes |= source_axes(reader, moves, array.shape, axis)
            weight.uses.append((node, operand, moves))
    return weights


def is_real(dtype):
    return dtype == ml_dtypes.bfloat16 or np.issubdtype(dtype, np.floating)


# --- the written model: what it holds for a weight ---------------------------------------------------


class Stored:
    """The integers and scales behind an operand, and the real values that the operand comes to."""

    def __init__(self, codes, scales, values, form):
        self.codes, self.scales, self.values, self.form = codes, scales, values, form


def stored_for(reader, name):
    """What a written model computes the value `name` from, or None where it is stored as floats."""
    node, after = reader.producers.get(name), []
    while node is not None and node.op_type in MOVES:
        after.append(node)
        node = reader.producers.get(node.input[0])
    if node is None or node.op_type == "Constant":
        return None
    to = None
    if node.op_type == "Cast":  # dequantized in float32, then narrowed
        to = onnx.helper.tensor_dtype_to_np_dtype(attributes_of(node)["to"])
        node = reader.producers[node.input[0]]
    if node.op_type == "DequantizeLinear":
        stored = by_dequantize_linear(reader, node)
    elif node.op_type == "Mul":
        stored = by_arithmetic(reader, node)
    else:
        return None
    if to is not None:
        stored.values = stored.values.astype(to)
    stored.values = reader.apply(after[::-1], stored.values)
    return stored


def by_dequantize_linear(reader, node):
    name, moves = reader.source(node.input[0])
    codes = reader.array(name)
    moved = reader.apply(moves, codes)
    scales = reader.array(node.input[1])
    zero_points = reader.array(node.input[2])
    assert zero_points.dtype == np.int8 and zero_points.shape == scales.shape, node.input[2]
    assert not zero_points.any(), f"{node.input[2]} is not zero"
    axis = attributes_of(node)["axis"]
    assert scales.shape == (moved.shape[axis],), f"{scales.shape} scales along axis {axis}"
    return Stored(codes, scales, dequantized(moved, scales, axis), node.op_type)


def by_arithmetic(reader, node):
    cast = reader.producers[node.input[0]]
    assert cast.op_type == "Cast", f"{cast.op_type} before Mul"
    name, moves = reader.source(cast.input[0])
    codes = reader.array(name)
    scales = reader.array(node.input[1])
    values = reader.apply(moves, codes).astype(np.float32) * scales
    return Stored(codes, scales.ravel(), values, "Cast and Mul")
