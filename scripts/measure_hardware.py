#!/usr/bin/env python3
"""Measures what ONNX Runtime does in a nanosecond here, and writes a profile for `--hardware`.

    .venv/bin/python scripts/measure_hardware.py NAME -o NAME.json

Tiny models of one operation each run on one thread; the fastest of many runs counts, so that whatever
else runs on the machine matters little, and numbers have two digits. What they mean and what they are
good for: docs/selection.md.
"""

import argparse
import json
import math
import pathlib
import tempfile
import time

import no_amx
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROUNDS = 40
CHAIN = 200  # of tiny operations
BLOCK = 32
ROWS = 128  # of a matrix product
WIDE = 512  # both extents of its weight
WEIGHT_ROWS = (1, 64)  # of a product with weights in codes: a word at a time, and many
WEIGHT_WIDE = 1024
CONV = (1, 64, 40, 40)
IN_CACHE = (64, 1024)
IN_MEMORY = 1 << 26  # bytes
CACHE_SIZES = [1 << n for n in range(18, 26)]  # bytes that are moved, of which one may be a cache's
SCALE, WEIGHT_SCALE = np.float32(0.02), np.float32(0.003)
GENERATOR = np.random.default_rng(1)


def floats(*shape):
    return GENERATOR.standard_normal(shape, dtype=np.float32)


def codes(*shape, signed=True):
    return (GENERATOR.integers(-127, 128, shape, dtype=np.int8) if signed
            else GENERATOR.integers(0, 256, shape, dtype=np.uint8))


class Model:
    """Operations on one input; what they make is not copied out, which would count as theirs."""

    def __init__(self, data):
        self.data, self.nodes, self.constants, self.value = data, [], [], "x"

    def constant(self, value):
        name = f"c{len(self.constants)}"
        if not isinstance(value, onnx.TensorProto):
            value = numpy_helper.from_array(np.asarray(value))
        value.name = name
        self.constants.append(value)
        return name

    def add(self, kind, *operands, domain="", **attributes):
        """An operation; operands that are None are the value that is there so far."""
        names = [self.value if operand is None else operand if isinstance(operand, str)
                 else self.constant(operand) for operand in operands]
        self.value = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [self.value], domain=domain, **attributes))
        return self

    def session(self, optimized=None):
        first, second = (self.constant(np.array([place])) for place in (0, 1))
        last = helper.make_node("Slice", [self.value, first, second, first], ["y"])
        graph = helper.make_graph(
            [*self.nodes, last], "measured",
            [helper.make_tensor_value_info(
                "x", helper.np_dtype_to_tensor_dtype(self.data.dtype), self.data.shape)],
            [helper.make_empty_tensor_value_info("y")], self.constants)
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if optimized is not None:
            options.optimized_model_filepath = str(optimized)
        return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                            providers=["CPUExecutionProvider"])

    def kinds(self):
        """The operations that the runtime makes of these."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "optimized.onnx"
            self.session(path)
            return {node.op_type for node in onnx.load(path).graph.node}

    def nanoseconds(self, rounds=ROUNDS):
        session, feed = self.session(), {"x": self.data}
        session.run(None, feed)
        least = math.inf
        for _ in range(rounds):
            start = time.perf_counter_ns()
            session.run(None, feed)
            least = min(least, time.perf_counter_ns() - start)
        return least


def same(kind, data, *operands, **attributes):
    return Model(data).add(kind, None, *operands, **attributes)


def measure_rate(work, models, operations=1):
    """The mean of what the models do in a nanosecond, without what calling them takes."""
    logs = 0
    for model, amount in zip(models, work):
        empty = Model(model.data[(slice(0, 1),) * model.data.ndim].copy()).nanoseconds(3 * ROUNDS)
        taken = model.nanoseconds() - empty - (operations - 1) * OVERHEAD
        logs += math.log(amount / max(taken, 1))
    return math.exp(logs / len(models))


def measure_overhead():
    tiny = floats(1)
    chain = Model(tiny)
    for _ in range(CHAIN):
        chain.add("Tanh", None)
    return (chain.nanoseconds() - Model(tiny).nanoseconds()) / CHAIN


def product_models(signed=None):
    """A matrix product and a convolution: of floats, or of activations in codes; and their products."""
    n, c, h, w = CONV
    work = (ROWS * WIDE * WIDE, n * c * h * w * c * 9)
    pads = {"pads": [1] * 4}
    if signed is None:
        return work, (same("MatMul", floats(ROWS, WIDE), floats(WIDE, WIDE)),
                      same("Conv", floats(*CONV), floats(c, c, 3, 3), **pads))
    scales = [SCALE, np.int8(0) if signed else np.uint8(128)]
    weight_scales = [WEIGHT_SCALE, np.int8(0)]
    return work, (same("QLinearMatMul", codes(ROWS, WIDE, signed=signed), *scales, codes(WIDE, WIDE),
                       *weight_scales, *scales),
                  same("QLinearConv", codes(*CONV, signed=signed), *scales, codes(c, c, 3, 3),
                       *weight_scales, *scales, **pads))


def weights_model(rows, bits, form):
    k = n = WEIGHT_WIDE
    data = floats(rows, k)
    scales = np.full((k // BLOCK, n), WEIGHT_SCALE, np.float32)
    if form == "matmulnbits":
        packed = GENERATOR.integers(0, 256, (n, k // BLOCK, BLOCK * bits // 8), dtype=np.uint8)
        return same("MatMulNBits", data, packed, scales.T.copy(), domain="com.microsoft", K=k, N=n,
                    bits=bits, block_size=BLOCK)
    held = codes(k, n)
    if bits == 4:
        held = helper.make_tensor("q", TensorProto.INT4, [k, n], (held // 16).flatten().tolist())
    model = Model(data)
    model.add("DequantizeLinear", held, scales, axis=0, block_size=BLOCK)
    weight, model.value = model.value, "x"
    return model.add("MatMul", None, weight)


def weights_rate(bits, form):
    """The slower of a word at a time and many; none where the runtime computes on floats after all."""
    models = [weights_model(rows, bits, form) for rows in WEIGHT_ROWS]
    if not all("MatMulNBits" in model.kinds() for model in models):
        return None
    return min(measure_rate([rows * WEIGHT_WIDE * WEIGHT_WIDE], [model])
               for rows, model in zip(WEIGHT_ROWS, models))


def folds_constants():
    model = Model(floats(4, 64))
    model.add("DequantizeLinear", codes(64, 64), np.full(64, WEIGHT_SCALE), axis=1)
    weight, model.value = model.value, "x"
    return "DequantizeLinear" not in model.add("MatMul", None, weight).kinds()


def sums_in_32_bits():
    """Whether the sum of two of the largest products does not end at 16 bits."""
    model = Model(np.full((4, 64), 255, np.uint8))
    model.add("MatMulInteger", None, np.full((64, 16), 127, np.int8))
    sums, = model.session().run(None, {"x": model.data})
    return bool(np.all(sums == 64 * 255 * 127))


def moving_rate(size):
    """Bytes per ns, of so many that are read and written."""
    return measure_rate([size], [same("Neg", floats(size // 8))])


def measure_cache(bandwidth):
    """The most bytes that move at half of the best rate or more; none where memory is as fast."""
    rates = [moving_rate(size) for size in CACHE_SIZES]
    best = max(rates)
    if best < 2 * bandwidth:
        return {}
    fits = max(size for size, rate in zip(CACHE_SIZES, rates) if rate >= best / 2)
    return {"cache_bytes": float(fits), "cache_bandwidth": best}


def measure(form):
    global OVERHEAD
    OVERHEAD = measure_overhead()
    cached, held = floats(*IN_CACHE), codes(*IN_CACHE)
    count, zero = cached.size, np.int8(0)
    bandwidth = moving_rate(2 * IN_MEMORY)
    twice = same("DequantizeLinear", held, SCALE, zero)
    twice.add("QuantizeLinear", None, np.float32(2) * SCALE, zero)
    return {
        "bandwidth": bandwidth,
        **measure_cache(bandwidth),
        "overhead": OVERHEAD,
        "float_products": measure_rate(*product_models()),
        "int8_products": measure_rate(*product_models(signed=True)),
        "uint8_products": measure_rate(*product_models(signed=False)),
        "weights8_products": weights_rate(8, form),
        "weights4_products": weights_rate(4, form),
        "float_elements": measure_rate([count], [same("Add", cached, floats(*IN_CACHE))]),
        "int8_elements": measure_rate([count], [same(
            "QLinearAdd", held, SCALE, zero, codes(*IN_CACHE), SCALE, zero, SCALE, zero,
            domain="com.microsoft")]),
        "quantize": measure_rate([count], [same("QuantizeLinear", cached, SCALE, zero)]),
        "dequantize": measure_rate([count], [same("DequantizeLinear", held, SCALE, zero)]),
        "requantize": measure_rate([count], [twice], operations=2),
        "folds_constants": folds_constants(),
        "sums_in_32_bits": sums_in_32_bits(),
    }


def best_of(times, form):
    """The best that was reached of each number: less of an overhead, more of everything else."""
    found = [measure(form) for _ in range(times)]
    best = {}
    for key, value in {key: value for one in found for key, value in one.items()}.items():
        if isinstance(value, float):
            value = (min if key == "overhead" else max)(one[key] for one in found if key in one)
            value = float(f"{value:.2g}")
            value = int(value) if value == int(value) else value
        if value is not None:
            best[key] = value
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="of the profile: letters, digits, '-', '_' and '.'")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="file; without it, to stdout")
    parser.add_argument("--description", help="instead of what the machine says")
    parser.add_argument("--times", type=int, default=3, help="of which the best counts")
    parser.add_argument("--weights", choices=("qdq", "matmulnbits"), default="qdq",
                        help="how files say weights in codes: as `quantize --format`")
    options = parser.parse_args()
    description = options.description or f"ONNX Runtime {onnxruntime.__version__}, one thread"
    profile = {"format": "quadrant.hardware", "version": 1, "name": options.name,
               "description": description, **best_of(options.times, options.weights)}
    text = json.dumps(profile, indent=2) + "\n"
    if options.output:
        options.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
