#!/usr/bin/env python3
"""How much longer quantizing a large model takes from Python than by the command, which does the same.

    PYTHONPATH=build/release/python .venv/bin/python benchmarks/python_overhead.py build/release/bin/quadrant [MEGABYTES [TIMES]]

A model of 1,024 MB of float weights unless told, on a file system in memory where there is one; weights of 8 bits and of
4. Whole processes, from start to end, five of each unless told, alternating, and the call alone, as in a program that
goes on. Both write the same bytes. The figures are ratios of medians.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper

PROGRAM = """
import sys, time
import quadrant as qd
start = time.perf_counter()
qd.quantize(sys.argv[1], "weight-only", bits=int(sys.argv[3])).save(sys.argv[2])
print(time.perf_counter() - start)
"""
WIDTH = 2048


def model(path, megabytes):
    numbers = np.random.default_rng(0)
    count = max(1, megabytes * 2**20 // (4 * WIDTH * WIDTH))
    nodes, weights, last = [], [], "x"
    for i in range(count):
        contents = numbers.standard_normal((WIDTH, WIDTH), dtype=np.float32).tobytes()
        weights.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, [WIDTH, WIDTH], contents, raw=True))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"y{i}"]))
        last = f"y{i}"
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH])] for name in ("x", last)]
    graph = helper.make_graph(nodes, "products", *ports, weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path.write_bytes(made.SerializeToString())


def timed(call):
    start = time.perf_counter()
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def main():
    command = sys.argv[1]
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = pathlib.Path(name)
        source, ours, theirs = (folder / f"{each}.onnx" for each in ("float", "command", "python"))
        model(source, megabytes)
        for bits in (8, 4):
            rows = []
            for _ in range(times):
                whole, _ = timed([command, "quantize", source, "-o", ours, "--scheme", "weight-only", "--bits", str(bits)])
                python, printed = timed([sys.executable, "-c", PROGRAM, source, theirs, str(bits)])
                rows.append((whole, python, float(printed)))
            if ours.read_bytes() != theirs.read_bytes():
                sys.exit("the files differ")
            whole, python, call = (statistics.median(each) for each in zip(*rows, strict=True))
            print(f"{bits} bits: the command {whole:.2f} s; the process of Python {python / whole:.3f} of it, "
                  f"the call {call / whole:.3f}")


main()
