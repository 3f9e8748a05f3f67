"""Activations of float8: QuantizeLinear and DequantizeLinear as other tools write them, in ONNX Runtime and here."""

import _peers

import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _command import COMMAND, ROOT, quadrant, run_tests, scratch
from _litert import run_litert
from _models import run
from _openvino import compiled_by_openvino
from _text import graph_text

TYPES = {"f8e4m3": (TensorProto.FLOAT8E4M3FN, 448, 2.0 ** -9), "f8e5m2": (TensorProto.FLOAT8E5M2, 57344, 2.0 ** -16)}


def succeeds(*words, command=COMMAND):
    done = subprocess.run([str(word) for word in (command, *words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (words[0], done.returncode, done.stderr)
    return done.stdout + done.stderr


def interesting(rng, scale, largest, least):
    """Reals around every kind of number of the type: ties, subnormals, what is beyond, zeros of both signs."""
    steps = least * np.arange(-40, 41) / 8
    near = np.float32(largest) * np.float32([0.9, 0.97, 1, 1.03, 1.1, 4, 1e30])
    numbers = np.concatenate([steps, near, -near, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45],
                              rng.standard_normal(400) * largest / 8, rng.standard_normal(400) * least * 9,
                              2.0 ** np.arange(-20, 15) * 1.0625, 2.0 ** np.arange(-20, 15) * 1.1875])
    return (numbers.astype(np.float32) * np.float32(scale)).astype(np.float32)


def bytes_tensor(name, element, shape, data):
    return helper.make_tensor(name, element, shape, bytes(data), raw=True)


def simulated(code, scales, shape, attributes, zeros=True, opset=21):
    """x -> QuantizeLinear -> codes -> DequantizeLinear -> y"""
    element = TYPES[code][0]
    scales = np.float32(scales)
    initializers = [numpy_helper.from_array(scales, "scale"),
                    bytes_tensor("zero", element, scales.shape, [0] * scales.size)]
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["codes"], "quantize", **attributes),
             helper.make_node("DequantizeLinear", ["codes", "scale"] + ["zero"] * zeros, ["y"], "dequantize", **attributes)]
    graph = helper.make_graph(nodes, "simulated", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def decibels(found, wanted):
    with np.errstate(divide="ignore"):
        return 10 * np.log10((wanted ** 2).sum() / ((found - wanted) ** 2).sum())


def computed_here(folder, model, feeds):
    np.savez(folder / "in.npz", **feeds)
    succeeds("run", model, "--data", folder / "in.npz", "-o", folder / "out")
    (made,) = (folder / "out").glob("*.npz")
    return dict(np.load(made))


def check_same_bits(code, scales, attributes, zeros=True, opset=21):
    rng = np.random.default_rng(1)
    scale = np.float32(scales)
    numbers = interesting(rng, scale.ravel()[0], *TYPES[code][1:])
    channels = max(scale.size, 1)
    x = np.resize(numbers, (channels, numbers.size)).astype(np.float32)
    x *= (scale.reshape(-1, 1) / scale.ravel()[0]) if scale.ndim else np.float32(1)
    with scratch() as folder:
        onnx.save(simulated(code, scales, list(x.shape), attributes, zeros, opset), folder / "m.onnx")
        wanted = run(folder / "m.onnx", {"x": x})[0]
        # What is not finite is no sample.
        finite = np.where(np.isfinite(x), x, 0).astype(np.float32)
        wanted_of_finite = run(folder / "m.onnx", {"x": finite})[0]
        succeeds("convert", folder / "m.onnx", folder / "m.qd")
        text = (folder / "m.qd").read_text()
        assert f"{code} * f32" in text and "= quantize(" in text, text
        for made in ("m.onnx", "m.qd"):
            found = computed_here(folder, folder / made, {"x": finite})["y"]
            assert found.tobytes() == wanted_of_finite.tobytes(), np.argwhere(found != wanted_of_finite)[:5]
        succeeds("convert", folder / "m.qd", folder / "back.onnx")
        succeeds("quantize", folder / "m.onnx", "-o", folder / "arithmetic.onnx", "--scheme", "weight-only", "--format",
                 "arithmetic")
        back = onnx.load(folder / "back.onnx")
        assert [node.op_type for node in back.graph.node] == ["QuantizeLinear", "DequantizeLinear"], back.graph.node
        for made in ("back.onnx", "arithmetic.onnx"):
            assert run(folder / made, {"x": x})[0].tobytes() == wanted.tobytes(), made


def test_bits():
    for code in TYPES:
        for scale in (1.0, 0.37, 3e-4):
            yield f"{code} {scale}", check_same_bits, code, scale, {}
        yield f"{code} channels", check_same_bits, code, [0.5, 0.01, 3.0], {"axis": 0}
        yield f"{code} without zero points", check_same_bits, code, 0.1, {}, False
        yield f"{code} opset 19", check_same_bits, code, 0.1, {}, True, 19


BETWEEN = {"": {}, "Identity": {}, "Cast": {"to": TensorProto.FLOAT}, "Dropout": {}, "Flatten": {},
           "Transpose": {"perm": [0, 2, 3, 1]}, "MaxPool": {"kernel_shape": [2, 2]}}


def limited(folder, limit, between="", opset=21):
    """x -> limit -> between -> codes -> y, as other tools write it."""
    model = simulated("f8e4m3", 0.02, None, {}, opset=opset)
    graph = model.graph
    nodes = [*graph.node]
    nodes[0].input[0] = "moved" if between else "limited"
    del graph.node[:]
    if limit == "Clip":
        graph.initializer.extend([numpy_helper.from_array(np.float32(0), "low"), numpy_helper.from_array(np.float32(6), "high")])
    graph.node.append(helper.make_node(limit, ["x", "low", "high"] if limit == "Clip" else ["x"], ["limited"]))
    if between:
        graph.node.append(helper.make_node(between, ["limited"], ["moved"], **BETWEEN[between]))
    graph.node.extend([*nodes, helper.make_node("Neg", ["y"], ["negated"])])
    del graph.input[:], graph.output[:]
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 6, 6]))
    graph.output.append(helper.make_tensor_value_info("negated", TensorProto.FLOAT, None))
    if opset < 21:  # carried as it is, and no converter knows it
        model.functions.append(helper.make_function("own", "f", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])],
                                                    [helper.make_opsetid("", 13)]))
        model.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx", {"x": np.random.default_rng(4).standard_normal((1, 4, 6, 6)).astype(np.float32) * 4}


def check_limit(limit, between, opset):
    with scratch() as folder:
        path, feeds = limited(folder, limit, between, opset)
        wanted = run(path, feeds)[0]
        if limit == "Relu" and between != "Flatten":  # the fault is still there
            assert run(path, feeds, optimised=True)[0].tobytes() != wanted.tobytes()
        succeeds("convert", path, folder / "back.onnx")
        assert onnx.load(folder / "back.onnx").opset_import[0].version == opset
        for optimised in (False, True):
            assert run(folder / "back.onnx", feeds, optimised=optimised)[0].tobytes() == wanted.tobytes(), optimised


def test_limits_in_front():
    """Somewhere: ONNX Runtime moves QuantizeLinear across what lies in between."""
    for limit in ("Relu", "Clip"):
        for between in BETWEEN:
            for opset in (21, 19):
                yield f"{limit} {between} {opset}", check_limit, limit, between, opset


def test_halves():
    """Reals and scales of float16."""
    with scratch() as folder:
        model = simulated("f8e4m3", 0.5, [3, 50], {})
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.float16(0.37), "scale"))
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
        onnx.save(model, folder / "m.onnx")
        x = (np.random.default_rng(5).standard_normal((3, 50)) * 60).astype(np.float16)
        wanted = run(folder / "m.onnx", {"x": x})[0]
        assert computed_here(folder, folder / "m.onnx", {"x": x})["y"].tobytes() == wanted.tobytes()
        succeeds("convert", folder / "m.onnx", folder / "m.qd")
        assert "f8e4m3 * f16[tensor] : f16" in (folder / "m.qd").read_text()
        succeeds("convert", folder / "m.qd", folder / "back.onnx")
        assert run(folder / "back.onnx", {"x": x})[0].tobytes() == wanted.tobytes()


def test_files_that_have_them_keep_their_opset():
    with scratch() as folder:
        onnx.save(simulated("f8e4m3", 0.5, [4], {}, opset=19), folder / "m.onnx")
        succeeds("convert", folder / "m.onnx", folder / "back.onnx")
        assert onnx.load(folder / "back.onnx").opset_import[0].version == 19


def text_of(types):
    return graph_text([f"%x: tensor<{types}xf32> = input()",
                       f"%q: tensor<{types}x!quadrant.numbers<{{}}>> = quantize(%x)",
                       f"%y: tensor<{types}xf32> = dequantize(%q)", "output(%y)"], 21)


def test_texts():
    """What no file can say, and what no shape tells, is refused where it stands."""
    with scratch() as folder:
        for types, numbers, words in (
                ("4", '"f8e4m3 * f32[tensor] : f32", [0.0]', "none of which is 0"),
                ("4", '"nf4 * f32[tensor] : f32", [0.5]', "no other codes of nf4"),
                ("*", '"f8e4m3 * f32[axis=1] : f32", [0.5, 1.0]', "depends on an open extent"),
                ("?x?", '"f8e4m3 * f32[axis=1] : f32", [0.5, 1.0]', "depends on an open extent"),
                ("?", '"f8e4m3 * f32[tensor] : f32", [0.5]', None),
                ("4", '"f8e4m3 * bf16[tensor] : f32", [0.5]', None)):
            (folder / "m.qd").write_text(text_of(types).replace("{}", numbers))
            done = quadrant("convert", folder / "m.qd", folder / "m.onnx")
            if words is None:
                assert done.returncode == 0, done.stderr
            else:
                assert done.returncode in (3, 4) and words in done.stderr, (done.returncode, done.stderr)


def check_left(change):
    """Whatever means something else stays what it is, in the same file."""
    with scratch() as folder:
        model = simulated("f8e4m3", 0.5, [4], {})
        change(model.graph)
        onnx.save(model, folder / "m.onnx")
        succeeds("convert", folder / "m.onnx", folder / "back.onnx")
        x = np.float32([0.3, -1, 5e3, 7])
        assert run(folder / "back.onnx", {"x": x})[0].tobytes() == run(folder / "m.onnx", {"x": x})[0].tobytes()
        succeeds("convert", folder / "m.onnx", folder / "m.qd")
        text = (folder / "m.qd").read_text()
        assert "= quantize(" not in text, text


def test_what_is_left():
    def not_saturating(graph):
        graph.node[0].attribute.append(helper.make_attribute("saturate", 0))

    def other_scale(graph):
        graph.initializer.append(numpy_helper.from_array(np.float32(2), "other"))
        graph.node[1].input[1] = "other"

    def read_as_codes(graph):
        graph.node.append(helper.make_node("Cast", ["codes"], ["z"], to=TensorProto.FLOAT))
        graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [4]))

    for change in (not_saturating, other_scale, read_as_codes):
        yield change.__name__, check_left, change


def product_model(folder):
    """x -> codes -> reals, times a weight of float8 channels."""
    rng = np.random.default_rng(3)
    element = TYPES["f8e4m3"][0]
    model = simulated("f8e4m3", 0.02, [None, 16], {})
    codes = rng.integers(0, 0x70, (16, 8), np.uint8) | (rng.integers(0, 2, (16, 8), np.uint8) << 7)
    graph = model.graph
    graph.initializer.extend([bytes_tensor("w", element, codes.shape, codes.tobytes()),
                              numpy_helper.from_array(np.float32(rng.uniform(1e-3, 1e-2, 8)), "w_scale")])
    graph.node.extend([helper.make_node("DequantizeLinear", ["w", "w_scale"], ["w_real"], axis=1),
                       helper.make_node("MatMul", ["y", "w_real"], ["z"])])
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [None, 8]))
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx", {"x": rng.standard_normal((5, 16)).astype(np.float32)}


def test_a_product():
    with scratch() as folder:
        path, feeds = product_model(folder)
        wanted = run(path, feeds)[0]
        found = computed_here(folder, path, feeds)["z"]
        assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_other_files_refuse():
    with scratch() as folder:
        path, _ = product_model(folder)
        for ending in ("tflite", "xml", "mlir"):
            done = quadrant("convert", path, folder / f"out.{ending}", *("--shape", "x=5x16"))
            assert done.returncode == 4, (ending, done.stderr)
            assert "no operation of the file makes codes of f8e4m3 * f32[tensor] : f32" in done.stderr, done.stderr
            assert "'codes'" in done.stderr or "quantize" in done.stderr, done.stderr
            assert not (folder / f"out.{ending}").exists()


def test_every_command():
    """What knows uniform codes alone says so, or passes them by; nothing ends badly."""
    with scratch() as folder:
        path, feeds = product_model(folder)
        np.savez(folder / "in.npz", **feeds)
        data, calibration = ("--data", folder / "in.npz"), ("--calibration", folder / "in.npz")
        for words, code, said in (
                (("inspect", path), 0, "f8e4m3"), (("inspect", path, "--json"), 0, "quantize"),
                (("placement", path), 0, "1 constant of a type that is not read"),
                (("encodings", path, "-o", folder / "e.json"), 2, "no values that are quantized to integers"),
                (("compare", path, path, *data), 0, "exact"), (("diagnose", path, path, *data), 0, ""),
                (("sensitivity", path, *data, "--scheme", "weight-only"), 4, "no weight is quantized"),
                (("calibrate", path, *data, "-o", folder / "s.json"), 0, ""),
                (("transform", path, "-o", folder / "t.onnx"), 0, ""),
                (("explain", path, "--scheme", "static-affine", *calibration), 4, "quantized already"),
                (("explain", path, "--scheme", "qdq_fusion"), 0, "matmul"),
                (("quantize", path, "-o", folder / "q.onnx", "--scheme", "weight-only", "--report", folder / "r.html"), 0, ""),
                (("quantize", path, "-o", folder / "q.onnx", "--scheme", "static-affine", *calibration), 4, "quantized already")):
            done = quadrant(*words)
            assert done.returncode == code and said in done.stdout + done.stderr, (words, done.returncode, done.stdout, done.stderr)


def test_the_example():
    """Both factors of each product are codes of e4m3, and nothing of it is a lie."""
    model = ROOT / "examples" / "models" / "digits_cnn.onnx"
    data = model.with_suffix(".npz")
    with scratch() as folder:
        (folder / "in").mkdir()
        samples = np.load(data)
        graph = onnx.load(model).graph
        (name,) = [each.name for each in graph.input if each.name not in {one.name for one in graph.initializer}]
        images = samples[next(key for key in samples.files if samples[key].ndim == len(graph.input[0].type.tensor_type.shape.dim))]
        np.savez(folder / "in" / "a.npz", **{name: images[:64].astype(np.float32)})
        example = COMMAND.parent / "example_fp8"
        succeeds("quantize", model, "-o", folder / "fp8.onnx", "--scheme", "fp8", "--calibration", folder / "in",
                 "--report", folder / "r.html", command=example)
        made = onnx.load(folder / "fp8.onnx")
        kinds = [node.op_type for node in made.graph.node]
        products = sum(kind in ("Conv", "Gemm", "MatMul") for kind in kinds)
        assert products > 0 and kinds.count("QuantizeLinear") == products, kinds
        assert kinds.count("DequantizeLinear") == 2 * products, kinds
        feeds = {name: images[64:128].astype(np.float32)}
        wanted, real = run(folder / "fp8.onnx", feeds)[0], run(model, feeds)[0]
        assert decibels(run(folder / "fp8.onnx", feeds, optimised=True)[0], wanted) > 40
        # Zero points in place of the attribute: the fault that is avoided is still there.
        for node in made.graph.node:
            if node.op_type == "QuantizeLinear":
                del node.attribute[:]
                node.input.append("zero")
        made.graph.initializer.append(bytes_tensor("zero", TYPES["f8e4m3"][0], [], [0]))
        onnx.save(made, folder / "zeros.onnx")
        try:
            run(folder / "zeros.onnx", feeds, optimised=True)
        except Exception as problem:
            assert "y_zero_point" in str(problem), problem
        else:
            raise AssertionError("ONNX Runtime takes a Clip in front of zero points of float8 now")
        (found,) = computed_here(folder, folder / "fp8.onnx", feeds).values()
        # Sums in another order give another code here and there, 16 of which are in a power of two.
        noise, difference = decibels(wanted, real), decibels(found, wanted)
        assert 20 < noise < 60 and difference > noise + 3, (noise, difference)
        explained = succeeds("explain", model, "--scheme", "fp8", "--calibration", folder / "in", command=example)
        assert explained.count("ToQuantize") == products, explained


def test_one_dequantize_of_what_several_read():
    rng = np.random.default_rng(6)
    weights = [rng.standard_normal((8, 5)).astype(np.float32) for _ in range(3)]
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"], f"product{i}") for i in range(3)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                              [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [4, 5]) for i in range(3)],
                              [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    x = rng.standard_normal((4, 8)).astype(np.float32)
    with scratch() as folder:
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "m.onnx")
        np.savez(folder / "x.npz", x=x)
        succeeds("quantize", folder / "m.onnx", "-o", folder / "fp8.onnx", "--scheme", "fp8", "--calibration",
                 folder / "x.npz", command=COMMAND.parent / "example_fp8")
        made = onnx.load(folder / "fp8.onnx").graph.node
        read = {node.input[0] for node in made if node.op_type == "MatMul"}
        assert len(read) == 1, read
        assert [node.op_type for node in made].count("DequantizeLinear") == 4, [node.op_type for node in made]
        for found, weight in zip(run(folder / "fp8.onnx", {"x": x}), weights):
            assert decibels(found, x @ weight) > 25


def check_stored(code, groups):
    """A constant that is rounded to float8 is stored as such codes where no operation makes them."""
    rng = np.random.default_rng(8)
    w = rng.standard_normal((16, 8)).astype(np.float32)
    scales = np.float32(0.01) if groups == "tensor" else rng.uniform(.005, .02, 8).astype(np.float32)
    attributes = {"axis": 1} if groups == "axis" else {}
    model = simulated(code, scales, [16, 8], attributes)
    graph = model.graph
    del graph.input[:], graph.output[:]
    graph.initializer.append(numpy_helper.from_array(w, "x"))
    graph.node.append(helper.make_node("MatMul", ["data", "y"], ["z"]))
    graph.input.append(helper.make_tensor_value_info("data", TensorProto.FLOAT, [16, 16]))
    graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [16, 8]))
    feeds = {"data": np.eye(16, dtype=np.float32)}
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        wanted = run(folder / "m.onnx", feeds)[0]
        for ending in ("xml", "tflite", "mlir"):
            succeeds("convert", folder / "m.onnx", folder / f"m.{ending}")
        assert "f8e" in (folder / "m.xml").read_text()
        found = next(iter(compiled_by_openvino(str(folder / "m.xml"))([feeds["data"]]).values()))
        assert np.array_equal(found, wanted)
        assert np.array_equal(next(iter(run_litert(folder / "m.tflite", feeds).values())), wanted)


def test_constants_are_stored_as_codes():
    for code in TYPES:
        for groups in ("tensor", "axis"):
            yield f"{code} {groups}", check_stored, code, groups


if __name__ == "__main__":
    run_tests(globals())
