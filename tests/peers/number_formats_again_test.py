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


def lookup(w):
    return model_of([helper.make_node("Gather", ["w", "x"], ["y"], axis=0)],
                    [info("x", [len(w)], onnx.TensorProto.INT64)], [info("y", w.shape)], {"w": w})


def tied(w):
    """Rows that are looked up, times the transpose of the table."""
    nodes = [helper.make_node("Gather", ["w", "x"], ["rows"], axis=0),
             helper.make_node("Transpose", ["w"], ["turned"], perm=[1, 0]),
             helper.make_node("MatMul", ["rows", "turned"], ["y"])]
    return model_of(nodes, [info("x", [1], onnx.TensorProto.INT64)], [info("y", [1, len(w)])], {"w": w})


def of_half(w):
    """A float16 weight that a Cast widens."""
    nodes = [helper.make_node("Cast", ["w"], ["wide"], to=onnx.TensorProto.FLOAT),
             helper.make_node("MatMul", ["x", "wide"], ["y"])]
    return model_of(nodes, [info("x", [len(w), len(w)])], [info("y", w.shape)], {"w": w.astype(np.float16)})


def types():
    done = quadrant("list", "types", "--json")
    assert done.returncode == 0, done.stderr
    return [entry["type"] for entry in json.loads(done.stdout)["types"]]


# --- from one kind of file to the others -------------------------------------------------------------------

def check_converted(source, extension, feeds, expected):
    target = source.with_name(f"{source.stem}_again.{extension}")
    done = quadrant("convert", source, target)
    assert done.returncode == 0, f"{extension}: {done.stderr}"
    if extension == "onnx":
        found = run(target, feeds)[0]
    elif extension == "xml":
        found = next(iter(compiled_by_openvino(str(target))([feeds["x"]]).values()))
    elif extension == "tflite":
        found = next(iter(run_litert(target, feeds).values()))
        if "to 8 bits" in done.stdout:  # beside weights in blocks, and told
            assert decibels(expected, found) > 40, decibels(expected, found)
            return target
    else:
        done = quadrant("convert", target, source.with_name("back.onnx"))
        assert done.returncode == 0, done.stderr
        found = run(source.with_name("back.onnx"), feeds)[0]
    assert np.array_equal(found, expected), f"{extension}: off by {np.abs(found - expected).max()} at most"
    return target


def check_again(options):
    with scratch() as folder:
        made, done = quantized(folder, product(normal()), *options)
        assert done.returncode == 0, done.stderr
        for extension in ("onnx", "xml", "tflite", "qd"):
            check_converted(made, extension, EYE, run(made, EYE)[0])


def test_what_was_written_converts():
    for name in types():
        yield f"--type {name}", check_again, ["--type", name]
    for options in (["--bits", "4", "--block-size", "32", "--scales", "float16"],
                    ["--bits", "8", "--scales", "float16"], ["--bits", "4", "--granularity", "channel"],
                    ["--bits", "8", "--block-size", "32", "--asymmetric", "--scales", "float16"],
                    ["--type", "int8", "--block-size", "32"], ["--type", "fp8-e4m3", "--block-size", "32"]):
        yield " ".join(options), check_again, options


def check_on(make, rows, name):
    """From ONNX to OpenVINO's files and TFLite's, and from those of OpenVINO to the others."""
    with scratch() as folder:
        made, done = quantized(folder, make(normal(rows=rows)), "--type", name)
        assert done.returncode == 0, done.stderr
        feeds = {"x": np.arange(rows) if make is lookup else np.eye(rows, dtype=np.float32)}
        expected = run(made, feeds)[0]
        check_converted(made, "tflite", feeds, expected)
        xml = check_converted(made, "xml", feeds, expected)
        for extension in ("onnx", "tflite"):
            check_converted(xml, extension, feeds, expected)


def test_what_was_converted_converts():
    for name in types():
        for make, rows in ((product, ROWS), (product, 70), (of_half, ROWS), (lookup, ROWS)):
            yield f"{name}, {make.__name__} of {rows}", check_on, make, rows, name


def packed(codes):
    """Two in each byte, the low bits first."""
    return (codes.ravel()[::2] | codes.ravel()[1::2] << 4).astype(np.uint8)


def check_lookup_of_blocks(kind, bits, axis, has_zeros, gather_axis, shape):
    """GatherBlockQuantized as other tools have it, too: codes of 4 bits in bytes, zero points around the middle."""
    random = np.random.default_rng(3)
    low, high = (-8, 8) if kind == "INT4" else (0, 2**bits)
    groups = [-(-extent // 16) if i == axis else extent for i, extent in enumerate(shape)]
    codes, scales = random.integers(low, high, shape), random.uniform(.1, 2, groups).astype(np.float32)
    zeros = random.integers(low, high, groups) if has_zeros else None
    stretched = lambda numbers: np.take(numbers, np.arange(shape[axis]) // 16, axis)
    middle = stretched(zeros) if has_zeros else 2**(bits - 1) if kind == "UINT8" else 0
    reals = (codes - middle).astype(np.float32) * stretched(scales)

    def stored(name, numbers):
        in_bytes = kind == "UINT8" and bits == 4
        extents = [*numbers.shape[:-1], numbers.shape[-1] // 2] if in_bytes else numbers.shape
        return helper.make_tensor(name, getattr(onnx.TensorProto, kind), extents,
                                  packed(numbers) if in_bytes else numbers.ravel())

    constants = [stored("codes", codes), numpy_helper.from_array(scales, "scales")]
    constants += [stored("zeros", zeros)] if has_zeros else []
    node = helper.make_node("GatherBlockQuantized", ["codes", "x", *[c.name for c in constants[1:]]], ["y"],
                            domain="com.microsoft", block_size=16, quantize_axis=axis, gather_axis=gather_axis,
                            **({"bits": bits} if kind == "UINT8" else {}))
    indices = np.array([[0, 3], [2, 1]])
    expected = np.take(reals, indices, gather_axis)
    model = model_of([node], [info("x", [2, 2], onnx.TensorProto.INT64)], [info("y", expected.shape)], {}, 21)
    model.graph.initializer.extend(constants)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    with scratch() as folder:
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        assert np.array_equal(run(path, {"x": indices})[0], expected), "not what ONNX Runtime computes"
        again = check_converted(path, "onnx", {"x": indices}, expected)
        assert [op.op_type for op in onnx.load(again).graph.node] == ["GatherBlockQuantized"]
        for extension in ("xml", "tflite"):
            check_converted(path, extension, {"x": indices}, expected)


def test_lookups_of_blocks_convert():
    for kind, bits in (("INT4", 4), ("UINT4", 4), ("UINT8", 4), ("UINT8", 8)):
        for has_zeros in (False, True):
            cases = [(1, 0, (6, 64)), (1, 0, (7, 24)), (2, 0, (5, 4, 32))]
            # ONNX Runtime looks up along axis 0 alone where codes are bytes.
            if kind != "UINT8":
                cases += [(0, 1, (48, 6)), (2, 1, (3, 4, 32))]
            # Rows of zero points that end within a byte are read differently by its releases.
            if not has_zeros or bits == 8 or kind != "UINT8":
                cases += [(1, 0, (6, 48)), (1, 0, (7, 16)), (1, 0, (6, 40))]
            for axis, gather_axis, shape in cases:
                yield (f"{kind} {bits} {has_zeros} {shape}", check_lookup_of_blocks, kind, bits, axis, has_zeros,
                       gather_axis, shape)


def check_tied(name):
    """A table that is looked up in and multiplied by: codes for both readers."""
    with scratch() as folder:
        made, done = quantized(folder, tied(normal(rows=150)), "--type", name)
        assert done.returncode == 0, done.stderr
        feeds = {"x": np.array([7])}
        expected = run(made, feeds)[0]
        for extension in ("xml", "tflite"):
            target = folder / f"again.{extension}"
            done = quadrant("convert", made, target)
            assert done.returncode == 0, done.stderr
            if extension == "xml":
                found = next(iter(compiled_by_openvino(str(target))([feeds["x"]]).values()))
                assert target.with_suffix(".bin").stat().st_size < 150 * COLUMNS * 2.5
            else:
                found = next(iter(run_litert(target, feeds).values()))
            assert np.allclose(found, expected, atol=2e-5 * np.abs(expected).max()), np.abs(found - expected).max()


def check_tied_from_text(name):
    """As the engine left it: with a transpose of codes, which no ONNX file has."""
    with scratch() as folder:
        path, text = folder / "model.onnx", folder / "made.qd"
        path.write_bytes(tied(normal(rows=150)).SerializeToString())
        done = quadrant("convert", path, text, "--scheme", "weight-only", "--type", name)
        assert done.returncode == 0, done.stderr
        feeds = {"x": np.array([7])}
        for extension in ("onnx", "xml", "tflite"):
            done = quadrant("convert", text, folder / f"again.{extension}")
            assert done.returncode == 0, done.stderr
        expected = run(folder / "again.onnx", feeds)[0]
        for found in (next(iter(compiled_by_openvino(str(folder / "again.xml"))([feeds["x"]]).values())),
                      next(iter(run_litert(folder / "again.tflite", feeds).values()))):
            assert np.allclose(found, expected, atol=2e-5 * np.abs(expected).max()), np.abs(found - expected).max()


def test_tied_tables_convert():
    for name in ("int4", "uint4", "int8", "nf4"):
        yield name, check_tied, name
    for name in types():
        yield f"{name} from text", check_tied_from_text, name


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


def check_zeros(name, zero):
    with scratch() as folder:
        made, done = quantized(folder, product(np.full((ROWS, COLUMNS), zero, np.float32)), "--type", name)
        assert done.returncode == 0, done.stderr
        assert "float16" not in done.stdout + done.stderr, done.stdout
        # IQ4_NL has no code for zero.
        assert np.abs(run(made, EYE)[0]).max() <= (1e-6 if name == "iq4nl" else 0)


def test_zeros():
    for zero in (0.0, -0.0):
        for name in [*types(), "codebook:16", "codebook:16:channel"]:
            yield f"{name}, {zero}", check_zeros, name, zero


# --- float16 weights ---------------------------------------------------------------------------------------

# Of a weight before it gets the shape that its product, or convolution, reads it in: a channel of extent 1 there is all
# of it here, and so is the only block.
SHAPES = {"a column": ((33,), (33, 1)), "a short row": ((8,), (1, 8)), "a filter": ((1, 8, 9), (1, 8, 3, 3)),
          "filters": ((4, 8, 9), (4, 8, 3, 3))}


def check_reshaped(name, stored, read):
    """A scale is that of all elements that share it: one of the first element alone leaves hardly any signal."""
    weight = (np.random.default_rng(5).standard_normal(stored) + 1).astype(np.float32)
    last, places = ("Conv", read[1:]) if len(read) == 4 else ("MatMul", read[:1])
    x = np.eye(np.prod(places), dtype=np.float32).reshape(-1, *places)  # what comes out are the weights
    nodes = [helper.make_node("Reshape", ["w", "to"], ["v"]), helper.make_node(last, ["x", "v"], ["y"])]
    model = model_of(nodes, [info("x", x.shape)], [info("y", None)], {"w": weight, "to": np.array(read, np.int64)})
    with scratch() as folder:
        made, done = quantized(folder, model, "--type", name, "--gain", "unit")
        assert done.returncode == 0, done.stderr
        expected = weight.reshape(read) if last == "MatMul" else weight.reshape(len(weight), -1).T[:, :, None, None]
        made_of_it = run(made, {"x": x})[0]
        noise = np.sum((made_of_it.astype(np.float64) - expected)**2)
        assert noise < np.sum(expected.astype(np.float64)**2) / 10**({"int2": .4, "int3": .9}.get(name[-4:], 1.3)), noise


def test_groups_behind_a_reshape():
    for name in types():
        for what, (stored, read) in SHAPES.items():
            yield f"{name}, {what}", check_reshaped, name, stored, read


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
        # Tables of what bytes stand for are shared by all weights of a model.
        sizes = {tensor.name: len(tensor.raw_data) for tensor in graph.initializer
                 if tensor.data_type != TensorProto.INT64 and not tensor.name.startswith("values_of_codes")}
        codes = sizes.get("w_codes", sizes.get("w_quantized"))
        assert codes == (w.size + 1) // 2, sizes
        # A scale of 4 bytes for 25 inputs, and a zero point; which block each input is of does not grow with channels.
        bits = 8 * sum(size for tensor, size in sizes.items() if "_blocks" not in tensor) / w.size
        assert bits < 6, sizes


def test_four_bits_in_the_file():
    for name in ("nf4", "iq4nl", "mxfp4", "nvfp4", "q4_k", "lpbq4", "codebook:16"):
        for shape in ((64, 32, 3, 3), (32, 8, 5, 5), (64, 3, 7, 7), (63, 257), (100, 1, 5, 5)):
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
