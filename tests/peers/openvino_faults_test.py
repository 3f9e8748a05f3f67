"""What OpenVINO computes otherwise on codes than in real numbers: that its installed release still does so, and
that what is written here goes around it.
"""

import _peers

import numpy as np
import onnx
import openvino
from openvino import opset13 as ops

from _command import quadrant, run_tests, scratch
from _models import helper, model_of
from _openvino import compiled_by_openvino

core = openvino.Core()
SHAPE = (1, 4, 8, 8)
STEP, ZERO = np.float32(.025), 96
NUMBER = np.float32(.3)
LOW, HIGH = -ZERO * STEP, (255 - ZERO) * STEP
SCALES = np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1, 1)


def constant(value, dtype=np.float32):
    return ops.constant(np.asarray(value, dtype))


def run(model, x):
    compiled = compiled_by_openvino(model, INFERENCE_NUM_THREADS=1)
    return np.array(compiled([x])[0])


def rounded(x):
    """To the nearest code's number."""
    return np.clip(np.rint(x / STEP), -ZERO, 255 - ZERO).astype(np.float32) * STEP


def pad(x):
    return np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=NUMBER)


def average(x):
    """Over windows of three by three, pads of zeros counted."""
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return sum(wide[:, :, i:i + 8, j:j + 8] for i in range(3) for j in range(3)) / np.float32(9)


# Of each fault: what should be computed, and the same as a layer and as ONNX's operator.
FAULTS = {
    "pad_of_a_number": (pad, lambda x: ops.pad(x, constant([0, 0, 1, 0], np.int64), constant([0, 0, 1, 0], np.int64),
                                               "constant", constant(NUMBER)),
                        lambda: (helper.make_node("Pad", ["r", "pads", "number"], ["p"]),
                                 {"pads": np.array([0, 0, 1, 0, 0, 0, 1, 0]), "number": NUMBER})),
    "average_that_counts_pads": (average, lambda x: ops.avg_pool(x, [1, 1], [1, 1], [1, 1], [3, 3], False),
                                 lambda: (helper.make_node("AveragePool", ["r"], ["p"], kernel_shape=[3, 3], pads=[1] * 4,
                                                           count_include_pad=1), {})),
}


def sample():
    return np.random.default_rng(1).uniform(LOW, HIGH, SHAPE).astype(np.float32)


def one_of_four():
    """A weight that adds nothing up: each channel is one of the operand's."""
    return np.eye(4, dtype=np.float32)[::-1].reshape(4, 4, 1, 1).copy()


def check_fault(name):
    """A release that computes what it should needs no way around: take real_operand out of src/io/openvino."""
    truth, layer, _ = FAULTS[name]
    bounds = [constant(bound) for bound in (LOW, HIGH, LOW, HIGH)]
    codes = lambda value: ops.fake_quantize(value, *bounds, 256)
    least, most = (constant(np.full((4, 1, 1, 1), bound)) for bound in (-1, 1))
    weight = ops.fake_quantize(constant(one_of_four()), least, most, least, most, 255)
    conv = lambda value: ops.convolution(value, weight, [1, 1], [0, 0], [0, 0], [1, 1])
    x = ops.parameter(SHAPE, np.float32, name="x")
    y = conv(codes(layer(codes(conv(codes(x))))))
    found = run(openvino.Model([y], [x], "fault"), sample())
    wanted = rounded(truth(rounded(rounded(sample())[:, ::-1])))[:, ::-1]
    error = np.abs(found - wanted).max()
    assert error > .1, f"{name}: OpenVINO {openvino.__version__} computes what it should, {error} off"


def test_faults_are_there():
    for name in FAULTS:
        yield name, check_fault, name


def quantized(name):
    """Convolution, the operation, convolution: of QuantizeLinear and DequantizeLinear."""
    operation, constants = FAULTS[name][2]()
    pair = lambda x, y: [helper.make_node("QuantizeLinear", [x, "scale", "zero"], [f"{y}_codes"]),
                         helper.make_node("DequantizeLinear", [f"{y}_codes", "scale", "zero"], [y])]
    weight = helper.make_node("DequantizeLinear", ["codes", "w_scale"], ["w"])
    nodes = [weight, *pair("x", "a"), helper.make_node("Conv", ["a", "w"], ["b"]), *pair("b", "c"),
             helper.make_node("Relu", ["c"], ["r"]), operation, *pair("p", "d"), helper.make_node("Conv", ["d", "w"], ["y"])]
    constants |= {"scale": STEP, "zero": np.uint8(ZERO), "w_scale": np.float32(1 / 127),
                  "codes": (one_of_four() * 127).astype(np.int8)}
    value = lambda name, shape: helper.make_tensor_value_info(name, 1, shape)
    return model_of(nodes, [value("x", SHAPE)], [value("y", None)], constants, 17)


def check_way_around(name, middle):
    truth = FAULTS[name][0]
    with scratch() as folder:
        model = quantized(name)
        if middle != "Relu":  # another operation that codes move through
            for node in model.graph.node:
                if node.op_type == "Relu":
                    node.CopyFrom(helper.make_node("MaxPool", ["c"], ["r"], kernel_shape=[1, 1]))
        onnx.save(model, folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        assert done.returncode == 0, done.stderr
        found = run(core.read_model(folder / "model.xml"), sample())
    inner = rounded(rounded(sample())[:, ::-1])
    inner = np.maximum(inner, 0) if middle == "Relu" else inner
    wanted = rounded(truth(inner))[:, ::-1]
    off = np.abs(found - wanted)  # a tie may be rounded the other way
    assert off.max() < .03 and (off > 1e-4).mean() < .02, f"{off.max()} off, {(off > 1e-4).mean():.1%} of them"


def test_ways_around():
    for name in FAULTS:
        for middle in "Relu", "MaxPool":
            yield f"{name}_{middle}", check_way_around, name, middle


# --- Gather by one index, of what is scaled by a constant, beside codes --------------------------------------


def gathered(scales):
    """What OpenVINO computes of Gather by one index along axis 2, behind a product by `scales`."""
    x = ops.parameter(SHAPE, np.float32, name="x")
    bounds = [constant(bound) for bound in (LOW, HIGH, LOW, HIGH)]
    least, most = (constant(np.full((4, 1, 1, 1), bound)) for bound in (-1, 1))
    weight = ops.fake_quantize(constant(one_of_four()), least, most, least, most, 255)
    conv = ops.convolution(ops.fake_quantize(x, *bounds, 256), weight, [1, 1], [0, 0], [0, 0], [1, 1])
    part = ops.gather(ops.multiply(x, constant(scales)), constant(1, np.int64), constant(2, np.int64))
    return np.array(core.compile_model(openvino.Model([conv, part], [x], "fault"), "CPU")([sample()])[1])


def test_gather_has_another_shape():
    """A release that does not needs no way around."""
    assert gathered(SCALES).shape != (1, 4, 8), f"OpenVINO {openvino.__version__} computes what it should"


def test_gather_behind_one_scale():
    """Which has none of it: codes go on."""
    for shape in (), (1,), (1, 1, 1, 1):
        assert np.array_equal(gathered(np.full(shape, 2.5)), np.take(sample() * np.float32(2.5), 1, 2)), shape


def check_gather(scaling, index):
    pair = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["a"]),
            helper.make_node("DequantizeLinear", ["codes", "w_scale"], ["w"]),
            helper.make_node("Conv", ["a", "w"], ["b"])]
    value = lambda name, shape: helper.make_tensor_value_info(name, 1, shape)
    constants = {"scale": STEP, "zero": np.uint8(ZERO), "w_scale": np.float32(1 / 127), "scales": SCALES, "index": index,
                 "one": SCALES.ravel(), "codes": (one_of_four() * 127).astype(np.int8)}
    scaled = {"Mul": ["x", "scales"], "Div": ["x", "scales"], "BatchNormalization": ["x", *["one"] * 4]}[scaling]
    nodes = [*pair, helper.make_node(scaling, scaled, ["s"]), helper.make_node("Gather", ["s", "index"], ["y"], axis=2)]
    with scratch() as folder:
        onnx.save(model_of(nodes, [value("x", SHAPE)], [value("b", None), value("y", None)], constants, 17),
                  folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        assert done.returncode == 0, done.stderr
        found = core.compile_model(core.read_model(folder / "model.xml"), "CPU")([sample()])
    wide = SCALES if scaling == "Mul" else 1 / SCALES
    truth = (sample() - SCALES) / np.sqrt(SCALES + 1e-5) * SCALES + SCALES if scaling == "BatchNormalization" else sample() * wide
    wanted = np.take(truth, index, 2)
    assert np.array(found["y"]).shape == wanted.shape, np.array(found["y"]).shape
    assert np.allclose(found["y"], wanted, atol=1e-4)


def test_gather():
    for scaling in "Mul", "Div", "BatchNormalization":
        for index in np.int64(1), np.array([[0, 1], [2, 3]]), np.array([3, 0]):
            yield f"{scaling} {index.ndim}", check_gather, scaling, index


# --- products by several matrices -----------------------------------------------------------------------------


def decibels(found, wanted):
    return 10 * np.log10((wanted.astype(np.float64) ** 2).sum() / ((found - wanted.astype(np.float64)) ** 2).sum())


def check_several_matrices(scales, is_right):
    """Of codes without a zero point, in float the same: what OpenVINO computes with scales for columns."""
    random = np.random.default_rng(3)
    x = random.uniform(0, 1, (4, 8, 16)).astype(np.float32)
    codes = random.integers(-100, 100, (4, 16, 3)).astype(np.int8)
    operand = ops.parameter(x.shape, np.float32, name="x")
    bounds = [constant(bound) for bound in (0, 1, 0, 1)]
    weight = ops.multiply(ops.convert(ops.constant(codes), np.float32), constant(scales))
    made = ops.matmul(ops.fake_quantize(operand, *bounds, 256), weight, False, False)
    found = run(openvino.Model([made], [operand], "fault"), x)
    reached = decibels(found, np.rint(x * 255) / 255 @ (codes * scales))
    assert (reached > 30) == is_right, f"OpenVINO {openvino.__version__}: {reached} dB"


def test_several_matrices_with_scales_for_columns():
    """A release that is right with both needs no one scale: see takes_channels of static_affine."""
    check_several_matrices(np.float32(.01), True)
    check_several_matrices(np.array([[[.01, .02, .005]]], np.float32), False)


def test_several_matrices_have_one_scale():
    random = np.random.default_rng(4)
    for shape in (4, 16, 3), (2, 3, 16, 5):
        columns = np.geomspace(.1, 1, shape[-1])  # whose scales would differ
        weight = (random.standard_normal(shape) * columns).astype(np.float32)
        samples = [random.uniform(0, 1, (*shape[:-2], 8, shape[-2])).astype(np.float32) for _ in range(4)]
        value = lambda name, extents: helper.make_tensor_value_info(name, 1, extents)
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", samples[0].shape)],
                         [value("y", None)], {"w": weight}, 17)
        with scratch() as folder:
            onnx.save(model, folder / "model.onnx")
            (folder / "samples").mkdir()
            for i, sample_ in enumerate(samples):
                np.savez(folder / "samples" / f"{i}.npz", x=sample_)
            done = quadrant("convert", folder / "model.onnx", folder / "model.xml", "--scheme", "static-affine",
                            "--calibration", folder / "samples", "--saturation", "allow")
            assert done.returncode == 0, done.stderr
            found = run(core.read_model(folder / "model.xml"), samples[0])
        assert decibels(found, samples[0] @ weight) > 30


if __name__ == "__main__":
    run_tests(globals())
