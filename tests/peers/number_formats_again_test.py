"""Weights in number formats, read again: a file that was written converts to every other kind of file, and
means the same numbers there; also where its weights lie in bodies or in Constant nodes; and what a format
cannot hold is refused, not clipped.

Models multiply by an identity, so that what they compute is the weight itself, bit by bit.
"""

import _peers

import json

import numpy as np
import onnx
from onnx import helper, numpy_helper

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
            assert "float16 numbers: float32 ones hold them" in done.stderr, done.stderr
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
        assert "float16 numbers: float32 ones hold them" in done.stderr + done.stdout, done.stdout


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
