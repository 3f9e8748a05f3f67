#!/usr/bin/env python3
"""How much longer a scheme of Python takes than the same one in C++, on a graph of weights, transposes and products.

    PYTHONPATH=build/release/python:examples/python .venv/bin/python benchmarks/python_scheme.py [NODES]

Three methods of examples/python/weight_only_channel_wise.py, and the built-in scheme; the median of five runs each,
alternating, in one thread. Both write the same bytes.
"""

import statistics
import sys
import time

import numpy as np
import quadrant as qd
import weight_only_channel_wise as example
from onnx import TensorProto, helper, numpy_helper
from quadrant import scheme


class ThreeMethods(scheme.Quantization):
    pass


for op, method in {
    "constant": example.ParameterQuantizationMethod,
    "transpose": example.PermuteQuantizationMethod,
    "matmul": example.MatmulQuantizationMethod,
}.items():
    scheme.register_quantizer(quantization=ThreeMethods, op_type=op)(method)


def model(nodes):
    weight = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    made, weights, last = [], [], "x"
    for i in range(nodes // 3):
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        made.append(helper.make_node("Transpose", [f"w{i}"], [f"t{i}"], perm=[1, 0]))
        made.append(helper.make_node("MatMul", [last, f"t{i}"], [f"y{i}"]))
        last = f"y{i}"
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4])] for name in ("x", last)]
    graph = helper.make_graph(made, "chain", *ports, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def seconds(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def main():
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    graph = qd.read(model(nodes))
    times = []
    for _ in range(5):
        cpp, theirs = seconds(lambda: qd.quantize(graph, "weight-only", threads=1))
        python, ours = seconds(lambda: scheme.quantise_graph(graph=graph, quantization=ThreeMethods(), gain="bytes"))
        times.append((cpp, python))
    cpp, python = (statistics.median(each) for each in zip(*times, strict=True))
    if ours.to_onnx() != theirs.to_onnx():
        sys.exit("the files differ")
    print(f"{nodes} nodes: C++ {cpp:.2f} s, Python {python:.2f} s, {python / cpp:.1f} times as long")


if __name__ == "__main__":
    main()
