"""A model of more than 3 GB, with external data: through the command, and in ONNX Runtime."""

import _peers

import os

import numpy as np
from onnx import TensorProto, helper

from _command import run_tests, scratch
from _models import info, quantize, session_of
from large_model_test import run_measured

ROWS, COLUMNS, TILE = 4096, 16384, 64  # 256 MiB a weight: a tile of rows, again and again
WEIGHTS = 12
MEMORY = 1500 * 10**6  # far below the model


def tiles():
    """Each weight's tile of rows; the weights themselves are not held here."""
    rng = np.random.default_rng(3)
    tile = rng.standard_normal((TILE, COLUMNS)).astype(np.float32)
    return [tile * np.float32(0.5 ** i) + np.float32(i / 64) for i in range(WEIGHTS)]


def write_model(folder):
    size = 4 * ROWS * COLUMNS
    with open(folder / "weights.data", "wb") as file:
        for tile in tiles():
            for _ in range(ROWS // TILE):
                file.write(tile.tobytes())
    initializers = []
    for i in range(WEIGHTS):
        tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[ROWS, COLUMNS],
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.data"), ("offset", i * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        initializers.append(tensor)
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"], name=f"product{i}")
             for i in range(WEIGHTS)]
    graph = helper.make_graph(nodes, "large", [info("x", [1, ROWS])],
                              [info(f"y{i}", [1, COLUMNS]) for i in range(WEIGHTS)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "float.onnx").write_bytes(model.SerializeToString())
    return WEIGHTS * size


def products(x):
    """What the float model computes, in float64."""
    rows = x.astype(np.float64).reshape(ROWS // TILE, TILE).sum(axis=0)
    return [rows @ tile.astype(np.float64) for tile in tiles()]


def check_outputs(path, least):
    """Each product in ONNX Runtime is that of the float model, but for quantization: `least` dB."""
    x = np.random.default_rng(4).standard_normal((1, ROWS)).astype(np.float32)
    for i, (found, expected) in enumerate(zip(session_of(path).run(None, {"x": x}), products(x))):
        noise = np.square(found[0] - expected).sum()
        sqnr = 10 * np.log10(np.square(expected).sum() / noise)
        assert sqnr > least, f"y{i}: {sqnr:.1f} dB"


def test_three_gigabytes():
    with scratch() as folder:
        assert write_model(folder) > 3e9
        model = folder / "float.onnx"

        # To 8 bits, in a data file because it was asked for.
        seconds, memory = run_measured("quantize", model, "-o", folder / "int8.onnx", "--scheme",
                                       "weight-only", "--external-data", "--threads", 2)
        print(f"8 bits per channel: {seconds:.0f} s, {memory / 1e6:.0f} MB")
        assert memory < MEMORY
        (data,) = folder.glob("int8.*.data")
        assert data.stat().st_size > WEIGHTS * ROWS * COLUMNS
        check_outputs(folder / "int8.onnx", 35)
        os.remove(data)

        # To 4 bits in blocks, in one file.
        report = quantize(model, folder / "int4.onnx", "--bits", 4, "--block-size", 32,
                          "--format", "matmulnbits")
        assert report["written"]["external_file"] == ""
        assert report["written"]["matmul_nbits"] == WEIGHTS
        check_outputs(folder / "int4.onnx", 12)
        os.remove(folder / "int4.onnx")

        # One of the weights alone: what is left is too large for one file.
        report = quantize(model, folder / "one.onnx", "--include", "^w0$")
        assert report["written"]["external_bytes"] > 2**31
        assert report["summary"]["quantized_after"]["count"] == 1
        check_outputs(folder / "one.onnx", 35)


if __name__ == "__main__":
    run_tests(globals())
