"""Weights in number formats, read again: a file that was written converts to every other kind of file, and
means the same numbers there; also where its weights lie in bodies or in Constant nodes; and what a format
cannot hold is refused, not clipped.

Models multiply by an identity, so that what they compute is the weight itself, bit by bit.
"""

import _peers

import json
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch
from _litert import run_litert
from _models import info, model_of, run, session_of
from _openvino import compiled_by_openvino

ROWS, COLUMNS = 64, 48
EYE = {"x": np.eye(ROWS, dtype=np.float32)}


def normal(scale=1.0, rows=ROWS):
    return (np.random.default_rng(5).standard_normal((rows, COLUMNS)) * scale).astype(np.float32)


def product(w, as_node=False):
    nodes, weights = [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": w}
    if as_node:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(w, "w")))
        weights = {}
    rows = w.shape[0]
    return model_of(nodes, [info("x", [rows, rows])], [info("y", [rows, COLUMNS])], weights)


def quantized(folder, model, *options):
    path, made = folder / "model.onnx", folder / "made.onnx"
    path.write_bytes(model.SerializeToString())
    done = quadrant("convert", path, made, "--scheme", "weight-only", *options)
    return made, done


def types():
    done = quadrant("list", "types", "--json")
    assert done.returncode == 0, done.stderr
    return [entry["type"] for entry in json.loads(done.stdout)["types"]]


# --- from one kind of file to the others -------------------------------------------------------------------

def check_again(options):
    with scratch() as folder:
        made, done = quantized(folder, product(normal()), *options)
        assert done.returncode == 0, done.stderr
        expected = run(made, EYE)[0]
        for extension in ("onnx", "xml", "tflite", "qd"):
            target = folder / f"again.{extension}"
            done = quadrant("convert", made, target)
            assert done.returncode == 0, f"{extension}: {done.stderr}"
            if extension == "onnx":
                found = run(target, EYE)[0]
            elif extension == "xml":
                found = next(iter(compiled_by_openvino(str(target))([EYE["x"]]).values()))
            elif extension == "tflite":
                found = next(iter(run_litert(target, EYE).values()))
                if "to 8 bits" in done.stdout:  # beside weights in blocks, and told
                    assert decibels(expected, found) > 40, decibels(expected, found)
                    continue
            else:
                done = quadrant("convert", target, folder / "back.onnx")
                assert done.returncode == 0, done.stderr
                found = run(folder / "back.onnx", EYE)[0]
            assert np.array_equal(found, expected), f"{extension}: off by {np.abs(found - expected).max()} at most"


def test_what_was_written_converts():
    for name in types():
        yield f"--type {name}", check_again, ["--type", name]
    for options in (["--bits", "4", "--block-size", "32", "--scales", "float16"],
                    ["--bits", "8", "--scales", "float16"], ["--bits", "4", "--granularity", "channel"],
                    ["--bits", "8", "--block-size", "32", "--asymmetric", "--scales", "float16"],
                    ["--type", "int8", "--block-size", "32"], ["--type", "fp8-e4m3", "--block-size", "32"]):
        yield " ".join(options), check_again, options


# --- where weights lie -------------------------------------------------------------------------------------

def check_constant_node(name):
    with scratch() as folder:
        made, done = quantized(folder, product(normal()), "--type", name)
        assert done.returncode == 0, done.stderr
        expected = run(made, EYE)[0]
        made, done = quantized(folder, product(normal(), as_node=True), "--type", name)
        assert done.returncode == 0, done.stderr
        onnx.checker.check_model(str(made))
        assert np.array_equal(run(made, EYE)[0], expected)


def test_constant_nodes():
    for name in types():
        yield name, check_constant_node, name


def scanned(w):
    """y[i] = x[i] w, row by row."""
    body = helper.make_graph([helper.make_node("MatMul", ["row", "w"], ["product"])], "body", [info("row", [1, ROWS])],
                             [info("product", [1, COLUMNS])], [numpy_helper.from_array(w, "w")])
    scan = helper.make_node("Scan", ["rows"], ["y"], body=body, num_scan_inputs=1)
    return model_of([scan], [info("rows", [ROWS, 1, ROWS])], [info("y", [ROWS, 1, COLUMNS])], {})


def branched(w):
    """One of two branches, each with weights of its own."""
    def branch(name, weight):
        return helper.make_graph([helper.make_node("MatMul", ["x", f"{name}_w"], [f"{name}_y"])], name, [],
                                 [info(f"{name}_y", [ROWS, COLUMNS])], [numpy_helper.from_array(weight, f"{name}_w")])
    node = helper.make_node("If", ["which"], ["y"], then_branch=branch("then", w), else_branch=branch("else", -w))
    return model_of([node], [info("which", [], onnx.TensorProto.BOOL), info("x", [ROWS, ROWS])],
                    [info("y", [ROWS, COLUMNS])], {})


def check_body(make, feeds, name):
    with scratch() as folder:
        made, done = quantized(folder, product(normal()), "--type", name)
        assert done.returncode == 0, done.stderr
        expected = run(made, EYE)[0]
        made, done = quantized(folder, make(normal()), "--type", name)
        assert done.returncode == 0, done.stderr
        found = session_of(made).run(None, feeds)[0].reshape(expected.shape)
        assert np.allclose(found, expected, rtol=0, atol=0), np.abs(found - expected).max()


def test_bodies():
    for name in types():
        yield f"{name}, Scan", check_body, scanned, {"rows": EYE["x"].reshape(ROWS, 1, ROWS)}, name
        yield f"{name}, If", check_body, branched, {"which": np.array(True), **EYE}, name


# --- what float16 holds ------------------------------------------------------------------------------------

def decibels(expected, found):
    expected, found = expected.astype(np.float64), found.astype(np.float64)
    return 10 * np.log10(np.sum(expected**2) / np.sum((found - expected)**2))


def check_magnitude(name, scale, at_least):
    """Refused, or as good as a weight of common size."""
    with scratch() as folder:
        w = normal(scale, rows=256)
        made, done = quantized(folder, product(w), "--type", name)
        if done.returncode:
            assert re.search("float16 numbers: (scales of float32|the type '.*') holds? them", done.stderr), done.stderr
            assert abs(np.log10(scale)) > 2, f"refused: {done.stderr}"
            return
        assert "1 value is quantized" in done.stdout, done.stdout
        found = run(made, {"x": np.eye(256, dtype=np.float32)})[0]
        assert decibels(w, found) > at_least, decibels(w, found)


def test_magnitudes():
    for name in ("int4", "iq4nl", "q4_k", "q5_k", "q6_k", "codebook:16", "codebook:8:channel"):
        with scratch() as folder:
            w = normal(rows=256)
            made, done = quantized(folder, product(w), "--type", name)
            assert done.returncode == 0, done.stderr
            usual = decibels(w, run(made, {"x": np.eye(256, dtype=np.float32)})[0])
        for power in range(-30, 31, 2):
            yield f"{name}, 1e{power}", check_magnitude, name, 10.0**power, usual - 1
        yield f"{name}, .02", check_magnitude, name, .02, usual - 1


def check_outlier(name):
    with scratch() as folder:
        w = normal()
        w[3, 5] = 1e6
        made, done = quantized(folder, product(w), "--type", name)
        advice = re.search("float16 numbers: the type '(.*)' holds them", done.stderr + done.stdout)
        assert advice, done.stdout
        made, done = quantized(folder, product(w), "--type", advice[1])
        assert "1 value is quantized" in done.stdout, done.stdout + done.stderr
        assert np.isfinite(run(made, {"x": np.eye(len(w), dtype=np.float32)})[0]).all()


def test_outliers_beyond_float16():
    for name in ("codebook:16", "codebook:16:channel"):
        yield name, check_outlier, name


def check_zeros(name):
    with scratch() as folder:
        made, done = quantized(folder, product(np.zeros((ROWS, COLUMNS), np.float32)), "--type", name)
        assert done.returncode == 0, done.stderr
        assert "float16" not in done.stdout + done.stderr, done.stdout
        # IQ4_NL has no code for zero.
        assert np.abs(run(made, EYE)[0]).max() <= (1e-6 if name == "iq4nl" else 0)


def test_zeros():
    for name in types():
        yield name, check_zeros, name


# --- float16 weights ---------------------------------------------------------------------------------------

def check_finite(options, largest):
    """Codes of the largest numbers that float16 has stand for such."""
    with scratch() as folder:
        w = normal(.1).astype(np.float16)
        w[3, 5], w[40, 7] = largest, -largest
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [ROWS, ROWS], TensorProto.FLOAT16)],
                         [info("y", [ROWS, COLUMNS], TensorProto.FLOAT16)], {"w": w})
        made, done = quantized(folder, model, *options)
        if done.returncode:
            assert "float16 numbers: " in done.stderr, done.stderr
            return
        found = run(made, {"x": np.eye(ROWS, dtype=np.float16)})[0]
        assert np.isfinite(found).all(), (found[3, 5], found[40, 7])
        # The nearest number of the format that is finite: floats of 2 bits behind the point are a sixth apart.
        assert abs(float(found[3, 5]) - largest) <= largest / 4, found[3, 5]


def test_largest_numbers_of_float16():
    for largest in (50000, 60000, 65504):
        for name in types():
            yield f"{name}, {largest}", check_finite, ("--type", name), largest
        for bits in ("8", "4"):
            yield f"{bits} bits, {largest}", check_finite, ("--bits", bits, "--block-size", "16"), largest
            yield f"{bits} bits, asymmetric, {largest}", check_finite, ("--bits", bits, "--asymmetric"), largest


# --- what weights take in the file -------------------------------------------------------------------------

def check_packed(name, shape):
    """4 bits a weight, whatever the extents; and scales for channels where inputs are fewer than a block."""
    with scratch() as folder:
        w = (np.random.default_rng(6).standard_normal(shape)).astype(np.float32)
        nodes = [helper.make_node("Conv" if w.ndim == 4 else "Gemm", ["x", "w"], ["y"],
                                  **({} if w.ndim == 4 else {"transB": 1}))]
        extents = [1, shape[1], *shape[2:]] if w.ndim == 4 else [2, shape[1]]
        model = model_of(nodes, [info("x", extents)], [info("y", None)], {"w": w}, opset=21)
        made, done = quantized(folder, model, "--type", name)
        assert done.returncode == 0, done.stderr
        graph = onnx.load(made).graph
        # A table of what bytes stand for is shared by all weights of a model.
        tensors = [tensor for tensor in graph.initializer if tensor.data_type != TensorProto.INT64 and
                   list(tensor.dims) != [256, 2]]
        bits = 8 * sum(len(tensor.raw_data) for tensor in tensors) / w.size
        assert bits < 5.2, (bits, {tensor.name: list(tensor.dims) for tensor in tensors})


def test_four_bits_in_the_file():
    for name in ("nf4", "iq4nl", "mxfp4", "nvfp4", "q4_k", "lpbq4", "codebook:16"):
        for shape in ((64, 32, 3, 3), (32, 8, 5, 5), (64, 3, 7, 7), (63, 65), (100, 1, 5, 5)):
            if name == "codebook:16" or np.prod(shape[1:]) > 20:
                yield f"{name}, {shape}", check_packed, name, shape


# --- what LiteRT runs --------------------------------------------------------------------------------------

def check_wide_channels(bits, groups):
    """DEQUANTIZE takes 16 bits with one scale alone."""
    with scratch() as folder:
        path, target = folder / "model.onnx", folder / "made.tflite"
        path.write_bytes(product(normal()).SerializeToString())
        done = quadrant("convert", path, target, "--scheme", "weight-only", "--type", f"i{bits} * f32[{groups}] : f32")
        assert done.returncode == 0, done.stderr
        found = next(iter(run_litert(target, EYE).values()))
        assert decibels(normal(), found) > 6 * bits - 12, decibels(normal(), found)


def test_wide_channels_in_tflite():
    for bits in (9, 12, 16):
        for groups in ("channel", "tensor"):
            yield f"i{bits}, {groups}", check_wide_channels, bits, groups


run_tests(globals())
