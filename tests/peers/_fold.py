"""What the constants of an ONNX graph come to, in numpy, from ONNX's and ONNX Runtime's definitions.

Beside the values of a tensor go arrays of the same shape that say, element by element, where they come
from:

    values   what ONNX computes
    ids      which element of which real constant this is; -1: of none
    codes    the integer that was dequantized
    step     between neighbouring codes, as a real number: the scale's magnitude
    low high the real numbers that the least and the largest code of the type stand for
"""

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MOVES = ("Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split",
         "Concat", "Expand", "Cast")
ARITHMETIC = ("Gather", "Mul", "Sub", "DequantizeLinear", "GatherBlockQuantized", "Constant")
CODES = (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT4, TensorProto.UINT4)
MISSING = {"ids": -1, "codes": 0, "step": 0.0, "low": -np.inf, "high": np.inf}


def attributes_of(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def is_real(dtype):
    return dtype == ml_dtypes.bfloat16 or np.issubdtype(dtype, np.floating)


def is_integer(dtype):
    return np.dtype(dtype) in (np.int8, np.uint8, np.int16, np.uint16, np.int32, ml_dtypes.int4,
                               ml_dtypes.uint4)


def unpacked(data, count, signed):
    """Integers of 4 bits, two a byte, the first one in the low half."""
    data = np.frombuffer(data, np.uint8)
    halves = np.stack([data & 15, data >> 4], -1).ravel()[:count].astype(np.int8)
    if signed:
        halves = np.where(halves > 7, halves - 16, halves)
    return halves.astype(ml_dtypes.int4 if signed else ml_dtypes.uint4)


def array_of(tensor):
    if tensor.data_type in (TensorProto.INT4, TensorProto.UINT4):
        assert tensor.HasField("raw_data"), f"{tensor.name}: 4 bits that are not packed"
        return unpacked(tensor.raw_data, int(np.prod(tensor.dims)),
                        tensor.data_type == TensorProto.INT4).reshape(tensor.dims)
    return numpy_helper.to_array(tensor)


def ends_of(dtype):
    info = ml_dtypes.iinfo(dtype)
    return float(info.min), float(info.max)


class GraphReader:
    """Constants and producers of a graph, by value name."""

    def __init__(self, model, follow=MOVES + ARITHMETIC):
        self.graph, self.follow = model.graph, follow
        self.tensors = {t.name: t for t in self.graph.initializer}
        self.producers = {}
        for node in self.graph.node:
            attributes = attributes_of(node) if node.op_type == "Constant" else {}
            if "value" in attributes:
                self.tensors[node.output[0]] = attributes["value"]
            self.producers.update((name, node) for name in node.output if name)
        self.reached = set()  # the constants that were read
        self.offsets, self.memory, total = {}, {}, 0
        for name, tensor in self.tensors.items():
            dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            if is_real(dtype):
                self.offsets[name] = total
                total += int(np.prod(tensor.dims))

    def array(self, name):
        return array_of(self.tensors[name])

    def fold(self, name, known=None):
        """The arrays of a value, or None where it is not constant. `known`: values to be taken for
        others than the graph has, by name."""
        memory = self.memory if known is None else {}
        if name not in memory:
            memory[name] = None  # a graph has no cycles
            memory[name] = self.computed(name, known)
        return memory[name]

    def computed(self, name, known):
        if known is not None and name in known:
            return {"values": known[name]}
        if name in self.tensors:
            self.reached.add(name)
            arrays = {"values": self.array(name)}
            if name in self.offsets:
                count = arrays["values"].size
                arrays["ids"] = (np.arange(count) + self.offsets[name]).reshape(arrays["values"].shape)
            return arrays
        node = self.producers.get(name)
        if node is None or node.op_type not in self.follow or node.op_type == "Constant":
            return None
        operands = []
        for operand in node.input:
            operands.append(self.fold(operand, known) if operand else None)
            if operand and operands[-1] is None:
                return None
        results = getattr(self, node.op_type)(node, attributes_of(node), *operands)
        return results[list(node.output).index(name)] if isinstance(results, list) else results

    def parameter(self, attributes, name, operand):
        """What is an attribute in some opsets, and an operand in others."""
        return operand["values"].tolist() if operand is not None else attributes.get(name)

    # --- moves ---------------------------------------------------------------------------------------

    def Identity(self, node, attributes, x):
        return x

    def Transpose(self, node, attributes, x):
        return each(x, lambda a: a.transpose(attributes.get("perm")))

    def Reshape(self, node, attributes, x, shape=None):
        dims, old = self.parameter(attributes, "shape", shape), x["values"].shape
        if not attributes.get("allowzero"):
            dims = [old[i] if d == 0 else d for i, d in enumerate(dims)]
        return each(x, lambda a: a.reshape([int(d) for d in dims]))

    def Squeeze(self, node, attributes, x, axes=None):
        axes = self.parameter(attributes, "axes", axes)
        return each(x, lambda a: a.squeeze(None if axes is None else tuple(axes)))

    def Unsqueeze(self, node, attributes, x, axes=None):
        axes = self.parameter(attributes, "axes", axes)
        return each(x, lambda a: np.expand_dims(a, tuple(axes)))

    def Flatten(self, node, attributes, x):
        axis = attributes.get("axis", 1)
        return each(x, lambda a: a.reshape(int(np.prod(a.shape[:axis])), -1))

    def Slice(self, node, attributes, x, starts=None, ends=None, axes=None, steps=None):
        starts = self.parameter(attributes, "starts", starts)
        ends = self.parameter(attributes, "ends", ends)
        axes = self.parameter(attributes, "axes", axes) or range(len(starts))
        steps = self.parameter({}, "", steps) or [1] * len(starts)
        picked = [slice(None)] * x["values"].ndim
        for axis, start, end, step in zip(axes, starts, ends, steps):
            extent = x["values"].shape[axis]
            if step < 0 and end < -extent:
                end = None  # numpy's name of the place before the first element
            picked[axis] = slice(start, end, step)
        return each(x, lambda a: a[tuple(picked)])

    def Split(self, node, attributes, x, parts=None):
        axis = attributes.get("axis", 0)
        sizes = self.parameter(attributes, "split", parts)
        count, extent = len(node.output), x["values"].shape[axis]
        if sizes is None:
            chunk = -(-extent // count)
            sizes = [min(chunk, extent - i * chunk) for i in range(count)]
        ends = np.cumsum(sizes)[:-1]
        split = {key: np.split(a, ends, axis) for key, a in x.items()}
        return [{key: parts[i] for key, parts in split.items()} for i in range(count)]

    def Concat(self, node, attributes, *parts):
        keys = {key for part in parts for key in part}
        whole = [{key: part.get(key, np.full(part["values"].shape, MISSING.get(key)))
                  for key in keys} for part in parts]
        return {key: np.concatenate([part[key] for part in whole], attributes["axis"])
                for key in keys}

    def Expand(self, node, attributes, x, shape):
        dims = np.broadcast_shapes(x["values"].shape, tuple(shape["values"].tolist()))
        return each(x, lambda a: np.broadcast_to(a, dims))

    def Cast(self, node, attributes, x):
        dtype, values = helper.tensor_dtype_to_np_dtype(attributes["to"]), x["values"]
        cast = {**x, "values": values.astype(dtype)}
        if is_integer(values.dtype):
            low, high = ends_of(values.dtype)
            cast.setdefault("low", np.full(values.shape, low))
            cast.setdefault("high", np.full(values.shape, high))
            if is_real(dtype):
                cast["codes"], cast["step"] = values.astype(np.int32), np.ones(values.shape)
        return cast

    # --- what turns codes into real values -------------------------------------------------------------

    def Gather(self, node, attributes, x, indices):
        return each(x, lambda a: np.take(a, indices["values"], attributes.get("axis", 0)))

    def Mul(self, node, attributes, a, b):
        if "step" in b:
            a, b = b, a
        factor = b["values"].astype(np.float64)
        product = {**a, "values": a["values"] * b["values"]}
        product.pop("ids", None)
        if "step" in a:
            product["step"] = a["step"] * np.abs(factor)
            ends = a["low"] * factor, a["high"] * factor
            product["low"], product["high"] = np.minimum(*ends), np.maximum(*ends)
        return {key: np.broadcast_to(v, product["values"].shape) for key, v in product.items()}

    def Sub(self, node, attributes, a, b):
        difference = {**a, "values": a["values"] - b["values"]}
        difference.pop("ids", None)
        if "step" in a:
            zero = b["values"].astype(np.float64)
            difference["low"], difference["high"] = a["low"] - zero, a["high"] - zero
        return difference

    def DequantizeLinear(self, node, attributes, x, scale, zero_point=None):
        return real(x, scale, zero_point, attributes.get("axis", 1), attributes.get("block_size", 0))

    def GatherBlockQuantized(self, node, attributes, x, indices, scale, zero_point=None):
        whole = real(x, scale, zero_point, attributes.get("quantize_axis", 1),
                     attributes.get("block_size", 128))
        return each(whole, lambda a: np.take(a, indices["values"], attributes.get("gather_axis", 0)))


def each(arrays, move):
    return {key: move(array) for key, array in arrays.items()}


def real(x, scale, zero_point, axis, block):
    """(codes - zero points) * scales: one of each, one for each index of an axis, or one for each run of
    `block` along it, the last of which may be short."""
    codes = x["values"].astype(np.int32)

    def spread(parameters):
        if parameters.ndim == 0 or (parameters.size == 1 and not block):
            return parameters.reshape([1] * codes.ndim)
        if not block:
            assert parameters.shape == (codes.shape[axis],), f"{parameters.shape} along axis {axis}"
            return along(parameters, axis % codes.ndim, codes.ndim)
        extent = codes.shape[axis]
        assert parameters.shape[axis] == -(-extent // block), f"{parameters.shape}, blocks of {block}"
        return np.take(np.repeat(parameters, block, axis), np.arange(extent), axis)

    scales = spread(scale["values"])
    zeros = 0 if zero_point is None else spread(zero_point["values"].astype(np.int32))
    assert zero_point is None or zero_point["values"].shape == scale["values"].shape, "zero points"
    low, high = ends_of(x["values"].dtype)
    low, high = x.get("low", low), x.get("high", high)
    wide = scales.astype(np.float64)
    ends = (low - zeros) * wide, (high - zeros) * wide
    arrays = {"values": ((codes - zeros).astype(np.float32) * scales.astype(np.float32)).astype(
                  scales.dtype),
              "codes": codes, "step": np.abs(wide), "low": np.minimum(*ends),
              "high": np.maximum(*ends)}
    return each(arrays, lambda a: np.broadcast_to(a, codes.shape))


def along(vector, axis, rank):
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


def matmul_nbits(reader, node):
    """The weight `[K, N]` of a MatMulNBits, as `fold` gives it."""
    attributes = attributes_of(node)
    bits, k, n, block = (attributes[key] for key in ("bits", "K", "N", "block_size"))
    blocks = -(-k // block)

    def integers(name, width):
        """Rows of `width` integers that are packed from the low half on."""
        reader.reached.add(name)
        packed = reader.array(name).reshape(n, -1)
        if bits == 4:
            packed = np.stack([packed & 15, packed >> 4], -1).reshape(n, -1)
        return packed[:, :width].astype(ml_dtypes.uint4 if bits == 4 else np.uint8)

    codes = integers(node.input[1], k)
    scales = reader.array(node.input[2]).reshape(n, blocks)
    given = len(node.input) > 3 and node.input[3]
    zeros = integers(node.input[3], blocks) if given else np.full((n, blocks), 1 << (bits - 1))
    whole = real({"values": codes}, {"values": scales}, {"values": zeros}, 1, block)
    return each(whole, np.transpose)
