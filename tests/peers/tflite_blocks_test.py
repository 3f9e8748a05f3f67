"""Codes of 4 bits in blocks in TFLite's files: what is written holds the codes and scales that went in, bit by
bit, and LiteRT multiplies by them; what LiteRT would read wrongly is written otherwise; files of others
are read, and refused where they say what cannot be.

LiteRT rounds what is multiplied to 8 bits, each row by its own scale and zero point, and XNNPACK rounds
the scales to bfloat16. What is expected here is that computation, by numpy.
"""

import _peers

import json

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch
from _litert import run_litert
from _models import run
from _openvino import compiled_by_openvino
from _tflite_file import Blocks, Tensor, file_of, tensors_of, weights_in_blocks

RNG = np.random.default_rng(11)


def codes_of(*shape):
    return RNG.integers(-8, 8, shape).astype(np.int8)


def scales_of(*shape, dtype=np.float16):
    return RNG.uniform(.004, .02, shape).astype(dtype)


def real(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def decoded(codes, scales, size):
    """Blocks lie along the last axis."""
    return codes.astype(np.float64) * np.repeat(scales.astype(np.float64), size, -1)


def of_8_bits(rows):
    """Each row as codes between its least and its largest value, 0 among them, and back."""
    least, largest = np.minimum(rows.min(-1, keepdims=True), 0), np.maximum(rows.max(-1, keepdims=True), 0)
    step = (largest.astype(np.float64) - least) / 255
    zero = np.rint(-128 - least / step)
    return (np.clip(np.rint(rows / step) + zero, -128, 127) - zero) * step


def near(found, expected, tolerance=1e-5):
    assert found.shape == expected.shape, f"{found.shape} for {expected.shape}"
    off, largest = np.abs(found - expected).max(), np.abs(expected).max()
    assert off <= tolerance * largest, f"{off} off, of {largest}"


def check_litert(path, feed, codes, scales, size, finish):
    """Both of LiteRT's kernels; the last axis of `feed` is multiplied. A value between two codes of 8 bits may
    become either: so the bound is that of a few such."""
    for optimised in (False, True):
        held = scales.astype(ml_dtypes.bfloat16) if optimised else scales
        expected = finish(of_8_bits(feed) @ decoded(codes, held, size).T)
        found = next(iter(run_litert(path, {"x": feed}, optimised).values()))
        near(found, expected, 2e-3)
        exact = finish(feed.astype(np.float64) @ decoded(codes, scales, size).T)
        noise = np.sum((found - exact)**2) / np.sum(exact**2)
        assert 1e-7 < noise < 1e-3, f"{noise}: rounded data are expected"


# --- written -------------------------------------------------------------------------------------------------


def onnx_model(operation, codes, scales, size, x, bias=None, relu=False, zeros=None):
    """`codes`: [outputs, inputs]. A MatMul has them transposed."""
    turn = operation == "MatMul"
    parts = {"codes": codes, "scales": scales.astype(np.float32)} | ({} if zeros is None else {"zeros": zeros})
    held = []
    for name, values in parts.items():
        values = values.T if turn else values
        element = TensorProto.FLOAT if name == "scales" else TensorProto.INT4
        held.append(helper.make_tensor(name, element, values.shape, values.reshape(-1).tolist()))
    nodes = [helper.make_node("DequantizeLinear", list(parts), ["w"], axis=0 if turn else 1, block_size=size)]
    inputs = ["x", "w"]
    if bias is not None:
        held.append(numpy_helper.from_array(bias, "bias"))
    last = "product" if relu else "y"
    if operation == "Gemm":
        nodes.append(helper.make_node("Gemm", inputs + ["bias"] * (bias is not None), [last], transB=1))
    else:
        nodes.append(helper.make_node("MatMul", inputs, ["unbiased" if bias is not None else last]))
        if bias is not None:
            nodes.append(helper.make_node("Add", ["unbiased", "bias"], [last]))
    if relu:
        nodes.append(helper.make_node("Relu", [last], ["y"]))
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [value("x", x)], [value("y", [*x[:-1], len(codes)])], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def check_written(operation, outputs, inputs, size, x, bias=False, relu=False, is_open=False):
    codes, scales = codes_of(outputs, inputs), scales_of(outputs, inputs // size)
    offset = real(outputs) if bias else None
    with scratch() as folder:
        shape = ["rows", *x[1:]] if is_open else x
        onnx.save(onnx_model(operation, codes, scales, size, shape, offset, relu), folder / "m.onnx")
        done = quadrant("convert", folder / "m.onnx", folder / "m.tflite")
        assert done.returncode == 0, done.stderr
        assert "rounds what they multiply to 8 bits" in done.stdout, done.stdout
        (held, halves, block), = weights_in_blocks(folder / "m.tflite").values()
        assert block == size and halves.dtype == np.float16
        assert np.array_equal(held, codes) and np.array_equal(halves, scales)
        assert not any(tensor[0] == "FLOAT32" and len(tensor[2]) > 8 * outputs
                       for tensor in tensors_of(folder / "m.tflite").values()), "floats beside the codes"

        def finish(y):
            y = y if offset is None else y + offset
            return np.maximum(y, 0) if relu else y

        check_litert(folder / "m.tflite", real(*x), codes, scales, size, finish)
        # A row with a single 1 is exact in 8 bits: so the product is the weights.
        if len(x) == 2 and not bias and not relu:
            for optimised in (False, True):
                one = np.eye(inputs, dtype=np.float32)
                found = next(iter(run_litert(folder / "m.tflite", {"x": one}, optimised).values()))
                near(found, decoded(codes, scales.astype(ml_dtypes.bfloat16) if optimised else scales, size).T, 1e-6)
        # And back: the same bits in TFLite, the same numbers elsewhere.
        for ending in ("again.tflite", "onnx", "xml", "qd"):
            done = quadrant("convert", folder / "m.tflite", folder / f"b.{ending}")
            assert done.returncode == 0, done.stderr
        (again, once_more, block), = weights_in_blocks(folder / "b.again.tflite").values()
        assert block == size and np.array_equal(again, codes) and once_more.tobytes() == halves.tobytes()
        feed = real(*x)
        exact = finish(feed.astype(np.float64) @ decoded(codes, scales, size).T)
        near(run(folder / "b.onnx", {"x": feed})[0], exact)
        near(next(iter(compiled_by_openvino(str(folder / "b.xml"))([feed]).values())), exact)


def test_written():
    for operation in ("MatMul", "Gemm"):
        for outputs, inputs, size in ((4, 32, 32), (5, 64, 32), (40, 96, 32), (24, 128, 64), (7, 192, 96),
                                      (16, 256, 256)):
            yield (f"{operation}, {outputs} of {inputs} in blocks of {size}", check_written, operation, outputs, inputs,
                   size, [3, inputs])
        yield f"{operation}, one row", check_written, operation, 8, 64, 32, [1, 64]
        yield f"{operation}, bias", check_written, operation, 8, 64, 32, [3, 64], True
        yield f"{operation}, Relu", check_written, operation, 8, 64, 32, [3, 64], False, True
        yield f"{operation}, bias and Relu", check_written, operation, 8, 64, 32, [3, 64], True, True
        yield f"{operation}, open rows", check_written, operation, 8, 64, 32, [3, 64], False, False, True
    yield "a batch of matrices", check_written, "MatMul", 8, 64, 32, [2, 3, 64], True, True


def check_floats(outputs, inputs, size, scales=None, zeros=None):
    codes = codes_of(outputs, inputs)
    scales = scales_of(outputs, inputs // size) if scales is None else scales
    with scratch() as folder:
        onnx.save(onnx_model("Gemm", codes, scales, size, [3, inputs], zeros=zeros), folder / "m.onnx")
        done = quadrant("convert", folder / "m.onnx", folder / "m.tflite")
        assert done.returncode == 0, done.stderr
        assert not weights_in_blocks(folder / "m.tflite") and "written as float" in done.stdout, done.stdout
        feed = real(3, inputs)
        shift = 0 if zeros is None else np.repeat(zeros.astype(np.float64), size, -1)
        exact = feed.astype(np.float64) @ decoded(codes - shift, scales, size).T
        for optimised in (False, True):
            near(next(iter(run_litert(folder / "m.tflite", {"x": feed}, optimised).values())), exact)


def test_what_litert_does_not_multiply_is_floats():
    yield "three channels", check_floats, 3, 64, 32
    yield "blocks of 16", check_floats, 8, 64, 16
    yield "blocks of 48", check_floats, 8, 96, 48
    yield "scales that float16 does not hold", check_floats, 8, 64, 32, scales_of(8, 2, dtype=np.float32)
    yield "a scale below zero", check_floats, 8, 64, 32, scales_of(8, 2) * np.float16([1, -1])
    yield "zero points", check_floats, 8, 64, 32, None, codes_of(8, 2)


def check_command(*options):
    """Blocks that are asked for are blocks where LiteRT has a kernel, and floats in a convolution."""
    w, kernel = real(8, 64), real(64, 32, 1, 1)
    nodes = [helper.make_node("Conv", ["x", "kernel"], ["c"]),
             helper.make_node("GlobalAveragePool", ["c"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "w"], ["y"], transB=1)]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [value("x", [2, 32, 5, 5])], [value("y", [2, 8])],
                              [numpy_helper.from_array(w, "w"), numpy_helper.from_array(kernel, "kernel")])
    with scratch() as folder:
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(made, folder / "m.onnx")
        done = quadrant("convert", folder / "m.onnx", folder / "m.tflite", "--scheme", "weight-only", *options)
        assert done.returncode == 0, done.stderr
        assert "float16 and above zero" in done.stderr, done.stderr
        (codes, scales, size), = weights_in_blocks(folder / "m.tflite").values()
        assert codes.shape == w.shape and size == 32 and scales.dtype == np.float16
        noise = np.sum((decoded(codes, scales, size) - w)**2) / np.sum(w**2)
        assert noise < .02, noise
        assert "written as float" in done.stdout, done.stdout
        feed = {"x": real(2, 32, 5, 5)}
        exact = run(folder / "m.onnx", feed)[0]
        for optimised in (False, True):
            found = next(iter(run_litert(folder / "m.tflite", feed, optimised).values()))
            assert np.sum((found - exact)**2) < .05 * np.sum(exact**2)


def test_blocks_that_are_asked_for():
    yield "a type", check_command, "--type", "int4", "--block-size", "32"
    yield "bits", check_command, "--bits", "4", "--block-size", "32"
    yield "symmetric", check_command, "--bits", "4", "--symmetric", "--granularity", "block"


def check_rule(options):
    """Weights of a rule that asks for others keep float32 scales: the numbers that the recipe makes in other files."""
    x = np.eye(64, dtype=np.float32)
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [value("x", [64, 64])],
                              [value("y", [64, 48])], [numpy_helper.from_array(real(64, 48), "w")])
    document = {"format": "quadrant.recipe", "version": 1,
                "schemes": {"four": {"scheme": "weight_only", "options": {"bits": 4, "block_size": 32}}},
                "rules": [{"scheme": "four"}, {"match": {"name": "^w$"}, "scheme": "four", "options": options}]}
    with scratch() as folder:
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
                  folder / "m.onnx")
        (folder / "recipe.json").write_text(json.dumps(document))
        for extension in "tflite", "xml":
            done = quadrant("convert", folder / "m.onnx", folder / f"m.{extension}", "--recipe", folder / "recipe.json")
            assert done.returncode == 0, done.stderr
        found = next(iter(run_litert(folder / "m.tflite", {"x": x}).values()))
        wanted = next(iter(compiled_by_openvino(str(folder / "m.xml"))([x]).values()))
        assert np.array_equal(found, wanted), np.abs(found - wanted).max()


def test_rules_for_other_weights():
    for options in {"bits": 8}, {"block_size": 16}, {"symmetry": "asymmetric"}:
        yield str(options), check_rule, options


# --- read ----------------------------------------------------------------------------------------------------


def int4(codes):
    return codes.astype(ml_dtypes.int4)


def made(*shape):
    return Tensor(np.zeros(shape, np.float32))


def foreign(codes, scales, blocks, x, y, axis=0, operator="FULLY_CONNECTED"):
    """Tensor 1 has the codes, tensor 3 the scales."""
    inputs = [Tensor(x), Tensor(int4(codes), True, axis=axis, blocks=blocks)]
    options = {"FULLY_CONNECTED": "FullyConnectedOptions"}.get(operator)
    fields = {"keepNumDims": True} if options and x.ndim > 2 else {}
    return file_of(operator, inputs, made(*y), options, [Tensor(scales, True)],
                   version=12 if options else 4, **fields)


def check_read(dtype, is_list, zero, axis, x):
    codes, scales = codes_of(8, 96), scales_of(8, 3, dtype=dtype)
    feed = real(*x)
    with scratch() as folder:
        path = folder / "m.tflite"
        path.write_bytes(foreign(codes, scales.reshape(-1) if is_list else scales, Blocks(3, 32, zero), feed,
                                 (*x[:-1], 8), axis))
        exact = feed.astype(np.float64) @ decoded(codes, scales, 32).T
        for ending in ("onnx", "xml", "again.tflite", "qd"):
            done = quadrant("convert", path, folder / f"b.{ending}")
            assert done.returncode == 0, done.stderr
        near(run(folder / "b.onnx", {"t0": feed})[0], exact)
        near(next(iter(compiled_by_openvino(str(folder / "b.xml"))([feed]).values())), exact)
        found = weights_in_blocks(folder / "b.again.tflite")
        if dtype == np.float16:
            (held, halves, size), = found.values()
            assert size == 32 and np.array_equal(held, codes) and np.array_equal(halves, scales)
        else:
            assert not found
            near(next(iter(run_litert(folder / "b.again.tflite", {"t0": feed}).values())), exact)


def test_files_of_others():
    for dtype in (np.float16, np.float32):
        for is_list in (False, True):
            yield f"{dtype.__name__}, list: {is_list}", check_read, dtype, is_list, -1, 0, (3, 96)
    yield "a zero that is left out", check_read, np.float16, False, 0, 0, (3, 96)
    yield "the axis is named", check_read, np.float16, False, -1, 1, (3, 96)
    yield "a batch", check_read, np.float16, False, -1, 0, (2, 3, 96)


def check_rows():
    """LiteRT's EMBEDDING_LOOKUP gives the real values."""
    codes, scales = codes_of(10, 64), scales_of(10, 2)
    indices = np.int32([3, 0, 9, 3])
    with scratch() as folder:
        path = folder / "m.tflite"
        path.write_bytes(foreign(codes, scales, Blocks(3, 32), indices, (4, 64), operator="EMBEDDING_LOOKUP"))
        expected = decoded(codes, scales, 32)[indices]
        for ending in ("onnx", "again.tflite"):
            done = quadrant("convert", path, folder / f"b.{ending}")
            assert done.returncode == 0, done.stderr
        near(next(iter(run_litert(path, {"t0": indices}).values())), expected, 1e-7)
        near(run(folder / "b.onnx", {"t0": indices})[0], expected, 1e-7)
        near(next(iter(run_litert(folder / "b.again.tflite", {"t0": indices}).values())), expected, 1e-7)


def test_rows_of_a_table():
    yield "EMBEDDING_LOOKUP", check_rows


def check_refused(message, scales, blocks, axis=0, codes=None, x=(3, 96)):
    with scratch() as folder:
        path = folder / "m.tflite"
        codes = codes_of(8, 96) if codes is None else codes
        path.write_bytes(foreign(codes, scales, blocks, real(*x), (x[0], 8), axis))
        for ending in ("onnx", "tflite"):
            done = quadrant("convert", path, folder / f"b.{ending}")
            assert done.returncode in (1, 2, 3, 4, 5), f"{done.returncode}: {done.stderr}"
            assert message in done.stderr and "tensor 1 't1'" in done.stderr, done.stderr
            assert not (folder / f"b.{ending}").exists()


def test_what_cannot_be():
    good = scales_of(8, 3)
    for number in (-1, 4, 2**31 - 1, -2**31):
        yield f"scales in {number}", check_refused, f"scales in tensor {number} of 4", good, Blocks(number, 32)
    yield "scales in the input", check_refused, "scales of shape [3x96]", good, Blocks(0, 32)
    yield "scales in the codes", check_refused, "scales of i4", good, Blocks(1, 32)
    yield "scales in a result", check_refused, "scales of shape", good, Blocks(2, 32)
    yield "integers", check_refused, "scales of i32", good.astype(np.int32), Blocks(3, 32)
    yield "doubles", check_refused, "scales of f64", good.astype(np.float64), Blocks(3, 32)
    yield "fewer scales", check_refused, "scales of shape [8x2]", good[:, :2], Blocks(3, 32)
    yield "scales that are turned", check_refused, "scales of shape [3x8]", good.T.copy(), Blocks(3, 32)
    yield "one scale", check_refused, "scales of shape []", good[0, 0].reshape(()), Blocks(3, 32)
    for size in (0, -32, -2**31, 36, 2**31 - 1):
        yield f"blocks of {size}", check_refused, f"blocks of {size} in an extent of 96", good, Blocks(3, size)
    for scale in (0, -.01, np.inf, np.nan):
        bad = good.copy()
        bad[7, 2] = scale
        yield f"a scale of {scale}", check_refused, "a scale of ", bad, Blocks(3, 32)
    for number in (1, 3, 4, -2, 2**31 - 1, -2**31):
        yield f"zero points in {number}", check_refused, "zero points", good, Blocks(3, 32, number)
    yield "a shape", check_refused, "several axes", good, Blocks(3, 32, -1, (1, 32))
    for axis in (-1, 2, 2**31 - 1):
        yield f"axis {axis}", check_refused, f"blocks along axis {axis}", good, Blocks(3, 32), axis


if __name__ == "__main__":
    run_tests(globals())
