"""Budgets: what `quantize` says of its file is what onnx finds in it and ONNX Runtime computes with it.

One of the weights is so small that its scales are no float16, so that they are stored as float32.
"""

import json

import numpy as np
from onnx import TensorProto, helper, load, numpy_helper, save

from _command import quadrant, run_tests, scratch
from _models import session_of

WIDTH = 64
WEIGHTS = ("small", "tiny", "plain")


def three_products(path):
    rng = np.random.default_rng(2)
    factors = {"small": 0.01, "tiny": 1e-30, "plain": 1.0}
    weights = {name: (rng.standard_normal((WIDTH, WIDTH)) * factors[name] / 8).astype(np.float32)
               for name in WEIGHTS}
    nodes, value = [], "x"
    for name in WEIGHTS:
        if name == "plain":  # brings what was tiny back
            nodes.append(helper.make_node("Mul", [value, "large"], ["scaled"]))
            value = "scaled"
        nodes.append(helper.make_node("MatMul", [value, name], [f"by_{name}"]))
        value = f"by_{name}"
    constants = [numpy_helper.from_array(weight, name) for name, weight in weights.items()]
    constants.append(numpy_helper.from_array(np.float32(1e30), "large"))
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", WIDTH])
          for name in ("x", value)]
    graph = helper.make_graph(nodes, "g", io[:1], io[1:], constants)
    save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), path)
    return path


def stored_bytes(path):
    """Of all initializers but that of the Mul: 4 bits take half a byte."""
    found = 0
    for tensor in load(path).graph.initializer:
        if tensor.name != "large" and tensor.data_type != TensorProto.INT64:
            found += len(tensor.raw_data)
    return found


def noise_of(path, model, samples):
    """Noise over signal at the output, over all samples."""
    signal = noise = 0.0
    sessions = [session_of(one) for one in (model, path)]
    for sample in samples:
        exact, near = (session.run(None, {"x": sample})[0].astype(np.float64)
                       for session in sessions)
        signal += (exact ** 2).sum()
        noise += ((exact - near) ** 2).sum()
    return noise / signal


def check_budget(folder, model, samples, form, *budget):
    out = folder / "out.onnx"
    done = quadrant("quantize", model, "-o", out, "--scheme", "weight-only", "--data",
                    folder / "data", "--format", form, "--json", *budget)
    assert done.returncode == 0, f"{budget}: {done.stderr.strip()}"
    said = json.loads(done.stdout)["budget"]
    assert out.stat().st_size == said["file_bytes"], f"{budget}: the file has other bytes"
    stored = stored_bytes(out)
    bits = 8 * stored / (len(WEIGHTS) * WIDTH * WIDTH)
    assert abs(bits - said["bits"]) < 1e-9, f"{budget}: {bits} bits in the file, not {said['bits']}"
    noise = noise_of(out, model, samples)
    # MatMulNBits rounds scales to float16, and ONNX Runtime adds in another order.
    tolerance = 0.05 if form == "matmulnbits" else 1e-3
    assert abs(noise / said["output_error"] - 1) < tolerance, f"{budget}: {noise}, {said}"
    return said


def test_bits_bytes_and_errors_are_those_of_the_file():
    with scratch() as folder:
        model = three_products(folder / "model.onnx")
        rng = np.random.default_rng(4)
        samples = [rng.standard_normal((8, WIDTH)).astype(np.float32) for _ in range(3)]
        (folder / "data").mkdir()
        for i, sample in enumerate(samples):
            np.savez(folder / "data" / f"{i}.npz", x=sample)
        for form in ("qdq", "matmulnbits"):
            for bits in (4.7, 5, 6.5, 8.6):
                said = check_budget(folder, model, samples, form, "--target-bits", bits)
                assert said["bits"] <= bits
            for decibels in (15, 25, 35):
                said = check_budget(folder, model, samples, form, "--min-sqnr", decibels)
                assert -10 * np.log10(said["output_error"]) >= decibels


if __name__ == "__main__":
    run_tests(globals())
