"""How far the weights of a quantized ONNX model are from those of the float one, with NumPy alone.

    weight_error.py FLOAT.onnx QUANTIZED.onnx     prints decibels
"""

import math
import pathlib
import re
import sys

import numpy
import onnx
from onnx import TensorProto

PACKED = {TensorProto.INT4: True, TensorProto.UINT4: False}  # signed?


def unpack(halves):
    """Codes 0..15 of bytes, the low half first."""
    return numpy.stack([halves & 15, halves >> 4], axis=-1).reshape(*halves.shape[:-1], -1)


class Tensors:
    """Initializers of a file, read one at a time."""

    def __init__(self, path):
        self.folder = pathlib.Path(path).parent
        self.graph = onnx.load(path, load_external_data=False).graph
        self.by_name = {tensor.name: tensor for tensor in self.graph.initializer}
        self.maker = {name: node for node in self.graph.node for name in node.output}

    def raw(self, tensor):
        if tensor.data_location != TensorProto.EXTERNAL:
            return numpy.frombuffer(tensor.raw_data, numpy.uint8)
        place = {entry.key: entry.value for entry in tensor.external_data}
        return numpy.fromfile(self.folder / place["location"], numpy.uint8,
                              offset=int(place.get("offset", 0)), count=int(place["length"]))

    def __getitem__(self, name):
        tensor = self.by_name[name]
        if tensor.data_type in PACKED:
            codes = unpack(self.raw(tensor)).reshape(-1)[:math.prod(tensor.dims)].astype(numpy.int8)
            if PACKED[tensor.data_type]:
                codes[codes > 7] -= 16
            return codes.reshape(tensor.dims)
        if tensor.raw_data or tensor.data_location == TensorProto.EXTERNAL:
            kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            return self.raw(tensor).view(kind).reshape(tensor.dims)
        return onnx.numpy_helper.to_array(tensor)


def attributes(node):
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def dequantized(tensors, node):
    """What a DequantizeLinear gives."""
    codes, scales = tensors[node.input[0]].astype(numpy.float32), tensors[node.input[1]]
    zero = tensors[node.input[2]] if len(node.input) > 2 and node.input[2] else numpy.int8(0)
    settings = attributes(node)
    axis, block = settings.get("axis", 1) % codes.ndim, settings.get("block_size", 0)

    def spread(values):
        values = numpy.asarray(values, numpy.float32)
        if values.size == 1:
            return values.reshape(())
        if block:
            return numpy.repeat(values, block, axis).take(range(codes.shape[axis]), axis)
        return values.reshape([-1 if i == axis else 1 for i in range(codes.ndim)])

    return (codes - spread(zero)) * spread(scales)


def weight_of(tensors, node):
    """The weight that a matrix product has after it was quantized, as [in x out]."""
    if node.op_type == "MatMulNBits":
        settings = attributes(node)
        rows, columns, block = settings["N"], settings["K"], settings["block_size"]
        codes = tensors[node.input[1]]
        codes = (unpack(codes) if settings["bits"] == 4 else codes).astype(numpy.float32)
        middle = 1 << (settings["bits"] - 1)
        blocks = -(-columns // block)
        if len(node.input) > 3 and node.input[3]:
            zero = tensors[node.input[3]].reshape(rows, -1)
            zero = (unpack(zero) if settings["bits"] == 4 else zero)[:, :blocks].astype(numpy.float32)
        else:
            zero = numpy.full((rows, blocks), middle, numpy.float32)
        scales = tensors[node.input[2]].reshape(rows, blocks, 1)
        real = (codes.reshape(rows, blocks, block) - zero[:, :, None]) * scales
        return real.reshape(rows, -1)[:, :columns].T
    if node.op_type == "MatMulInteger":
        codes = tensors[node.input[1]].astype(numpy.float32)
        base = node.input[1].removesuffix("_quantized")
        return (codes - tensors[base + "_zero_point"]) * tensors[base + "_scale"]
    return dequantized(tensors, tensors.maker[node.input[1]])


def weight_sqnr_db(float_model, quantized_model, largest_count=7):
    """Decibels of signal over noise of the first weights of matrix products, together."""
    before, after = Tensors(float_model), Tensors(quantized_model)
    signal = noise = 0.0
    found = 0
    for node in before.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in before.by_name:
            continue
        same = re.compile(re.escape(node.name) + r"(?!\d)")
        quantized = next(other for other in after.graph.node
                         if same.match(other.name) and other.op_type in ("MatMul", "MatMulInteger", "MatMulNBits"))
        real = before[node.input[1]]
        signal += float(numpy.square(real, dtype=numpy.float64).sum())
        noise += float(numpy.square(real - weight_of(after, quantized), dtype=numpy.float64).sum())
        found += 1
        if found == largest_count:
            break
    return 10 * math.log10(signal / noise)


if __name__ == "__main__":
    print(weight_sqnr_db(sys.argv[1], sys.argv[2]))
