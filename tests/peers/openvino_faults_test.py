"""What OpenVINO computes otherwise on codes than in real numbers: that its installed release still does so, and
that what is written here goes around it.
"""

import os

# Which faults are there is a question of the kernel, and so of the processor: processors with AVX512-FP16 compute some of
# these rightly. What has VNNI has these kernels.
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_VNNI"

import _peers

import numpy as np
import onnx
import openvino
from openvino import opset13 as ops

from _command import quadrant, run_tests, scratch
from _models import helper, model_of, session_of
from _openvino import compiled_by_openvino
from _saturation import IN_REALS, in_openvino

core = openvino.Core()
SHAPE = (1, 4, 8, 8)
STEP, ZERO = np.float32(.025), 96
NUMBER = np.float32(.3)
LOW, HIGH = -ZERO * STEP, (255 - ZERO) * STEP
SCALES = np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1, 1)


def constant(value, dtype=np.float32):
    return ops.constant(np.asarray(value, dtype))


def run(model, x, settings={}):
    compiled = compiled_by_openvino(model, INFERENCE_NUM_THREADS=1, **settings)
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


# --- what becomes part of the FakeQuantize that reads it, or is computed on its codes -------------------------


class Chain:
    """Operations one behind the other, the model's value `x` in front; `shape` is that of what it is fed, where the
    model's may be open."""

    def __init__(self, *shape, open_axes=()):
        self.shape, self.open_axes = shape, open_axes
        self.nodes, self.constants, self.last = [], {}, "x"
        self.random = np.random.default_rng(5)
        self.has_products = False

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def then(self, op, *arrays, first=(), **attributes):
        names = [*(self.constant(array) for array in first), self.last, *(self.constant(array) for array in arrays)]
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [self.last], **attributes))
        return self

    def codes(self, step=.03, zero=128):
        for op in "QuantizeLinear", "DequantizeLinear":
            self.then(op, np.float32(step), np.uint8(zero))
        return self

    def weighted(self, op, shape, axis, bias=None, **attributes):
        """Weights of 8 bits, a scale for each channel along `axis`."""
        self.has_products = True
        scales = self.random.uniform(.005, .02, shape[axis]).astype(np.float32)
        codes = self.random.integers(-127, 128, shape).astype(np.int8)
        inputs = [self.last, f"w{len(self.nodes)}", *([self.constant(bias)] if bias is not None else [])]
        self.nodes.append(helper.make_node("DequantizeLinear", [self.constant(codes), self.constant(scales)],
                                           [inputs[1]], axis=axis))
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [self.last], **attributes))
        return self

    def model(self):
        shape = [None if axis in self.open_axes else extent for axis, extent in enumerate(self.shape)]
        value = lambda name, extents: helper.make_tensor_value_info(name, 1, extents)
        return model_of(self.nodes, [value("x", shape)], [value(self.last, None)], self.constants, 17)


LISTS = np.linspace(.2, 1, 8, dtype=np.float32).reshape(8, 1, 1)
IMAGE = (2, 8, 6, 6)


def image():
    return Chain(*IMAGE, open_axes=[0])


def limited(chain):
    return chain.then("Clip", np.float32(-1), np.float32(1)).codes()


def two_products(middle=lambda chain: chain, bias=None):
    first = Chain(6, 12).codes(.008).weighted("Gemm" if bias is not None else "MatMul", (12, 16), 1, bias)
    return middle(first).codes(.01).weighted("MatMul", (16, 5), 1)


def extreme(op, **attributes):
    return Chain(2, 7, 5, 6).then(op, **attributes).codes().weighted("Conv", (4, 7, 1, 1), 0)


JOINED = {
    "scales in front of limits": lambda: limited(image().then("Mul", LISTS)),
    "scales in front of limits, first": lambda: limited(image().then("Mul", first=[LISTS])),
    "shifts in front of limits": lambda: limited(image().then("Add", LISTS)),
    "quotients in front of limits": lambda: limited(image().then("Div", LISTS + 1)),
    "scales in front of a sign": lambda: image().then("Mul", LISTS).then("Neg").codes(),
    "scales behind a sign": lambda: image().then("Neg").then("Mul", LISTS).codes(),
    "scales, first": lambda: Chain(*IMAGE, open_axes=[2, 3]).then("Mul", first=[LISTS]).codes(),
    "scales of both signs": lambda: image().then("Mul", LISTS - .5).codes(),
    "products without a bias": two_products,
    "a Relu between": lambda: two_products(lambda chain: chain.then("Relu")),
    "a number times": lambda: two_products(lambda chain: chain.then("Mul", np.float32(.5))),
    "a number plus": lambda: two_products(lambda chain: chain.then("Add", np.float32(.3))),
    "a bias, and a number times": lambda: two_products(lambda chain: chain.then("Mul", np.float32(.5)),
                                                       np.linspace(-1, 1, 16, dtype=np.float32)),
    "ReduceMax": lambda: extreme("ReduceMax", axes=[3]),
    "ReduceMin": lambda: extreme("ReduceMin", axes=[2, 3]),
    "GlobalMaxPool": lambda: extreme("GlobalMaxPool"),
    "limits that are no codes": lambda: Chain(*IMAGE).codes(.1).then("Clip", np.float32(.18), np.float32(1))
    .codes(1 / 255, 0).weighted("Conv", (4, 8, 1, 1), 0),
    "a stride beyond the kernel": lambda: image().codes().weighted(
        "ConvTranspose", (8, 4, 2, 2), 1, np.linspace(-1, 1, 4, dtype=np.float32), strides=[3, 2]).codes(.05),
    "a mean of what is taken from a list": lambda: Chain(2, 2, 4).codes().weighted("MatMul", (4, 4), 1).codes(.02)
    .then("Sub", first=[np.array([[-.08], [.3]], np.float32)]).then("ReduceMean", axes=[2]),
    "a vector": lambda: Chain(16).codes().weighted("MatMul", (16, 5), 1).codes(.02),
    "a norm of small numbers": lambda: image().codes().weighted("Conv", (8, 8, 1, 1), 0).then("Mul", np.float32(1e-3))
    .then("InstanceNormalization", np.ones(8, np.float32), np.zeros(8, np.float32)),
    "several channels of one": lambda: Chain(1, 2, 7).codes(.0186, 102).weighted("Conv", (4, 1, 5), 0, group=2)
    .codes(.03),
}


def joined_again(model):
    """Without the layers that keep apart what the file says."""
    for node in model.get_ops():
        constants = [n for n in node.input_values() if n.get_node().get_type_name() == "Constant"]
        if node.get_type_name() == "Maximum" and any(np.isneginf(n.get_node().data).all() for n in constants):
            node.output(0).replace(node.input_value(0))
    return model


def decibels_of(found, wanted):
    return decibels(found, wanted) if found.shape == wanted.shape else -np.inf


def check_joined(name):
    chain = JOINED[name]()
    x = np.random.default_rng(6).standard_normal(chain.shape).astype(np.float32)
    with scratch() as folder:
        onnx.save(chain.model(), folder / "model.onnx")
        wanted = session_of(folder / "model.onnx").run(None, {"x": x})[0]
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        assert done.returncode == 0, done.stderr
        # Kernels whose sums end at 16 bits lose more of these weights than the faults do.
        in_reals = chain.has_products and in_openvino()
        found = run(core.read_model(folder / "model.xml"), x, IN_REALS if in_reals else {})
        faulty = run(joined_again(core.read_model(folder / "model.xml")), x)
    assert decibels_of(found, wanted) > 28, f"{decibels_of(found, wanted)} dB"
    if in_reals:
        return
    assert decibels_of(faulty, wanted) < 28, (f"OpenVINO {openvino.__version__} computes what it should: see "
                                           "src/io/openvino/real_operand.hpp")


def test_kept_apart():
    for name in JOINED:
        yield name, check_joined, name


# --- axes of reductions beside what moves axes ----------------------------------------------------------------


def unsqueezed(axis):
    """A layer of real numbers, and what it should compute."""
    return (lambda x: ops.reduce_l2(ops.unsqueeze(x, constant([axis], np.int64)), constant([1], np.int64), True),
            lambda: [helper.make_node("Unsqueeze", ["x", "axes"], ["a"]),
                     helper.make_node("ReduceL2", ["a"], ["y"], axes=[1])],
            {"axes": np.array([axis])}, lambda x: np.sqrt((x[..., None] ** 2).sum(1, keepdims=True)))


def transposed(axes):
    return (lambda x: ops.reduce_mean(ops.transpose(x, constant([3, 1, 2, 0], np.int64)), constant(axes, np.int64), False),
            lambda: [helper.make_node("Transpose", ["x"], ["a"], perm=[3, 1, 2, 0]),
                     helper.make_node("ReduceMean", ["a"], ["y"], axes=axes, keepdims=0)],
            {}, lambda x: x.transpose(3, 1, 2, 0).mean((1, 2)))


def check_axes(shape, case):
    layer, nodes, constants, truth = case
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    wanted = truth(x)
    operand = ops.parameter(shape, np.float32, name="x")
    faulty = run(openvino.Model([layer(operand)], [operand], "fault"), x)
    assert faulty.shape != wanted.shape, f"OpenVINO {openvino.__version__} computes what it should"
    value = lambda name, extents: helper.make_tensor_value_info(name, 1, extents)
    with scratch() as folder:
        onnx.save(model_of(nodes(), [value("x", shape)], [value("y", None)], constants, 13), folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        assert done.returncode == 0, done.stderr
        found = run(core.read_model(folder / "model.xml"), x)
    assert found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-5), found.shape


def test_axes():
    for axis in -1, 3:
        yield f"Unsqueeze {axis}", check_axes, (1, 2, 12), unsqueezed(axis)
    for axes in [2, 1], [1, 2]:
        yield f"Transpose {axes}", check_axes, (1, 3, 8, 6), transposed(axes)


# --- products by several matrices -----------------------------------------------------------------------------


def decibels(found, wanted):
    noise = ((found - wanted.astype(np.float64)) ** 2).sum()
    return 10 * np.log10((wanted.astype(np.float64) ** 2).sum() / max(noise, 1e-30))


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
    if not in_openvino():  # other kernels, without VNNI, are right
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
                            "--calibration", folder / "samples", *([] if in_openvino() else ["--saturation", "allow"]))
            assert done.returncode == 0, done.stderr
            found = run(core.read_model(folder / "model.xml"), samples[0])
        assert decibels(found, samples[0] @ weight) > 30


if __name__ == "__main__":
    run_tests(globals())
