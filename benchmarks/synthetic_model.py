#!/usr/bin/env python3
"""Writes a transformer of any size with random weights, as ONNX with external data.

    synthetic_model.py OUT.onnx GIGABYTES [--hidden 4096] [--inner 11008] [--type float16]

As many layers of one head of attention and a gated product of `inner` channels as the size takes, each
of 4 H x H + 3 H x F weights in float32, or float16; memory stays that of a few megabytes. ONNX Runtime
runs it.
"""

import argparse
import pathlib

import numpy
import onnx
from onnx import helper

CHUNK = 1 << 22  # random numbers that are made once; weights are windows into them


class Writer:
    def __init__(self, path, element):
        self.element = numpy.dtype(element)
        self.onnx_type = helper.np_dtype_to_tensor_dtype(self.element)
        self.path = pathlib.Path(path)
        self.data = self.path.with_name(self.path.name + ".data")
        self.file = open(self.data, "wb")
        random = numpy.random.default_rng(1)
        # Twice, so that a window may begin anywhere.
        self.numbers = numpy.tile((random.standard_normal(CHUNK) * 0.02).astype(element), 2)
        self.bytes = 0
        self.initializers, self.nodes = [], []

    def weight(self, name, rows, columns):
        tensor = onnx.TensorProto(name=name, data_type=self.onnx_type, dims=[rows, columns],
                                  data_location=onnx.TensorProto.EXTERNAL)
        size = rows * columns * self.element.itemsize
        for key, value in (("location", self.data.name), ("offset", self.bytes), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        begin = (len(self.initializers) * 7919) % CHUNK
        left = rows * columns
        while left:
            count = min(left, CHUNK)
            self.file.write(self.numbers[begin:begin + count].data)
            left -= count
        self.bytes += size
        self.initializers.append(tensor)
        return name

    def constant(self, name, values):
        self.initializers.append(onnx.numpy_helper.from_array(numpy.array(values, self.element), name))
        return name

    def add(self, kind, *operands, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name, **attributes))
        return name

    def product(self, data, name, rows, columns):
        return self.add("MatMul", data, self.weight(name, rows, columns))

    def layer(self, index, x, hidden, inner):
        here = f"layers.{index}"
        normal = self.add("LayerNormalization", x, self.constant(f"{here}.norm1", [1.0] * hidden))
        query, key, value = (self.product(normal, f"{here}.{part}", hidden, hidden) for part in "qkv")
        scores = self.add("MatMul", query, self.add("Transpose", key, perm=[0, 2, 1]))
        scores = self.add("Mul", scores, self.constant(f"{here}.scale", hidden ** -0.5))
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        x = self.add("Add", x, self.product(mixed, f"{here}.o", hidden, hidden))
        normal = self.add("LayerNormalization", x, self.constant(f"{here}.norm2", [1.0] * hidden))
        gate = self.add("Sigmoid", self.product(normal, f"{here}.gate", hidden, inner))
        up = self.add("Mul", gate, self.product(normal, f"{here}.up", hidden, inner))
        return self.add("Add", x, self.product(up, f"{here}.down", inner, hidden))

    def finish(self, x, hidden):
        self.nodes[-1].output[0] = "y"
        shape = [1, "tokens", hidden]
        graph = helper.make_graph(
            self.nodes, "transformer",
            [helper.make_tensor_value_info("x", self.onnx_type, shape)],
            [helper.make_tensor_value_info("y", self.onnx_type, shape)], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        self.file.close()
        self.path.write_bytes(model.SerializeToString())


def write(path, gigabytes, hidden, inner, element="float32"):
    """Returns how many bytes of weights there are."""
    writer = Writer(path, element)
    weights = 4 * hidden * hidden + 3 * hidden * inner
    layers = max(1, round(gigabytes * 1e9 / (weights * writer.element.itemsize)))
    x = "x"
    for index in range(layers):
        x = writer.layer(index, x, hidden, inner)
    writer.finish(x, hidden)
    return writer.bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("gigabytes", type=float)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--inner", type=int, default=11008)
    parser.add_argument("--type", choices=("float32", "float16"), default="float32")
    options = parser.parse_args()
    print(write(options.output, options.gigabytes, options.hidden, options.inner, options.type),
          "bytes of weights")


if __name__ == "__main__":
    main()
