"""Modules of tosa, quantized with their activations: sums of products are of integers, lowered and run by two
versions of MLIR, and they are what the definition of the codes says, in numpy.
"""

import itertools
import re

import _mlir  # first: ends the test where MLIR is missing

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _mlir import plugin, rewritten, run_main
from _mlir_tosa import TO_LINALG, WINDOWS, Tosa, bordered, transposed
from _models import helper, info, model_of

QUANTIZE = "quadrant-quantize{scheme=static gains=unit}"
LOWER = f"quadrant-lower-quant-ops,{TO_LINALG}"
VERSIONS = 19, 22
FLOATS = r"tosa\.(\w*conv\dd|fully_connected|matmul)|linalg\.(conv|depthwise|matmul|batch_matmul)\w*(?<!_q) "
NAMES = {"conv2d": "linalg.conv_2d_nhwc_fhwc_q ", "depthwise_conv2d": "linalg.depthwise_conv_2d_nhwc_hwcm_q ",
         "conv3d": "linalg.generic ", "transpose_conv2d": "linalg.generic "}


def decibels(ours, theirs):
    return 10 * np.log10((theirs.astype(np.float64) ** 2).sum() /
                         max(1e-300, ((ours.astype(np.float64) - theirs) ** 2).sum()))


def close(ours, theirs):
    """Up to the rounding of a few operations in float32."""
    error = np.abs(ours - theirs).max() / np.abs(theirs).max()
    assert ours.shape == theirs.shape and error < 1e-6, f"differ by {error}"


# --- the definition -------------------------------------------------------------------------------------


def data_codes(data):
    """Asymmetric codes of 8 bits, with scale and zero point (arXiv 1712.05877)."""
    low, high = min(float(data.min()), 0.0), max(float(data.max()), 0.0)
    scale = np.float32((high - low) / 255)
    zero = int(np.clip(np.rint(-128 - low / scale), -128, 127))
    return np.clip(np.rint(data / scale) + zero, -128, 127).astype(np.int64), scale, zero


def weight_codes(weight, axis):
    """Symmetric ones, with a scale for each index of `axis`."""
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scales = (np.abs(weight).max(others) / np.float32(127)).astype(np.float32)
    shape = [-1 if i == axis else 1 for i in range(weight.ndim)]
    return np.rint(weight / scales.reshape(shape)).astype(np.int64), scales


def scaled(sums, scale, scales, bias):
    """Sums of integers, as real numbers."""
    return sums.astype(np.float64) * (np.float64(scale) * scales) + bias


# --- one operation --------------------------------------------------------------------------------------

DATA = np.random.default_rng(0)


def lopsided(*shape):
    """A range whose zero point is far from 0: a border of another code than that is seen."""
    return DATA.uniform(-0.5, 3, shape).astype(np.float32)


def ran(module, version, quantize=QUANTIZE):
    return module.parse(run_main(module.program(), f"{quantize},{LOWER}", version))


def on_integers(module, version, quantize=QUANTIZE):
    """The text, of which all products are on integers."""
    text = rewritten(version, module.function(), quantize)
    assert not re.search(FLOATS, text), text
    return text


def check_window(version, op, kernel, bias, window):
    module = Tosa(version, 1, has_stats=True)
    is_deep = op == "depthwise_conv2d"
    image = lopsided(2, *(4,) * (op == "conv3d"), 9, 8, 3)
    weight = DATA.standard_normal(kernel).astype(np.float32)
    channels = kernel[2] * kernel[3] if is_deep else kernel[0]
    held = {"bias": DATA.standard_normal(channels), "none": np.zeros(channels), "one": np.ones(1)}[bias]
    x, w, b = module.input_of(image), module.constant(weight), module.constant(held)
    if op == "transpose_conv2d":
        module.output(module.transposed(x, w, b, **window))
    else:
        module.output(module.window(op, x, w, b, **window))
    text = on_integers(module, version)
    assert ("arith.addf" in text) == (bias != "none"), text
    assert NAMES[op] in text, text
    # The border of zeros has the code of zero.
    codes, scale, zero = data_codes(image)
    of_weight, scales = weight_codes(weight, 2 if is_deep else 0)
    if is_deep:
        scales = np.repeat(scales, kernel[3])
    if op == "transpose_conv2d":
        sums = transposed(codes - zero, of_weight, **window)
    else:
        axes = image.ndim - 2
        sums = WINDOWS[op](bordered(codes, window.get("pad", (0, 0) * axes), zero) - zero, of_weight,
                           window.get("strides", (1,) * axes), window.get("dilations", (1,) * axes))
    expected = scaled(np.rint(sums), scale, scales, held.astype(np.float32))
    close(ran(module, version), expected)
    exact = module.values[module.result]
    assert 30 < decibels(expected, exact) < 70, "it is still the same sum"


def opened(module):
    """The program, of a function that does not know how high and wide its image and its result are."""
    image, result = module.type(module.inputs[0]), module.type(module.result)
    of_image, of_result = (re.sub(r"<(\d+)x\d+x\d+x", r"<\1x?x?x", of) for of in (image, result))
    text = module.program()
    before, main = text.split("func.func @main")
    assert main.count("%out = call @f(%in0)") == 1
    main = main.replace(f"%out = call @f(%in0) : ({image}) -> {result}",
                        f"%open = tensor.cast %in0 : {image} to {of_image}\n  %made = call @f(%open) : ({of_image}) -> {of_result}\n"
                        f"  %out = tensor.cast %made : {of_result} to {result}")
    return before.replace(image, of_image).replace(result, of_result) + "func.func @main" + main


def check_open(version, op, kernel, window):
    module = Tosa(version, 1, has_stats=True)
    x = module.input_of(lopsided(2, 9, 8, 3))
    w = module.constant(DATA.standard_normal(kernel).astype(np.float32))
    b = module.constant(DATA.standard_normal(kernel[2] * kernel[3] if op == "depthwise_conv2d" else kernel[0]))
    module.output(module.window(op, x, w, b, **window))
    assert not re.search(FLOATS, rewritten(version, opened(module), QUANTIZE))
    close(module.parse(run_main(opened(module), f"{QUANTIZE},{LOWER}", version)), ran(module, version))


def test_open_heights_and_widths():
    kernels = (("conv2d", (5, 3, 2, 3)), ("depthwise_conv2d", (3, 2, 3, 2)))
    for version, (op, kernel), (name, options) in itertools.product(VERSIONS, kernels, windows()):
        yield f"{op}, {name}, {version}", check_open, version, op, kernel, options


def windows():
    """(name, options) of every kind of window, which version 22 wants to come out even."""
    yield "plain", {}
    yield "padded", {"pad": (1, 2, 0, 1)}
    yield "by twos", {"strides": (2, 2), "pad": (1, 1, 2, 0)}
    yield "spread", {"dilations": (2, 2), "pad": (2, 2, 2, 2)}
    yield "all of it", {"dilations": (2, 1), "strides": (1, 2), "pad": (0, 3, 3, 1)}


def test_windows():
    kernels = (("conv2d", (5, 3, 2, 3)), ("depthwise_conv2d", (3, 2, 3, 1)), ("depthwise_conv2d", (3, 2, 3, 2)))
    for version, (op, kernel), (name, options) in itertools.product(VERSIONS, kernels, windows()):
        yield f"{op} {kernel}, {name}, {version}", check_window, version, op, kernel, "bias", options
    for version, (op, kernel), bias in itertools.product(VERSIONS, kernels, ("none", "one")):
        yield f"{op} {kernel}, {bias}, {version}", check_window, version, op, kernel, bias, {"pad": (1, 1, 1, 1)}
    for op, kernel in kernels:
        yield f"{op} {kernel}, with a rest", check_window, 19, op, kernel, "bias", {"strides": (2, 3), "pad": (1, 0, 1, 1)}
    for version in VERSIONS:
        for pad in (0, 0) * 3, (1, 0, 0, 1, 2, 1):
            window = {"pad": pad, "strides": (1, 1, 1), "dilations": (1, 2, 1)}
            yield f"conv3d, {pad}, {version}", check_window, version, "conv3d", (4, 2, 3, 2, 3), "bias", window
        for pad, strides in itertools.product(((0, 0, 0, 0), (1, 2, 0, 1), (-1, 0, -1, 1)), ((1, 1), (2, 3))):
            window = {"pad": pad, "strides": strides}
            yield (f"transpose_conv2d, {pad}, {strides}, {version}", check_window, version, "transpose_conv2d",
                   (5, 3, 2, 3), "bias", window)


def test_fully_connected():
    """In version 22 there is none."""
    module = Tosa(19, 2, has_stats=True)
    data = lopsided(4, 24)
    weight, bias = DATA.standard_normal((7, 24)).astype(np.float32), DATA.standard_normal(7).astype(np.float32)
    module.output(module.fully_connected(module.input_of(data), module.constant(weight), module.constant(bias)))
    on_integers(module, 19)
    codes, scale, zero = data_codes(data)
    of_weight, scales = weight_codes(weight, 0)
    close(ran(module, 19), scaled((codes - zero) @ of_weight.T, scale, scales, bias))


def test_an_open_batch():
    """How many images there are is known when it runs."""
    for version, op in itertools.product(VERSIONS, ("conv2d", "depthwise_conv2d")):
        module = Tosa(version, 3, has_stats=True)
        x = module.input_of(lopsided(11, 6, 6, 3))
        kernel = (3, 2, 3, 2) if op == "depthwise_conv2d" else (6, 3, 2, 3)
        w = module.constant(DATA.standard_normal(kernel))
        module.output(module.window(op, x, w, module.constant(DATA.standard_normal(6)), pad=(1, 1, 0, 1)))
        module.lines = [line.replace("tensor<11x", "tensor<?x") for line in module.lines]
        closed = module.program()
        image, result = module.type(x), module.type(module.result)
        opened = [of.replace("<11x", "<?x") for of in (image, result)]
        text = closed.replace(f"{x}: {image}", f"{x}: {opened[0]}").replace(
            f"-> {result} {{\n", f"-> {opened[1]} {{\n").replace(f"return {module.result} : {result}",
                                                                f"return {module.result} : {opened[1]}").replace(
            f"%out = call @f(%in0) : ({image}) -> {result}",
            f"%open = tensor.cast %in0 : {image} to {opened[0]}\n"
            f"%made = call @f(%open) : ({opened[0]}) -> {opened[1]}\n"
            f"%out = tensor.cast %made : {opened[1]} to {result}")
        made = rewritten(version, text, QUANTIZE)
        assert not re.search(FLOATS, made), made
        ours = module.parse(run_main(text, f"{QUANTIZE},{LOWER}", version))
        assert 30 < decibels(ours, module.values[module.result]) < 70
        closed_one = module.parse(run_main(closed.replace("tensor<?x", "tensor<11x"), f"{QUANTIZE},{LOWER}", version))
        assert np.array_equal(ours, closed_one)


# --- networks -------------------------------------------------------------------------------------------


def residual_weights():
    """Those of a small network with two residual sums, by their names, as tosa has them."""
    random = np.random.default_rng(7)
    shapes = {"stem": (16, 3, 3, 3), "wide": (3, 3, 16, 1), "point": (16, 1, 1, 16), "down": (32, 3, 3, 16),
              "next": (32, 3, 3, 32), "skip": (32, 2, 2, 16), "head": (10, 32)}
    weights = {}
    for name, shape in shapes.items():
        is_deep = name == "wide"
        terms = np.prod(shape[:2]) if is_deep else np.prod(shape[1:])
        weights[name] = (random.standard_normal(shape) * np.sqrt(2 / terms)).astype(np.float32)
        channels = shape[2] if is_deep else shape[0]
        weights[f"{name}_bias"] = (0.2 * random.standard_normal(channels)).astype(np.float32)
    return weights


HALVED = {"strides": (2, 2), "pad": (0, 1, 0, 1)}
KEPT = {"pad": (1, 1, 1, 1)}
LAYERS = {"stem": HALVED, "wide": KEPT, "point": {}, "down": HALVED, "next": KEPT, "skip": {"strides": (2, 2)}}


def residual_tosa(version, weights, images):
    module = Tosa(version, 7)

    def layer(name, x, is_clamped):
        op = "depthwise_conv2d" if name == "wide" else "conv2d"
        made = module.window(op, x, module.constant(weights[name]), module.constant(weights[f"{name}_bias"]),
                             **LAYERS[name])
        return module.clamp(made, 0, 6) if is_clamped else made

    x = layer("stem", module.input_of(images), True)
    x = module.clamp(module.sum_of(layer("point", layer("wide", x, True), False), x), 0, 6)
    x = module.clamp(module.sum_of(layer("next", layer("down", x, True), False), layer("skip", x, False)), 0, 6)
    count, head, bias = len(images), weights["head"], weights["head_bias"]
    if version == 19:
        rows = module.reshape(module.average(x), count, 32)
        return module.output(module.fully_connected(rows, module.constant(head), module.constant(bias)))
    rows = module.reshape(module.average(x), 1, count, 32)
    product = module.batches(rows, module.constant(np.ascontiguousarray(head.T)[None]))
    return module.output(module.reshape(module.sum_of(product, module.constant(bias[None, None])), count, 10))


def residual_onnx(weights, count):
    nodes, held = [], {"low": np.float32(0), "high": np.float32(6)}

    def layer(name, x, is_clamped):
        weight = weights[name]
        held[name] = np.ascontiguousarray(weight.transpose(2, 3, 0, 1) if name == "wide" else weight.transpose(0, 3, 1, 2))
        held[f"{name}_bias"] = weights[f"{name}_bias"]
        top, bottom, left, right = LAYERS[name].get("pad", (0, 0, 0, 0))
        nodes.append(helper.make_node(
            "Conv", [x, name, f"{name}_bias"], [f"{name}_sum"], pads=[top, left, bottom, right],
            strides=LAYERS[name].get("strides", (1, 1)), group=weight.shape[2] if name == "wide" else 1))
        return clamp(f"{name}_sum") if is_clamped else f"{name}_sum"

    def clamp(x):
        nodes.append(helper.make_node("Clip", [x, "low", "high"], [f"{x}_clamped"]))
        return f"{x}_clamped"

    def sum_of(a, b):
        nodes.append(helper.make_node("Add", [a, b], [f"{a}_added"]))
        return f"{a}_added"

    x = layer("stem", "x", True)
    x = clamp(sum_of(layer("point", layer("wide", x, True), False), x))
    x = clamp(sum_of(layer("next", layer("down", x, True), False), layer("skip", x, False)))
    held |= {"head": weights["head"], "head_bias": weights["head_bias"]}
    nodes += [helper.make_node("GlobalAveragePool", [x], ["average"]),
              helper.make_node("Flatten", ["average"], ["rows"]),
              helper.make_node("Gemm", ["rows", "head", "head_bias"], ["y"], transB=1)]
    return model_of(nodes, [info("x", [count, 3, 16, 16])], [info("y", [count, 10])], held)


def of_onnx(weights, samples, images, folder):
    """What the same network, quantized as an ONNX model, computes."""
    onnx.save(residual_onnx(weights, len(images)), folder / "model.onnx")
    for name, held in (("samples", samples), ("fresh", [images])):
        (folder / name).mkdir()
        for i, sample in enumerate(held):
            np.savez(folder / name / f"{i}.npz", x=np.ascontiguousarray(sample.transpose(0, 3, 1, 2)))
    done = quadrant("quantize", folder / "model.onnx", "-o", folder / "quantized.onnx", "--scheme", "static-affine",
                    "--calibration", folder / "samples")
    assert done.returncode == 0, done.stderr
    done = quadrant("run", folder / "quantized.onnx", "--data", folder / "fresh", "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    return np.load(folder / "out" / "0.npz")["y"]


def check_residual(version):
    random = np.random.default_rng(8)
    weights = residual_weights()
    *samples, images = (random.uniform(-1, 2, (4, 16, 16, 3)).astype(np.float32) for _ in range(9))
    module = residual_tosa(version, weights, images)
    exact = module.values[module.result]
    close(module.parse(run_main(module.program(), TO_LINALG, version)), exact)
    with scratch() as folder:
        theirs = of_onnx(weights, samples, images, folder)
        (folder / "data").mkdir()
        for i, sample in enumerate(samples):
            np.savez(folder / "data" / f"{i}.npz", argument_0=sample)
        file = folder / "statistics.json"
        run_main(module.function(), f"quadrant-instrument{{to={file} data={folder / 'data'}}},{TO_LINALG}", version)
        for gains in ("unit", "operations"):
            quantize = f"quadrant-quantize{{scheme=static gains={gains} statistics={file}}}"
            on_integers(module, version, quantize)
            reached, wanted = decibels(ran(module, version, quantize), exact), decibels(theirs, exact)
            assert reached > wanted - 0.5 and wanted > 20, f"{reached} dB, and as ONNX {wanted} dB"


def test_a_residual_network_is_as_near_as_in_onnx():
    for version in VERSIONS:
        yield f"{version}", check_residual, version


# --- what stays in floats -------------------------------------------------------------------------------

CONV = """func.func @f(%x: IMAGE {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>}, %b: BIAS) -> RESULT {
  %w = arith.constant dense<0.5> : KERNEL
  %y = tosa.conv2d %x, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}
    : (IMAGE, KERNEL, BIAS) -> RESULT
  return %y : RESULT
}
"""
USUAL = {"IMAGE": "tensor<1x4x4x2xf32>", "KERNEL": "tensor<3x3x3x2xf32>", "BIAS": "tensor<3xf32>",
         "RESULT": "tensor<1x4x4x3xf32>"}
STAYS = {  # what version 19 takes
    "open channels": ({"IMAGE": "tensor<1x4x4x?xf32>"}, "its channels, or transposed any extent but the batch, are not known"),
    "an open channel of the result": ({"RESULT": "tensor<1x4x4x?xf32>"}, "other extents than its operands give it"),
    "no rank": ({"RESULT": "tensor<*xf32>"}, "the ranks of its operands"),
    "another result": ({"RESULT": "tensor<1x4x5x3xf32>"}, "other extents than its operands give it"),
    "an open result": ({"RESULT": "tensor<1x?x?x3xf32>"}, "other extents than its operands give it"),
    "other channels": ({"IMAGE": "tensor<1x4x4x3xf32>"}, "do not fit together"),
    "a kernel that is too large": ({"KERNEL": "tensor<3x7x3x2xf32>"}, "do not fit its data"),
    "a negative border": ({"pad = array<i64: 1, 1, 1, 1>": "pad = array<i64: 1, -1, 1, 1>"}, "do not fit its data"),
    "a border without end": ({"pad = array<i64: 1, 1,": f"pad = array<i64: {2**63 - 1}, {2**63 - 1},"}, "do not fit its data"),
    "a stride of 0": ({"stride = array<i64: 1, 1>": "stride = array<i64: 0, 1>"}, "do not fit its data"),
    "an open bias": ({"BIAS": "tensor<?xf32>"}, "its bias"),
    "long sums": ({"IMAGE": "tensor<1x4x4x9000xf32>", "KERNEL": "tensor<3x3x3x9000xf32>"}, "32 bits"),
}


def check_stays(types, reason):
    text = CONV
    for word, to in {**USUAL, **types}.items():
        text = text.replace(word, to)
    said = plugin(19, text, "quadrant-report{scheme=static gains=unit}").stderr
    assert reason in said and "tosa.conv2d#0: float" in said, said
    made = rewritten(19, text, QUANTIZE)
    assert "tosa.conv2d" in made and "quant." not in made, made
    made = rewritten(19, text, "quadrant-quantize{scheme=static gains=unit products=casts sums=real}")
    assert "tosa.conv2d" in made and made.count("quant.dcast") == 2, made


def test_what_stays_in_floats():
    for name, (types, reason) in STAYS.items():
        yield name, check_stays, types, reason


def test_an_open_kernel_stays_in_floats():
    text = CONV.replace("%w = arith.constant dense<0.5> : KERNEL\n", "").replace("%x:", "%w: KERNEL {quadrant.stats = "
                                                                               "dense<[-1.0, 1.0]> : tensor<2xf32>}, %x:")
    for word, to in {**USUAL, "KERNEL": "tensor<3x?x3x2xf32>"}.items():
        text = text.replace(word, to)
    assert "the extents of its kernel are not known" in plugin(19, text, "quadrant-report{scheme=static gains=unit}").stderr


def test_the_usual_one_does_not():
    text = CONV
    for word, to in USUAL.items():
        text = text.replace(word, to)
    assert "linalg.conv_2d_nhwc_fhwc_q" in rewritten(19, text, QUANTIZE)


INTEGERS = """func.func @f(%x: tensor<1x4x4x2xi8>, %b: tensor<3xi32>) -> tensor<1x4x4x3xi32> {
  %w = arith.constant dense<5> : tensor<3x3x3x2xi8>
  %z = arith.constant dense<0> : tensor<1xi8>
  %y = tosa.conv2d %x, %w, %b ZEROS {dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, MORE}
    : (tensor<1x4x4x2xi8>, tensor<3x3x3x2xi8>, tensor<3xi32> TYPES) -> tensor<1x4x4x3xi32>
  return %y : tensor<1x4x4x3xi32>
}
"""
WRITTEN = {19: ("", "quantization_info = #tosa.conv_quant<input_zp = 3, weight_zp = 0>", ""),
           22: (", %z, %z", "acc_type = i32", ", tensor<1xi8>, tensor<1xi8>")}


def test_integers_stay_as_they_are():
    for version, parts in WRITTEN.items():
        text = INTEGERS
        for word, part in zip(("ZEROS", "MORE", "TYPES"), parts):
            text = text.replace(word, part)
        assert rewritten(version, text, QUANTIZE) == _mlir.opt(version, text)


if __name__ == "__main__":
    run_tests(globals())
