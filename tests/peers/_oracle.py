"""What weight-only quantization must come to, from its definition, in numpy.

Nothing here knows how the command works: the weights, their channel axes and their codes are derived
from the original model, and the written model is read like any other ONNX file.
"""

import numpy as np

from _fold import MOVES, along, attributes_of, each, matmul_nbits


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


def dequantized(codes, scales, axis):
    return codes.astype(np.float32) * along(scales, axis, codes.ndim)


# --- the original model: which weights, and along which axis ------------------------------------------


def kept_axes(node, shapes):
    """(operand, axis) that the sums of a node do not run over, for operands that can be weights.
    `shapes`: of the operands that are constants."""
    attributes = attributes_of(node)
    if node.op_type == "MatMul":
        wanted = [(0, -2), (1, -1)]  # rows of the left matrix, columns of the right one
    elif node.op_type == "Gemm":
        wanted = [(0, 1 if attributes.get("transA") else 0), (1, 0 if attributes.get("transB") else 1)]
    elif node.op_type == "Conv":
        wanted = [(1, 0)]  # output channels
    elif node.op_type == "ConvTranspose":
        wanted = [(1, 1)]  # the same, of a group
    elif node.op_type in ("LSTM", "GRU", "RNN"):
        wanted = [(1, 1), (2, 1)]  # rows: what one gate of one unit computes
    elif node.op_type == "Gather":
        wanted = [(0, attributes.get("axis", 0))]  # what one lookup reads
    elif node.op_type == "Einsum":
        wanted = list(einsum_axes(attributes["equation"].decode(), shapes))
    else:
        wanted = []
    return [(i, axis % len(shapes[i])) for i, axis in wanted if len(shapes.get(i, ())) >= 2]


def einsum_axes(equation, shapes):
    """The longest axis that only the weight and the result have, of each of two operands."""
    left, result = equation.replace(" ", "").split("->")
    operands = left.split(",")
    for i, shape in shapes.items():
        if len(operands) != 2 or "." in left:
            continue
        kept = [axis for axis, label in enumerate(operands[i])
                if label in result and label not in operands[1 - i]]
        if kept:
            yield i, max(kept, key=lambda axis: shape[axis])


class Use:
    """An operand that is made of real constants alone, a graph's output that is, or a name that
    subgraphs read."""

    def __init__(self, node, operand, name, arrays, kept):
        self.node, self.operand, self.name, self.arrays, self.kept = node, operand, name, arrays, kept

    def __str__(self):
        if self.node is None:
            return self.name
        return f"operand {self.operand} of {self.node.name} ({self.node.op_type})"


class Weight:
    """A constant of at least two dimensions that products, recurrent layers or lookups read."""

    def __init__(self, name, array, offset):
        self.name, self.array, self.offset = name, array, offset
        self.uses = []

    def consumed(self):
        return any(use.kept is not None for use in self.uses)

    def places(self, use):
        """Where elements of this weight are in a use, and which ones they are."""
        ids = use.arrays["ids"].ravel() - self.offset
        mine = (ids >= 0) & (ids < self.array.size)
        return mine, ids[mine]

    def axes(self, use):
        """The axes of the weight of which an index is an index of the axis that the use keeps."""
        mine, ids = self.places(use)
        shape = use.arrays["values"].shape
        kept = np.broadcast_to(along(np.arange(shape[use.kept]), use.kept, len(shape)), shape)
        kept = kept.ravel()[mine]
        for axis, index in enumerate(np.unravel_index(ids, self.array.shape)):
            if determines(index, kept) and determines(kept, index):
                yield axis

    def candidates(self):
        """(axis, codes, real values as float32) that the definition allows: a scale for each index of
        an axis that a reader keeps, or, where moves mix it with others, for each index behind the moves (axis
        None)."""
        readers = [use for use in self.uses if use.kept is not None]
        axes = sorted({axis for use in readers for axis in self.axes(use)})
        for axis in axes:
            codes, scales = symmetric_int8(self.array, axis)
            yield axis, codes, dequantized(codes, scales, axis)
        for use in readers:
            values = use.arrays["values"]
            if not list(self.axes(use)) and values.size == self.array.size:
                codes, scales = symmetric_int8(values, use.kept)
                back = np.argsort(self.places(use)[1])
                real = dequantized(codes, scales, use.kept)
                yield None, *(a.ravel()[back].reshape(self.array.shape) for a in (codes, real))


def determines(a, b):
    """Equal elements of `a` have equal ones in `b` beside them."""
    seen = np.zeros(a.max() + 1, b.dtype)
    seen[a] = b
    return np.array_equal(seen[a], b)


def captured(graph):
    """Names that the subgraphs of a graph may read from outside of them."""
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from captured(inner)
                yield from (name for n in inner.node for name in n.input if name)
                yield from (output.name for output in inner.output)


def uses_of(reader):
    for node in reader.graph.node:
        if node.op_type in MOVES and all(reader.fold(name) for name in node.output if name):
            continue
        found = {i: reader.fold(name) for i, name in enumerate(node.input) if name}
        found = {i: arrays for i, arrays in found.items() if arrays and "ids" in arrays}
        known = node.domain in ("", "ai.onnx")
        kept = dict(kept_axes(node, {i: a["values"].shape for i, a in found.items()}) if known else ())
        for i, arrays in found.items():
            yield Use(node, i, node.input[i], arrays, kept.get(i))
    for name in sorted({output.name for output in reader.graph.output} | set(captured(reader.graph))):
        arrays = reader.fold(name)
        if arrays and "ids" in arrays:
            yield Use(None, 0, name, arrays, None)


def find_weights(reader):
    weights = {}
    names, starts = list(reader.offsets), list(reader.offsets.values())
    for use in uses_of(reader):
        ids = use.arrays["ids"]
        for i in np.unique(np.searchsorted(starts, ids[ids >= 0], "right") - 1):
            if len(reader.tensors[names[i]].dims) == 0:
                continue
            if names[i] not in weights:
                weights[names[i]] = Weight(names[i], reader.array(names[i]), starts[i])
            weights[names[i]].uses.append(use)
    return {name: weight for name, weight in weights.items() if weight.consumed()}


# --- the written model: what it holds for a use --------------------------------------------------------


def found_for(written, use, index_rank=1):
    """What a written model computes for a use in the original, as `GraphReader.fold` gives it; None
    where that does not reach the operation as a tensor, since a scale is applied behind it.
    `index_rank`: of the indices of a lookup."""
    if use.node is None:
        return written.fold(use.name)
    output = next(name for name in use.node.output if name)
    if use.node.op_type == "Gather" and use.operand == 0:
        return table_of(written, use, output, index_rank)
    twin = written.producers.get(output)
    if twin is None:  # a sum behind the product is computed before the scale is
        return None
    if twin.op_type == "Add" and use.node.op_type == "Gemm":
        twin = written.producers.get(twin.input[0], twin)  # a bias that is no vector
    if twin.op_type == "MatMulNBits" and use.operand == 1:
        arrays = matmul_nbits(written, twin)
        return each(arrays, np.transpose) if attributes_of(use.node).get("transB") else arrays
    if twin.op_type not in (use.node.op_type, "MatMulNBits"):
        return None
    return written.fold(twin.input[use.operand])


def table_of(written, use, output, index_rank):
    """All rows of a table, by looking them all up: who dequantizes rows alone has no whole table."""
    axis = attributes_of(use.node).get("axis", 0)
    shape = use.arrays["values"].shape
    rows = np.arange(shape[axis]).reshape([1] * (index_rank - 1) + [-1])
    arrays = written.fold(output, {use.node.input[1]: rows})
    return arrays and each(arrays, lambda a: a.reshape(shape))
