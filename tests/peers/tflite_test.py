"""What is written as TFLite runs in LiteRT and gives what ONNX Runtime gives for the model; and it
is read and written again without a change of what it computes.

The environment variable TFLITE_CONVERT names the tool of tests/io/tflite/convert_main.cpp.
"""

import _peers

import collections
import functools
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from _command import ROOT, quadrant, run_tests, scratch
from _litert import interpreter_of, operators_of, run_litert
from _models import EXAMPLES, SHARED, random_feeds, session_of
from _tflite_file import Tensor, file_of, schema

TOOL = os.environ.get("TFLITE_CONVERT", ROOT / "build" / "release" / "bin" / "tflite_convert")
RNG = np.random.default_rng(7)


# --- running ---------------------------------------------------------------------------------------


def convert(source, target):
    done = subprocess.run([str(TOOL), str(source), str(target)], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr.strip()
    return done.stdout


def compare(found, expected, tolerance, name):
    assert found.shape == expected.shape, f"{name}: {found.shape}, not {expected.shape}"
    if expected.dtype.kind != "f":
        difference = np.abs(found.astype(np.int64) - expected.astype(np.int64))
        limit = tolerance if expected.dtype.kind in "iu" and expected.itemsize == 1 else 0
    else:
        difference = np.abs(found - expected)
        limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0)))
    worst = difference.max(initial=0)
    assert worst <= limit, f"{name}: {worst} off, {limit} allowed"


def check(model, operators=None, tolerance=1e-5, feeds=None, both=True, stable=True):
    """`operators`: those of the file, as a list or counted; None: any. `stable`: they are the same when the
    file is read and written again."""
    with scratch() as folder:
        source = model
        if isinstance(model, onnx.ModelProto):
            source = folder / "model.onnx"
            onnx.save(model, source)
        written = folder / "model.tflite"
        said = convert(source, written)
        if operators is not None:
            found = operators_of(written)
            assert found == collections.Counter(operators), f"{dict(found)}: {said}"
        session = session_of(source)
        feeds = feeds or random_feeds(session)
        expected = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
        for optimised in ([False, True] if both else [False]):
            results = run_litert(written, feeds, optimised)
            assert list(results) == list(expected), f"outputs {list(results)}"
            for name in expected:
                compare(results[name], expected[name], tolerance, name)
        # Read and written again.
        again = folder / "again.tflite"
        convert(written, again)
        first, second = run_litert(written, feeds), run_litert(again, feeds)
        for name in first:
            assert np.array_equal(first[name], second[name]), f"{name} is another the second time"
        assert not stable or operators_of(written) == operators_of(again), operators_of(again)
        return said


# --- models of a few nodes ---------------------------------------------------------------------------


def array(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(text, constants=None, opset=17, **inputs):
    """`text`: nodes of ONNX's text form, the last of which makes `y`."""
    given = ", ".join(f"{'float' if isinstance(shape, tuple) else shape[0]}"
                      f"{list(shape if isinstance(shape, tuple) else shape[1])} {name}"
                      for name, shape in inputs.items())
    # Open dimensions have names.
    given = given.replace("'", "")
    source = (f'<ir_version: 8, opset_import: ["": {opset}, "com.microsoft": 1]>\n'
              f"g ({given}) => (y) {{ {text} }}")
    model = onnx.parser.parse_model(source)
    for name, value in (constants or {}).items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return model


def image(text, constants=None, shape=(1, 8, 9, 10), **rest):
    return model_of(text, constants, x=shape, **rest)


CONVOLUTIONS = {
    "valid": ("Conv(x, w, b)", (5, 8, 3, 3), "", ["CONV_2D"]),
    "same": ("Conv<pads = [1, 1, 1, 1]>(x, w, b)", (5, 8, 3, 3), "", ["CONV_2D"]),
    "same_upper": ('Conv<auto_pad = "SAME_UPPER", strides = [2, 2]>(x, w)', (5, 8, 3, 3), "",
                   ["CONV_2D"]),
    "same_lower": ('Conv<auto_pad = "SAME_LOWER", strides = [2, 2]>(x, w)', (5, 8, 3, 3), "",
                   ["PAD", "CONV_2D"]),
    "other_pads": ("Conv<pads = [0, 2, 1, 0], strides = [2, 1]>(x, w, b)", (5, 8, 3, 3), "",
                   ["PAD", "CONV_2D"]),
    "dilated": ("Conv<dilations = [2, 1]>(x, w, b)", (5, 8, 3, 3), "", ["CONV_2D"]),
    "depthwise": ("Conv<group = 8, pads = [1, 1, 1, 1]>(x, w, b)", (8, 1, 3, 3), "",
                  ["DEPTHWISE_CONV_2D"]),
    "multiplied": ("Conv<group = 8>(x, w, b)", (16, 1, 3, 3), "", ["DEPTHWISE_CONV_2D"]),
    "groups": ("Conv<group = 2>(x, w, b)", (6, 4, 3, 3), "", ["CONV_2D"]),
    "relu": ("Conv(x, w, b)", (5, 8, 3, 3), "Relu", ["CONV_2D"]),
}


def test_convolution():
    for name, (call, weights, after, operators) in CONVOLUTIONS.items():
        constants = {"w": array(*weights), "b": array(weights[0])}
        text = f"c = {call} y = {after}(c)" if after else f"y = {call}"
        yield name, check_image, text, constants, operators


def check_image(text, constants, operators, shape=(1, 8, 9, 10), **options):
    """Images in and out in the model's order: two transposes, and no more."""
    around = operators and ["TRANSPOSE", *operators, "TRANSPOSE"]
    check(image(text, constants, shape), around, **options)


def test_chains():
    w = {"w": array(8, 8, 3, 3), "b": array(8), "half": np.float32(0.5),
         "channel": array(8, 1, 1), "six": np.float32(6), "zero": np.float32(0)}
    conv = "Conv<pads = [1, 1, 1, 1]>"
    yield "residual", check_image, (f"c = {conv}(x, w, b) d = Relu(c) e = {conv}(d, w, b) "
                                    "f = Add(e, d) y = Relu(f)"), w, ["CONV_2D", "CONV_2D", "ADD"]
    yield "shared", check_image, (f"c = {conv}(x, w, b) d = Relu(c) y = Add(c, d)"), w, [
        "CONV_2D", "RELU", "ADD"]
    yield "relu6", check_image, f"c = {conv}(x, w, b) y = Clip(c, zero, six)", w, ["CONV_2D"]
    yield "clip", check_image, f"c = {conv}(x, w, b) y = Clip(c, zero, half)", w, [
        "CONV_2D", "MAXIMUM", "MINIMUM"]
    yield "channels", check_image, f"c = {conv}(x, w, b) y = Mul(c, channel)", w, ["CONV_2D", "MUL"]
    yield "swish", check_image, f"c = {conv}(x, w, b) s = Sigmoid(c) y = Mul(c, s)", w, [
        "CONV_2D", "LOGISTIC", "MUL"]
    yield "concat", check_image, (f"c = {conv}(x, w, b) d = MaxPool<kernel_shape = [3, 3], "
                                  f"pads = [1, 1, 1, 1]>(c) e = Concat<axis = 1>(c, d) "
                                  "y = Relu(e)"), w, ["CONV_2D", "MAX_POOL_2D", "CONCATENATION",
                                                      "RELU"]
    yield "moved", check_chain_of_moves, conv, w
    yield "dense", check, model_of(
        f"c = {conv}(x, w, b) p = GlobalAveragePool(c) f = Flatten(p) y = Gemm<transB = 1>(f, v, u)",
        w | {"v": array(5, 8), "u": array(5)}, x=(1, 8, 9, 10)), [
        "TRANSPOSE", "CONV_2D", "MEAN", "RESHAPE", "FULLY_CONNECTED"]


def check_chain_of_moves(conv, constants):
    """A graph that transposes back and forth itself."""
    check(model_of(f"t = Transpose<perm = [0, 3, 1, 2]>(x) c = {conv}(t, w, b) "
                   "u = Transpose<perm = [0, 2, 3, 1]>(c) r = Relu(u) "
                   f"v = Transpose<perm = [0, 3, 1, 2]>(r) d = {conv}(v, w, b) "
                   "y = Transpose<perm = [0, 2, 3, 1]>(d)", constants, x=(1, 9, 10, 8)),
          ["CONV_2D", "CONV_2D"])


def test_conv_transpose():
    w, b = array(8, 5, 3, 3), array(5)
    for name, call in {
            "valid": "ConvTranspose<strides = [2, 2]>(x, w, b)",
            "same": 'ConvTranspose<strides = [2, 2], auto_pad = "SAME_UPPER">(x, w, b)',
            "pads": "ConvTranspose<strides = [2, 2], pads = [0, 0, 1, 1], "
                    "output_padding = [0, 0]>(x, w, b)",
            "apart": "ConvTranspose<strides = [4, 4], output_padding = [1, 1]>(x, w, b)",
    }.items():
        yield name, check_image, f"y = {call}", {"w": w, "b": b}, ["TRANSPOSE_CONV"]
    yield "relu", check_image, "c = ConvTranspose(x, w, b) y = Relu(c)", {"w": w, "b": b}, [
        "TRANSPOSE_CONV"]
    for name, attributes in {
            "cut": "pads = [1, 1, 1, 1]", "uneven": "strides = [3, 3], pads = [0, 1, 2, 1]",
            "added": "strides = [2, 3], pads = [1, 0, 0, 2], output_padding = [1, 2]",
            "twice": "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]",
            "shape": "strides = [2, 2], output_shape = [17, 18]",
            "shape_upper": 'strides = [2, 2], output_shape = [17, 19], auto_pad = "SAME_UPPER"',
            "shape_lower": 'strides = [2, 2], output_shape = [16, 18], auto_pad = "SAME_LOWER"',
            "same_added": 'strides = [3, 3], output_padding = [1, 2], auto_pad = "SAME_UPPER"',
            "same_apart": 'strides = [5, 5], auto_pad = "SAME_UPPER"',
            "unpadded": 'strides = [2, 2], auto_pad = "VALID"',
            "same_lower": 'strides = [2, 2], auto_pad = "SAME_LOWER"'}.items():
        # With a filter of another extent some of these are TFLite's own paddings.
        for kernel in (3, 4):
            yield f"{name}_{kernel}", check_image, f"y = ConvTranspose<{attributes}>(x, w, b)", {
                "w": array(8, 5, kernel, kernel), "b": b}, None
    yield "sliced", check_image, "y = ConvTranspose<pads = [1, 1, 1, 1]>(x, w, b)", {
        "w": array(8, 5, 4, 4), "b": b}, ["TRANSPOSE_CONV", "STRIDED_SLICE"]
    yield "line", check, model_of(
        "y = ConvTranspose<strides = [2], pads = [1, 1], output_padding = [1]>(x, w, b)",
        {"w": array(8, 5, 3), "b": b}, x=(1, 8, 6))


POOLINGS = {
    "max": ("MaxPool<kernel_shape = [2, 2], strides = [2, 2]>", ["MAX_POOL_2D"]),
    "max_padded": ("MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>",
                   ["PADV2", "MAX_POOL_2D"]),
    "max_ceil": ("MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>",
                 ["MAX_POOL_2D"]),
    "average": ("AveragePool<kernel_shape = [2, 2], strides = [2, 2]>", ["AVERAGE_POOL_2D"]),
    "average_same": ('AveragePool<kernel_shape = [3, 3], auto_pad = "SAME_UPPER">',
                     ["AVERAGE_POOL_2D"]),
    "average_padded": ("AveragePool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>",
                       ["PAD", "AVERAGE_POOL_2D", "MUL"]),
    "average_counts": ("AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], "
                       "count_include_pad = 1>", ["PAD", "AVERAGE_POOL_2D"]),
    "lp": ("LpPool<kernel_shape = [2, 3], strides = [2, 2]>",
           ["MUL", "AVERAGE_POOL_2D", "MUL", "SQRT"]),
    "lp_padded": ("LpPool<kernel_shape = [3, 3], pads = [1, 2, 1, 0]>",
                  ["MUL", "PAD", "AVERAGE_POOL_2D", "MUL", "SQRT"]),
    "lp_same": ('LpPool<kernel_shape = [3, 3], auto_pad = "SAME_UPPER", p = 1>',
                ["ABS", "PAD", "AVERAGE_POOL_2D", "MUL"]),
    "lp_3": ("LpPool<kernel_shape = [2, 2], p = 3>",
             ["ABS", "POW", "AVERAGE_POOL_2D", "MUL", "POW"]),
}


def test_pooling():
    for name, (call, operators) in POOLINGS.items():
        yield name, check_image, f"y = {call}(x)", {}, operators


def test_one_dimension():
    constants = {"w": array(5, 8, 3), "b": array(5)}
    yield "conv", check, model_of("y = Conv<pads = [1, 1]>(x, w, b)", constants, x=(1, 8, 12))
    yield "pool", check, model_of("y = MaxPool<kernel_shape = [2], strides = [2]>(x)", {},
                                  x=(1, 8, 12))


UNARY = {"Relu": "RELU", "Sigmoid": "LOGISTIC", "Tanh": "TANH", "HardSwish": "HARD_SWISH",
         "Elu": "ELU", "LeakyRelu<alpha = 0.2>": "LEAKY_RELU", "Abs": "ABS", "Exp": "EXP",
         "Neg": "NEG", "Ceil": "CEIL", "Floor": "FLOOR", "Round": "ROUND", "Sin": "SIN",
         "Cos": "COS", "Sign": "SIGN"}


# What ONNX Runtime calls by names of its own.
ROW, SQUARE, LINE = {"b": (6,)}, {"w": (6, 5), "b": (5,)}, {"k": (3, 4), "g": (4,), "h": (4,), "b": (4,)}
ALIASES = {
    "Gelu": ("com.microsoft.Gelu(x)", (3, 6), {}),
    "BiasGelu": ("com.microsoft.BiasGelu(x, b)", (3, 6), ROW),
    "FastGelu": ("com.microsoft.FastGelu(x)", (3, 6), {}),
    "FastGelu_bias": ("com.microsoft.FastGelu(x, b)", (3, 6), ROW),
    "QuickGelu": ("com.microsoft.QuickGelu<alpha = 1.5>(x)", (3, 6), {}),
    "SimplifiedLayerNormalization": ("SimplifiedLayerNormalization<axis = -1, epsilon = 0.01>(x, b)", (3, 6), ROW),
    "SkipLayerNormalization": ("com.microsoft.SkipLayerNormalization<epsilon = 0.01>(x, k, g, h, b)", (3, 4), LINE),
    "SkipSimplified": ("com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.01>(x, k, g, b)", (3, 4), LINE),
    "FusedGemm": ('com.microsoft.FusedGemm<alpha = 0.5, activation = "LeakyRelu", activation_alpha = 0.2>(x, w, b)',
                  (3, 6), SQUARE),
    "FusedMatMul": ("com.microsoft.FusedMatMul<alpha = 0.5, transA = 1>(x, w)", (6, 3), SQUARE),
    "FusedConv": ('com.microsoft.FusedConv<kernel_shape = [3, 3], pads = [1, 1, 1, 1], activation = "Relu">(x, w, b)',
                  (1, 4, 6, 6), {"w": (5, 4, 3, 3), "b": (5,)}),
    "FusedConv_clip": ('com.microsoft.FusedConv<kernel_shape = [3, 3], activation = "Clip", '
                       "activation_params = [-0.5, 0.25]>(x, w)", (1, 4, 6, 6), {"w": (5, 4, 3, 3)}),
}


def test_other_names():
    for name, (call, shape, constants) in ALIASES.items():
        constants = {key: array(*extents) for key, extents in constants.items()}
        yield name, check, model_of(f"y = {call}", constants, x=shape), None, 1e-4


COUNTERPARTS = {
    **{f"{kind}(x)": None for kind in ("Atan", "Tan", "Sinh", "Cosh", "Asinh", "IsNaN", "NonZero")},
    "Asin(small)": None, "Acos(small)": None, "Atanh(small)": None, "Acosh(large)": None,
    "CumSum<reverse = 1>(x, one)": ["CUMSUM"], "CumSum<exclusive = 1>(x, last)": ["CUMSUM"],
    "Mod<fmod = 1>(x, row)": None, "LpNormalization<p = 1, axis = 1>(x)": None, "LpNormalization(x)": None,
    "Trilu<upper = 0>(x)": None, "Trilu(x, one)": None, "Size(x)": None,
    "Shrink<lambd = 0.4, bias = 0.1>(x)": None, "CastLike(x, one)": None,
    "ScatterND(x, places, values)": None, 'ScatterND<reduction = "add">(x, places, values)': None,
}


def test_counterparts():
    """Operations that have an exact counterpart, or a short formula."""
    constants = {"one": np.int64(1), "last": np.int64(-1), "row": np.float32([1.5, -0.7, 2, 3]),
                 "places": np.array([[1], [0]]), "values": array(2, 3, 4)}
    for call, operators in COUNTERPARTS.items():
        text = ("small = Sin(x) e = Exp(x) o = Constant<value_float = 1.0>() large = Add(e, o) "
                if "small" in call or "large" in call else "")
        stable = not call.startswith(("CastLike", "IsNaN", "Mod", "ScatterND", "Shrink"))
        yield call, functools.partial(check, stable=stable), model_of(
            f"{text}y = {call}", constants, x=(2, 3, 4)), operators
    for axis in (-1, 0, 1):
        yield f"TopK_{axis}", check, model_of(f"y, i = TopK<axis = {axis}>(x, two)", {"two": np.array([2])},
                                              x=(4, 3, 5))
        yield f"OneHot_{axis}", functools.partial(check, stable=False), model_of(
            f"y = OneHot<axis = {axis}>(x, depth, values)",
            {"depth": np.int64(4), "values": np.float32([-1, 2])}, x=["int64", (2, 3)]), None, 0, {
            "x": np.array([[0, -1, 5], [3, -4, -5]])}
    yield "TopK_smallest", check, model_of("y, i = TopK<largest = 0>(x, two)", {"two": np.array([2])}, x=(4, 5))
    yield "LRN", check, image("y = LRN<size = 3, alpha = 0.2, beta = 0.6, bias = 1.5>(x)")
    yield "GlobalLpPool", check, image("y = GlobalLpPool(x)")
    yield "GroupNormalization", check, image("y = GroupNormalization<num_groups = 2>(x, s, b)", {
        "s": array(8), "b": array(8)}, opset=21)
    yield "ReverseSequence", check, model_of(
        "y = ReverseSequence<batch_axis = 1, time_axis = 0>(x, n)", {"n": np.array([1, 4, 2])}, x=(4, 3, 2))
    yield "BitwiseXor", check, model_of("y = BitwiseXor(x, z)", x=["int32", (3, 4)], z=["int32", (4,)], opset=18)
    yield "Range", check, model_of("s = Squeeze(x) y = Range(zero, s, two)", {"zero": np.int64(0), "two": np.int64(2)},
                                   x=["int64", (1,)]), None, 0, {"x": np.array([9])}
    for name, attributes, operators in (("same", "pads = [1, 1, 1, 1, 1, 1]", ["CONV_3D"]),
                                        ("uneven", "pads = [0, 1, 2, 1, 0, 0], strides = [1, 2, 1]", ["PAD", "CONV_3D"]),
                                        ("upper", 'auto_pad = "SAME_UPPER", strides = [2, 2, 2]', ["CONV_3D"])):
        yield f"Conv3D_{name}", check, model_of(
            f"y = Conv<{attributes}>(x, w, b)", {"w": array(4, 2, 3, 3, 3), "b": array(4)}, x=(1, 2, 5, 6, 7)), [
            "TRANSPOSE", *operators, "TRANSPOSE"]


FORMULAS = {
    "Elu<alpha = 2.0>": (["RELU", "MINIMUM", "ELU", "MUL", "ADD"], 1e-5),
    "Selu": (["RELU", "MUL", "MINIMUM", "ELU", "MUL", "ADD"], 1e-5),
    "Selu<alpha = 2.0, gamma = 3.0>": (["RELU", "MUL", "MINIMUM", "ELU", "MUL", "ADD"], 1e-5),
    "Celu<alpha = 0.5>": (["RELU", "MINIMUM", "MUL", "ELU", "MUL", "ADD"], 1e-5),
    "Celu": (["RELU", "MINIMUM", "ELU", "ADD"], 1e-5),
    "Softsign": (["ABS", "ADD", "DIV"], 1e-6),
    "Softplus": (["ABS", "NEG", "EXP", "ADD", "LOG", "RELU", "ADD"], 1e-6),
    "Mish": (["ABS", "NEG", "EXP", "ADD", "LOG", "RELU", "ADD", "TANH", "MUL"], 1e-6),
    "Erf": (None, 1e-6),
    "HardSigmoid<alpha = 0.3, beta = 0.4>": (["MUL", "ADD", "RELU_0_TO_1"], 1e-6),
    "ThresholdedRelu<alpha = 0.7>": (["GREATER", "SELECT_V2"], 1e-6),
}


def check_erf():
    """Against the C library's, where it is hardest: near zero, and where it becomes 1."""
    import math
    x = np.linspace(-6, 6, 4001, dtype=np.float32)
    model = model_of("y = Erf(x)", x=(4001,))
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        said = convert(folder / "m.onnx", folder / "m.tflite")
        found = run_litert(folder / "m.tflite", {"x": x})["y"]
        worst = max(abs(float(a) - math.erf(float(b))) for a, b in zip(found, x))
        assert worst < 5e-7, f"{worst}: {said}"


def test_elementwise():
    for call, operator in UNARY.items():
        yield call, check, model_of(f"y = {call}(x)", x=(2, 3, 4)), [operator]
    for kind, operator in {"Log": "LOG", "Sqrt": "SQRT", "Reciprocal": "DIV"}.items():
        yield kind, check, model_of(f"a = Abs(x) b = Add(a, one) y = {kind}(b)",
                                    {"one": np.float32(1)}, x=(2, 3, 4)), ["ABS", "ADD", operator]
    for kind, operator in {"Add": "ADD", "Sub": "SUB", "Mul": "MUL", "Div": "DIV", "Max": "MAXIMUM",
                           "Min": "MINIMUM"}.items():
        yield kind, check, model_of(f"y = {kind}(x, z)", x=(2, 3, 4), z=(3, 1)), [operator]
    yield "Pow", check, model_of("a = Abs(x) y = Pow(a, p)", {"p": np.float32(1.5)}, x=(2, 3))
    yield "PRelu", check_image, "c = MaxPool<kernel_shape = [2, 2]>(x) y = PRelu(c, s)", {
        "s": array(8, 1, 1)}, ["MAX_POOL_2D", "PRELU"]
    yield "Sum", check, model_of("y = Sum(x, z, x)", x=(2, 3), z=(3,)), ["ADD", "ADD"]
    yield "Mean", check, model_of("y = Mean(x, z)", x=(2, 3), z=(3,)), ["ADD", "MUL"]
    for kind in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"):
        yield kind, check, model_of(f"y = {kind}(x, z)", x=(2, 3, 4), z=(4,))
    yield "Where", check, model_of("c = Greater(x, z) y = Where(c, x, z)", x=(2, 3, 4), z=(4,)), [
        "GREATER", "SELECT_V2"]
    yield "logic", check, model_of("a = Greater(x, z) b = Less(x, zero) c = And(a, b) d = Not(c) "
                                   "e = Or(d, a) y = Xor(e, b)", {"zero": np.float32(0)},
                                   x=(2, 3, 4), z=(4,))
    yield "HardSigmoid", check, model_of("y = HardSigmoid(x)", x=(2, 3)), ["MUL", "ADD",
                                                                          "RELU_0_TO_1"]
    for call, (operators, tolerance) in FORMULAS.items():
        yield call, check, model_of(f"y = {call}(x)", x=(3, 4, 50), opset=18), operators, tolerance
    yield "Erf_known", check_erf
    yield "Elu_image", check_image, ("c = MaxPool<kernel_shape = [2, 2]>(x) d = Softplus(c) "
                                     "y = Elu<alpha = 2.0>(d)"), {}, None
    yield "Gelu", check, model_of("y = Gelu(x)", x=(2, 3), opset=20), ["GELU"], 1e-4
    yield "BatchNormalization", check_image, "y = BatchNormalization(x, s, b, m, v)", {
        "s": array(8), "b": array(8), "m": array(8), "v": np.abs(array(8)) + 1}, None
    for axis in (-1, 1, 0):
        yield f"Softmax[{axis}]", check, model_of(f"y = Softmax<axis = {axis}>(x)", x=(2, 3, 4))
    yield "LogSoftmax", check, model_of("y = LogSoftmax(x)", x=(2, 3, 4)), ["LOG_SOFTMAX"]


SUMS = {"ReduceL1": ["ABS", "SUM"], "ReduceL2": ["MUL", "SUM", "SQRT"],
        "ReduceSumSquare": ["MUL", "SUM"], "ReduceLogSum": ["SUM", "LOG"],
        "ReduceLogSumExp": ["REDUCE_MAX", "SUB", "EXP", "SUM", "LOG", "ADD"]}


def test_reductions():
    for kind in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
        for keep in (0, 1):
            yield f"{kind}[{keep}]", check, model_of(
                f"y = {kind}<axes = [1, -1], keepdims = {keep}>(x)", x=(2, 3, 4))
    yield "ReduceSum", check, model_of("y = ReduceSum(x, a)", {"a": np.array([1])}, x=(2, 3, 4)), [
        "SUM"]
    yield "image", check_image_mean, 0
    yield "image_kept", check_image_mean, 1
    for kind, operators in SUMS.items():
        for keep in (0, 1):
            yield f"{kind}[{keep}]", check, model_of(
                f"a = Exp(x) y = {kind}<axes = [1, -1], keepdims = {keep}>(a)", x=(2, 3, 4)), (
                ["EXP", *operators] + (["RESHAPE"] if kind == "ReduceLogSumExp" and not keep else []))
        yield f"{kind}[operand]", check, model_of(f"a = Exp(x) y = {kind}(a, r)", {
            "r": np.array([1])}, x=(2, 3, 4), opset=18), ["EXP", *operators]
        yield f"{kind}[image]", check, image(
            f"p = MaxPool<kernel_shape = [2, 2]>(x) a = Exp(p) y = {kind}<axes = [1]>(a)")
    yield "ReduceLogSumExp[large]", check, model_of("a = Mul(x, k) y = ReduceLogSumExp(a)", {
        "k": np.float32(1000)}, x=(2, 3, 4))
    for kind in ("ArgMax", "ArgMin"):
        for keep in (0, 1):
            yield f"{kind}[{keep}]", check, model_of(
                f"y = {kind}<axis = 1, keepdims = {keep}>(x)", x=(2, 3, 4))
    yield "GlobalMaxPool", check, image("y = GlobalMaxPool(x)"), ["REDUCE_MAX"]


def check_image_mean(keep):
    check(image(f"p = MaxPool<kernel_shape = [2, 2]>(x) y = ReduceMean<axes = [2, 3], "
                f"keepdims = {keep}>(p)"),
          ["TRANSPOSE", "MAX_POOL_2D", "MEAN"] + ["RESHAPE"] * keep)


def test_products():
    yield "gemm", check, model_of("y = Gemm(x, w, b)", {"w": array(4, 5), "b": array(5)},
                                  x=(3, 4)), ["FULLY_CONNECTED"]
    yield "gemm_relu", check, model_of("c = Gemm<transB = 1>(x, w, b) y = Relu(c)",
                                       {"w": array(5, 4), "b": array(5)}, x=(3, 4)), [
        "FULLY_CONNECTED"]
    yield "gemm_factors", check, model_of("y = Gemm<alpha = 0.5, beta = 2.0>(x, w, b)",
                                          {"w": array(4, 5), "b": array(3, 1)}, x=(3, 4))
    yield "gemm_trans_a", check, model_of("y = Gemm<transA = 1>(x, w)", {"w": array(4, 5)},
                                          x=(4, 3)), ["TRANSPOSE", "FULLY_CONNECTED"]
    yield "matmul", check, model_of("y = MatMul(x, w)", {"w": array(4, 5)}, x=(2, 3, 4)), [
        "FULLY_CONNECTED"]
    yield "matmul_bias", check, model_of("c = MatMul(x, w) y = Add(c, b)",
                                         {"w": array(4, 5), "b": array(5)}, x=(3, 4)), [
        "FULLY_CONNECTED"]
    yield "batch", check, model_of("y = MatMul(x, z)", x=(2, 3, 4), z=(2, 4, 5)), ["BATCH_MATMUL"]
    yield "broadcast", check, model_of("y = MatMul(x, z)", x=(2, 3, 4), z=(4, 5))


def test_moves():
    yield "transpose", check, model_of("y = Transpose<perm = [2, 0, 1]>(x)", x=(2, 3, 4)), [
        "TRANSPOSE"]
    yield "reshape", check, model_of("y = Reshape(x, s)", {"s": np.array([0, -1])},
                                     x=(2, 3, 4)), ["RESHAPE"]
    yield "squeeze", check, model_of("a = Squeeze(x, z) y = Unsqueeze(a, z)",
                                     {"z": np.array([1])}, x=(2, 1, 4))
    yield "flatten", check, model_of("y = Flatten<axis = 2>(x)", x=(2, 3, 4)), ["RESHAPE"]
    yield "expand", check, model_of("y = Expand(x, s)", {"s": np.array([2, 3, 4])}, x=(3, 1)), [
        "BROADCAST_TO"]
    yield "tile", check, model_of("y = Tile(x, s)", {"s": np.array([2, 3])}, x=(3, 2)), ["TILE"]
    for name, (start, end, axes, step) in {
            "slice": ([1, 0], [3, 2], [2, 0], [1, 1]), "steps": ([0], [100], [2], [2]),
            "back": ([-1], [-100], [1], [-1]), "back_part": ([3], [0], [2], [-2])}.items():
        yield name, check, model_of("y = Slice(x, s, e, a, t)", {
            "s": np.array(start), "e": np.array(end), "a": np.array(axes), "t": np.array(step)},
            x=(2, 3, 4)), ["STRIDED_SLICE"]
    yield "split", check, model_of("a, b = Split<axis = 1>(x) y = Sub(a, b)", x=(2, 4, 3)), [
        "SPLIT", "SUB"]
    yield "split_sizes", check, model_of("a, b = Split<axis = 1>(x, s) c = Relu(a) "
                                         "y = Concat<axis = 1>(b, c)", {"s": np.array([1, 3])},
                                         x=(2, 4, 3)), ["SPLIT_V", "RELU", "CONCATENATION"]
    for name, indices in {"gather": [0, 2], "gather_end": [[-1, 0]], "gather_one": 1}.items():
        yield name, check, model_of("y = Gather<axis = 1>(x, i)", {"i": np.array(indices)},
                                    x=(2, 3, 4)), ["GATHER"]
    yield "gather_nd", check, model_of("y = GatherND(x, i)", {"i": np.array([[0, 1], [1, 2]])},
                                       x=(2, 3, 4)), ["GATHER_ND"]
    for mode, operator in {"constant": "PAD", "reflect": "MIRROR_PAD"}.items():
        yield f"pad_{mode}", check, model_of(f'y = Pad<mode = "{mode}">(x, p)',
                                             {"p": np.array([0, 1, 2, 0, 1, 0])}, x=(2, 3, 4)), [
            operator]
    yield "pad_value", check, model_of("y = Pad(x, p, v)", {
        "p": np.array([0, 1, 2, 0, 1, 0]), "v": np.float32(3)}, x=(2, 3, 4)), ["PADV2"]
    yield "cast", check, model_of("a = Cast<to = 6>(x) y = Cast<to = 1>(a)", x=(2, 3)), ["CAST",
                                                                                        "CAST"]
    yield "identity", check, model_of("a = Identity(x) y = Relu(a)", x=(2, 3)), ["RELU"]
    yield "only_identity", check, model_of("y = Identity(x)", x=(2, 3)), ["RESHAPE"]
    yield "shapes", check, model_of(
        "s = Shape(x) n = Gather(s, zero) m = Unsqueeze(n, zeros) t = Concat<axis = 0>(m, rest) "
        "y = Reshape(x, t)", {"zero": np.array(0), "zeros": np.array([0]),
                              "rest": np.array([-1])}, x=(2, 3, 4)), ["RESHAPE"]


RESIZES = {
    "nearest": ("asymmetric", "nearest", "floor", "RESIZE_NEAREST_NEIGHBOR"),
    "nearest_half": ("half_pixel", "nearest", "round_prefer_floor", "RESIZE_NEAREST_NEIGHBOR"),
    "linear": ("half_pixel", "linear", "floor", "RESIZE_BILINEAR"),
    "linear_asymmetric": ("asymmetric", "linear", "floor", "RESIZE_BILINEAR"),
    "linear_corners": ("align_corners", "linear", "floor", "RESIZE_BILINEAR"),
}


def resizes_of_other_axes():
    """The axes that are resized, whichever they are: no more transposes than they take."""
    for mode, operator in {"nearest": "RESIZE_NEAREST_NEIGHBOR", "linear": "RESIZE_BILINEAR"}.items():
        how = f'coordinate_transformation_mode = "half_pixel", mode = "{mode}"'
        for name, scales, shape, extra in (
                ("nhwc", [1, 2, 3, 1], (2, 5, 6, 3), []),
                ("rows", [1, 1, 2, 1], (2, 3, 5, 6), []),
                ("columns", [1, 1, 1, 2], (2, 3, 5, 6), ["TRANSPOSE"] * 2),
                ("front", [2, 2, 1, 1], (2, 3, 5, 6), ["TRANSPOSE"] * 2),
                ("apart", [2, 1, 1, 3], (2, 3, 5, 6), ["TRANSPOSE"] * 2),
                ("line", [1, 1, 2], (2, 3, 5), ["RESHAPE"] * 2),
                ("five", [1, 1, 1, 2, 2], (2, 3, 4, 5, 6), ["RESHAPE"] * 2)):
            if mode == "linear" and name in ("front", "apart", "five"):
                continue  # ONNX Runtime has none
            yield f"{mode}_{name}", check, model_of(f"y = Resize<{how}>(x, , s)", {
                "s": np.array(scales, np.float32)}, x=shape), [operator, *extra]
    yield "sizes", check, model_of('y = Resize<mode = "linear">(x, , , s)', {
        "s": np.array([2, 7, 9, 3])}, x=(2, 5, 6, 3)), ["RESIZE_BILINEAR"]
    yield "axes", check, model_of('y = Resize<mode = "linear", axes = [1, 2]>(x, , s)', {
        "s": np.array([2, 1.5], np.float32)}, opset=18, x=(2, 5, 6, 3)), ["RESIZE_BILINEAR"]
    yield "unknown", check, model_of("a = Relu(x) s = Shape(a) i = Gather(s, zero) "
                                     "u = Unsqueeze(i, zeros) t = Concat<axis = 0>(u, rest) "
                                     "y = Resize(a, , , t)", {
                                         "zero": np.array(0), "zeros": np.array([0]),
                                         "rest": np.array([10, 12, 3])}, x=("n", 5, 6, 3)), [
        "RELU", "RESIZE_NEAREST_NEIGHBOR"], 1e-5, {"x": array(2, 5, 6, 3)}
    yield "nothing", check, model_of('a = Resize<mode = "linear">(x, , s) y = Relu(a)', {
        "s": np.array([1, 1, 1, 1], np.float32)}, x=(2, 5, 6, 3)), ["RELU"]


def test_images():
    for name, (coordinates, mode, rounding, operator) in RESIZES.items():
        yield name, check_image, (
            f'y = Resize<coordinate_transformation_mode = "{coordinates}", mode = "{mode}", '
            f'nearest_mode = "{rounding}">(x, , s)'), {
            "s": np.array([1, 1, 2, 2], np.float32)}, [operator]
    yield from resizes_of_other_axes()
    for mode in ("DCR", "CRD"):
        yield mode, check_image, f'y = DepthToSpace<blocksize = 2, mode = "{mode}">(x)', {}, (
            ["GATHER"] if mode == "CRD" else []) + ["DEPTH_TO_SPACE"]
    yield "SpaceToDepth", check_image, "y = SpaceToDepth<blocksize = 2>(x)", {}, [
        "SPACE_TO_DEPTH"], (1, 8, 6, 10)


def resize_models():
    """The ways to find pixels that TFLite's operators do not know."""
    for mode, coordinates, rounding in (
            *(("nearest", how, rounding)
              for how in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
              for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")),
            *(("linear", how, "floor") for how in ("half_pixel", "pytorch_half_pixel", "asymmetric",
                                                   "align_corners", "half_pixel_symmetric")),
            *(("cubic", how, "floor") for how in ("half_pixel", "asymmetric", "align_corners"))):
        for name, scales in {"larger": [1, 1, 1.5, 2.3], "smaller": [1, 1, 0.5, 0.7],
                             "one": [1, 1, 1, 0.2]}.items():
            yield f"{mode}_{coordinates}_{rounding}_{name}", model_of(
                f'y = Resize<mode = "{mode}", coordinate_transformation_mode = "{coordinates}", '
                f'nearest_mode = "{rounding}">(x, , s)', {"s": np.array(scales, np.float32)},
                opset=19, x=(1, 2, 5, 6))


def test_resizes_by_pixels():
    for name, model in resize_models():
        yield name, check, model
    scales = {"s": np.array([1, 1, 1.3, 1.7], np.float32)}
    yield "default", check, model_of("y = Resize(x, , s)", scales, x=(1, 2, 5, 6)), ["GATHER"] * 2
    yield "linear", check, model_of('y = Resize<mode = "linear">(x, , s)', scales,
                                    x=(1, 2, 5, 6)), ["GATHER", "MUL", "GATHER", "MUL", "ADD"] * 2
    yield "three", check, model_of("y = Resize(x, , s)", {
        "s": np.array([1, 1, 1.5, 2, 2], np.float32)}, x=(1, 2, 5, 6, 3)), ["GATHER"] * 3
    x = {"x": (1, 2, 5, 6)}
    for mode, operators in {"nearest": ["GATHER", "GATHER"], "linear": None}.items():
        codes = one_operation(f'Resize<mode = "{mode}">(a, , s)')
        codes.constants |= scales
        yield f"codes_{mode}", check_codes, codes, operators, 0.05, x


def test_joint_softmax():
    """Before opset 13 one sum goes over all axes from the given one on."""
    for kind in ("Softmax", "LogSoftmax"):
        for name, axis, shape in (("default", "", (2, 3, 4)), ("first", "<axis = 0>", (2, 3, 4)),
                                  ("last_two", "<axis = 2>", (2, 3, 4, 5))):
            yield f"{kind}_{name}", check, model_of(f"y = {kind}{axis}(x)", opset=11, x=shape), [
                "RESHAPE", {"Softmax": "SOFTMAX", "LogSoftmax": "LOG_SOFTMAX"}[kind], "RESHAPE"], (
                2e-5)
        yield f"{kind}_alone", check, model_of(f"y = {kind}(x)", opset=11, x=(2, 3))
    yield "codes", check_codes, one_operation("Softmax(a)", after=(1 / 256, -128)), [
        "RESHAPE", "SOFTMAX", "RESHAPE"], 1 / 256, {"x": (2, 3, 4)}, 11


def test_normalizations():
    w, b = array(5), array(5)
    yield "layer", check, model_of("y = LayerNormalization(x, w, b)", {"w": w, "b": b},
                                   x=(2, 4, 5)), ["MEAN", "SUB", "MUL", "MEAN", "ADD", "SQRT",
                                                  "DIV", "MUL", "ADD"]
    yield "layer_axes", check, model_of(
        "y = LayerNormalization<axis = 1, epsilon = 0.01>(x, w)", {"w": array(4, 5)}, x=(2, 4, 5))
    yield "instance", check, model_of("y = InstanceNormalization(x, w, b)", {
        "w": array(3), "b": array(3)}, x=(2, 3, 4, 5))
    yield "rms", check, model_of("y = RMSNormalization(x, w)", {"w": w}, opset=23, x=(2, 4, 5))
    codes = one_operation("LayerNormalization(a, w, b)")
    codes.constants |= {"w": w, "b": b}
    yield "codes", check_codes, codes, None, 0.05, {"x": (2, 4, 5)}


def test_open_batch():
    constants = {"w": array(8, 8, 3, 3), "b": array(8), "v": array(8, 5), "s": np.array([-1, 8])}
    model = model_of("c = Conv<pads = [1, 1, 1, 1]>(x, w, b) d = Relu(c) "
                     "p = GlobalAveragePool(d) r = Reshape(p, s) y = MatMul(r, v)", constants,
                     x=("n", 8, 9, 10))
    yield "three", check, model, None, 1e-5, {"x": array(3, 8, 9, 10)}


# --- codes -----------------------------------------------------------------------------------------


class Codes:
    """A model of QuantizeLinear and DequantizeLinear around nodes that are given as text."""

    def __init__(self, dtype=np.int8):
        self.dtype = dtype
        self.nodes = []
        self.constants = {}

    def parameters(self, name, scale, zero, dtype=None):
        self.constants[f"{name}_s"] = np.asarray(scale, np.float32)
        self.constants[f"{name}_z"] = np.asarray(zero, dtype or self.dtype)

    def quantized(self, real, name, scale, zero):
        """Has `real` be quantized and dequantized; `name` is the result."""
        self.parameters(name, scale, zero)
        self.nodes.append(f"{name}_q = QuantizeLinear({real}, {name}_s, {name}_z) "
                          f"{name} = DequantizeLinear({name}_q, {name}_s, {name}_z)")
        return name

    def weights(self, name, values, axis=None):
        """int8, symmetric; one scale, or one for each index along `axis`."""
        others = tuple(i for i in range(values.ndim) if i != axis)
        scale = np.abs(values).max(axis=others if axis is not None else None) / 127
        shape = [-1 if i == axis else 1 for i in range(values.ndim)]
        wide = scale.reshape(shape) if axis is not None else scale
        self.constants[f"{name}_c"] = np.clip(np.rint(values / wide), -127, 127).astype(np.int8)
        self.parameters(name, scale, np.zeros_like(scale, np.int8), np.int8)
        along = f"<axis = {axis}>" if axis is not None else ""
        self.nodes.append(f"{name} = DequantizeLinear{along}({name}_c, {name}_s, {name}_z)")
        return scale

    def bias(self, name, values, scale):
        """int32 with the scales of data and weights."""
        scale = np.asarray(scale, np.float32)
        self.constants[f"{name}_c"] = np.rint(values / scale).astype(np.int32)
        self.parameters(name, scale, np.zeros_like(scale, np.int32), np.int32)
        along = "<axis = 0>" if scale.ndim else ""
        self.nodes.append(f"{name} = DequantizeLinear{along}({name}_c, {name}_s, {name}_z)")

    def model(self, **inputs):
        return model_of(" ".join(self.nodes) + " y = Identity(out)", self.constants, **inputs)


def check_codes(codes, operators, step, inputs, opset=17):
    """Real numbers in and out; at most one step off."""
    ends = ["QUANTIZE", "DEQUANTIZE"]
    model = codes.model(opset=opset, **inputs)
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        session = session_of(folder / "m.onnx")
        feeds = random_feeds(session)
        expected = session.run(None, feeds)[0]
    limit = 1.01 * step / max(1.0, float(np.abs(expected).max()))
    return check(model, None if operators is None else [*ends, *operators], limit, feeds)


def conv_codes(weights, axis, attributes, after="", dtype=np.int8):
    codes = Codes(dtype)
    zero = 0 if dtype == np.int16 else 5
    codes.quantized("x", "a", 0.03, zero)
    scale = codes.weights("w", weights, axis)
    codes.bias("b", array(weights.shape[0]), 0.03 * scale)
    codes.nodes.append(f"c = Conv<{attributes}>(a, w, b)")
    if after:
        codes.nodes.append(f"d = {after}(c)")
    codes.quantized("d" if after else "c", "out", 0.2, zero)
    return codes


def test_codes_of_convolutions():
    x = {"x": (1, 8, 9, 10)}
    around = ["TRANSPOSE", "TRANSPOSE"]
    for name, weights, axis, attributes, operator in (
            ("channels", array(5, 8, 3, 3), 0, "pads = [1, 1, 1, 1]", "CONV_2D"),
            ("tensor", array(5, 8, 3, 3), None, "strides = [2, 2]", "CONV_2D"),
            ("depthwise", array(8, 1, 3, 3), 0, "group = 8", "DEPTHWISE_CONV_2D")):
        codes = conv_codes(weights, axis, attributes)
        yield name, check_codes, codes, [operator, *around], 0.2, x
    yield "padded", check_codes, conv_codes(
        array(5, 8, 3, 3), 0, "pads = [1, 1, 1, 1], strides = [2, 2]"), [
        "CONV_2D", *around], 0.2, {"x": (1, 8, 9, 9)}
    yield "explicit", check_codes, conv_codes(
        array(5, 8, 3, 3), 0, "pads = [2, 1, 0, 1]"), ["PAD", "CONV_2D", *around], 0.2, x


def test_codes_of_conv_transpose():
    codes = Codes()
    codes.quantized("x", "a", 0.03, 5)
    scale = codes.weights("w", array(8, 5, 3, 3), 1)
    codes.bias("b", array(5), 0.03 * scale)
    codes.nodes.append("c = ConvTranspose<strides = [2, 2]>(a, w, b)")
    codes.quantized("c", "out", 0.2, -10)
    yield "channels", check_codes, codes, ["TRANSPOSE_CONV", "TRANSPOSE", "TRANSPOSE"], 0.2, {
        "x": (1, 8, 9, 10)}
    codes = Codes()
    codes.quantized("x", "a", 0.03, 5)
    codes.weights("w", array(8, 5, 4, 4), 1)
    codes.nodes.append("c = ConvTranspose<strides = [2, 2], pads = [0, 1, 1, 2]>(a, w)")
    codes.quantized("c", "out", 0.2, -10)
    yield "sliced", check_codes, codes, ["TRANSPOSE_CONV", "STRIDED_SLICE", "TRANSPOSE",
                                         "TRANSPOSE"], 0.2, {"x": (1, 8, 9, 10)}


def dense_codes(product, weights, axis, bias):
    codes = Codes()
    codes.quantized("x", "a", 0.03, 5)
    scale = codes.weights("w", weights, axis)
    if bias:
        codes.bias("b", array(5), 0.03 * scale)
    codes.nodes.append(f"c = {product}(a, w{', b' if bias else ''})")
    codes.quantized("c", "out", 0.1, 3)
    return codes


def test_codes_of_products():
    for name, codes in {
            "gemm": dense_codes("Gemm", array(4, 5), None, True),
            "gemm_channels": dense_codes("Gemm<transB = 1>", array(5, 4), 0, True),
            "gemm_other_axis": dense_codes("Gemm", array(4, 5), 1, False),
            "matmul": dense_codes("MatMul", array(4, 5), 1, False)}.items():
        yield name, check_codes, codes, ["FULLY_CONNECTED"], 0.1, {"x": (3, 4)}


def one_operation(call, after=(0.05, 3), before=(0.05, 3), second=None):
    """An operation on `a`, and on `b` where there is a second operand."""
    codes = Codes()
    codes.quantized("x", "a", *before)
    if second:
        codes.quantized("z", "b", *second)
    codes.nodes.append(f"c = {call}")
    codes.quantized("c", "out", *after)
    return codes


def test_codes_of_others():
    x = {"x": (2, 3, 4)}
    both = {"x": (2, 3, 4), "z": (3, 4)}
    for kind, operator in {"Add": "ADD", "Sub": "SUB", "Mul": "MUL"}.items():
        yield kind, check_codes, one_operation(f"{kind}(a, b)", second=(0.02, -7)), [
            "QUANTIZE", operator], 0.05, both
    for kind, operator in {"Max": "MAXIMUM", "Min": "MINIMUM"}.items():
        yield kind, check_codes, one_operation(f"{kind}(a, b)", second=(0.05, 3)), [
            "QUANTIZE", operator], 0.05, both
        yield f"{kind}_anew", check_codes, one_operation(f"{kind}(a, b)", second=(0.04, 3)), [
            "QUANTIZE", "QUANTIZE", operator], 0.05, both
    yield "Sigmoid", check_codes, one_operation("Sigmoid(a)", after=(1 / 256, -128)), [
        "LOGISTIC"], 1 / 256, x
    yield "Tanh", check_codes, one_operation("Tanh(a)", after=(1 / 128, 0)), ["TANH"], 1 / 128, x
    yield "Softmax", check_codes, one_operation("Softmax(a)", after=(1 / 256, -128)), [
        "SOFTMAX"], 1 / 256, x
    yield "Relu", check_codes, one_operation("Relu(a)"), ["RELU"], 0.05, x
    yield "Relu_other", check_codes, one_operation("Relu(a)", after=(0.02, -128)), ["RELU"], 0.05, x
    yield "LeakyRelu", check_codes, one_operation("LeakyRelu<alpha = 0.2>(a)"), [
        "LEAKY_RELU"], 0.05, x
    yield "Exp", check_codes, one_operation("Exp(a)", after=(0.1, -100)), ["EXP"], 0.1, x
    yield "Ceil", check_codes, one_operation("Ceil(a)", after=(0.1, -100)), [
        "DEQUANTIZE", "CEIL", "QUANTIZE"], 0.1, x
    for name, (call, operator) in {
            "Reshape": ("Reshape(a, s)", "RESHAPE"), "Concat": ("Concat<axis = 1>(a, a)",
                                                                "CONCATENATION"),
            "Slice": ("Slice(a, s, s, s)", None), "Flatten": ("Flatten(a)", "RESHAPE")}.items():
        if operator is None:
            continue
        codes = one_operation(call)
        codes.constants["s"] = np.array([4, 6])
        yield name, check_codes, codes, [operator], 0.05, x
        codes = one_operation(call, after=(0.04, 2))
        codes.constants["s"] = np.array([4, 6])
        yield f"{name}_anew", check_codes, codes, [operator, "QUANTIZE"], 0.05, x
    images = {"x": (1, 8, 8, 8)}
    around = ["TRANSPOSE", "TRANSPOSE"]
    for kind, operator in {"MaxPool": "MAX_POOL_2D", "AveragePool": "AVERAGE_POOL_2D"}.items():
        yield kind, check_codes, one_operation(
            f"{kind}<kernel_shape = [2, 2], strides = [2, 2]>(a)"), [operator, *around], 0.05, images
    yield "MaxPool_padded", check_codes, one_operation(
        "MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 0, 0]>(a)"), [
        "PADV2", "MAX_POOL_2D", *around], 0.05, images
    yield "GlobalAveragePool", check_codes, one_operation("GlobalAveragePool(a)",
                                                          after=(0.01, 2)), ["MEAN"], 0.02, images
    codes = one_operation("Resize<mode = \"linear\">(a, , s)")
    codes.constants["s"] = np.array([1, 1, 2, 2], np.float32)
    yield "Resize", check_codes, codes, ["RESIZE_BILINEAR", *around], 0.05, images


def test_codes_of_formulas():
    """On real values between DEQUANTIZE and QUANTIZE."""
    for call, after in {"Elu<alpha = 2.0>": (0.05, 3), "Elu": (0.05, 3), "Erf": (1 / 128, 0),
                        "Softplus": (0.05, -100), "Softsign": (1 / 128, 0),
                        "ReduceL2<axes = [1]>": (0.05, -100)}.items():
        operators = ["ELU"] if call == "Elu" else None
        yield call, check_codes, one_operation(f"{call}(a)", after), operators, after[0], {
            "x": (2, 3, 4)}
    yield "LpPool", check_codes, one_operation("LpPool<kernel_shape = [2, 2]>(a)", (0.05, -100)), (
        None), 0.05, {"x": (1, 8, 9, 10)}


def test_codes_of_pads():
    """A filling without a code is the nearest one; of the result's codes where those are others."""
    for name, filling, after, operators in (
            ("zero", 0, (0.05, 3), ["PAD"]), ("code", 2, (0.05, 3), ["PADV2"]),
            ("large", 100, (0.05, 3), ["PADV2"]), ("small", -100, (0.05, 3), ["PADV2"]),
            ("lowest", -np.inf, (0.05, 3), ["PADV2"]),
            ("anew", 20, (0.5, 3), ["PADV2", "QUANTIZE"])):
        codes = one_operation("Pad(a, p, v)", after)
        codes.constants |= {"p": np.array([0, 1, 2, 0, 1, 0]), "v": np.float32(filling)}
        yield name, check_codes, codes, operators, after[0], {"x": (2, 3, 4)}


def test_codes_of_resizes():
    for name, scales in {"nhwc": [1, 2, 2, 1], "rows": [1, 1, 3, 1]}.items():
        codes = one_operation('Resize<mode = "linear">(a, , s)')
        codes.constants["s"] = np.array(scales, np.float32)
        yield name, check_codes, codes, ["RESIZE_BILINEAR"], 0.05, {"x": (1, 5, 6, 3)}


# --- plain integers ----------------------------------------------------------------------------------

SMALL = ["int8", "uint8", "int16", "uint16"]
SIGNED = ["int8", "int16", "int32", "int64"]
ALL = [*SMALL, "int32", "uint32", "int64"]
#: Calls by the types that they are written for; the operand `x`, and `z` where there is a second.
PLAIN = {
    **{f"{kind}(x, z)": ALL for kind in (
        "Add", "Sub", "Mul", "Max", "Min", "Equal", "Greater", "GreaterOrEqual", "Less",
        "LessOrEqual", "Mod")},
    "Div(x, z)": [*SMALL, "int32"],
    "Abs(x)": [*SMALL, "int32", "int64"],
    "Neg(x)": SIGNED,
    "Relu(x)": SIGNED,
    "Sign(x)": ALL,
    "Clip(x, low, high)": ALL,
    "Clip(x, , high)": ALL,
    "ReduceSum(x, one)": ["int32", "uint32", "int64"],
    "ReduceMean(x, one)": ["int32"],
    "ReduceMax(x, one)": ["int8", "uint8", "int32", "uint32", "int64"],
    "ReduceMin(x, one)": ["int8", "uint8", "int32", "uint32", "int64"],
    "ArgMax<axis = 2>(x)": [*SMALL, "int32"],
    "ArgMin<axis = 2>(x)": [*SMALL, "int32"],
    "Where(c, x, z)": [*ALL, "uint64"],
    "Concat<axis = 1>(x, x)": ALL,
    "Split<axis = 2>(x)": [*ALL, "bool"],
    "Gather<axis = 1>(x, ends)": ALL,
    "Pad(x, pads, high)": [*ALL, "bool"],
    'Pad<mode = "reflect">(x, pads)': ALL,
    "Transpose<perm = [2, 0, 1]>(x)": [*ALL, "uint64", "bool"],
    "MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x)": ["int8", "uint8"],
    "DepthToSpace<blocksize = 2>(x)": [*ALL, "bool"],
    'Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", '
    'nearest_mode = "floor">(x, , scales)': [*SMALL, "int32", "uint32"],
}


def whole(dtype, shape):
    """Numbers of the whole range, with both ends."""
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    values = RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values.flat[:2] = info.min, info.max
    return values


def divisors(dtype, shape):
    values = whole(dtype, shape)
    # The smallest number by -1 is not defined.
    return np.where((values == 0) | (values.astype(np.int64) == -1), 7, values).astype(dtype)


def plain_model(call, dtype):
    """The model, and what it is fed."""
    is_image = any(kind in call for kind in ("Pool", "Resize", "Depth"))
    feeds = {"x": whole(dtype, (1, 8, 6, 6) if is_image else (2, 3, 4))}
    if "Mean" in call:
        feeds["x"] //= 8  # no sum that overflows
    if "z)" in call:
        feeds["z"] = divisors(dtype, (4, 1) if "MatMul" in call else (3, 1))
    if "(c," in call:
        feeds["c"] = whole("bool", (2, 3, 4))
    limit = 1 if dtype == "bool" else np.iinfo(dtype).max // 3
    constants = {"low": np.array(limit // 2, dtype), "high": np.array(limit, dtype),
                 "one": np.array([1]), "ends": np.array([2, 0]),
                 "pads": np.array([0, 1, 0, 1, 0, 2]), "scales": np.array([1, 1, 2, 2], np.float32)}
    used = {name: value for name, value in constants.items() if name in call}
    result = "y, other" if call.startswith("Split") else "y"
    kind = call.split("<")[0].split("(")[0]
    model = model_of(f"{result} = {call}", used, opset=18,
                     **{name: [str(value.dtype), value.shape] for name, value in feeds.items()})
    model.graph.node[0].name = f"the_{kind}"
    if kind == "Split":
        model.graph.node[0].attribute.append(onnx.helper.make_attribute("num_outputs", 2))
    return onnx.shape_inference.infer_shapes(model), feeds


def expected_of(model, feeds):
    """Of ONNX Runtime; of ONNX's reference where that has no kernel, or does not let integers wrap
    around, as its ReduceSum from some release after 1.23 on."""
    if any(node.op_type == "ReduceSum" for node in model.graph.node):
        return ReferenceEvaluator(model).run(None, feeds)[0]
    try:
        return session_of(model).run(None, feeds)[0]
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return ReferenceEvaluator(model).run(None, feeds)[0]


def check_plain(call, dtype):
    """To the bit, and the same when it was read and written again."""
    model, feeds = plain_model(call, dtype)
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        convert(folder / "m.onnx", folder / "m.tflite")
        convert(folder / "m.tflite", folder / "n.tflite")
        expected = expected_of(model, feeds)
        for name in ("m", "n"):
            found = run_litert(folder / f"{name}.tflite", feeds)["y"]
            assert found.dtype == expected.dtype and np.array_equal(found, expected), name


def test_plain_integers():
    for call, types in PLAIN.items():
        for dtype in types:
            yield f"{call}[{dtype}]", check_plain, call, dtype


def test_plain_integers_refused():
    """What has no kernel, and cannot be computed exactly by others, is no file."""
    for call, types in {"Add(x, z)": ["uint64"], "Div(x, z)": ["uint32", "int64", "uint64"],
                        "ArgMax<axis = 2>(x)": ["int64"], "Cast<to = 13>(x)": ["int32"],
                        "MatMul(x, z)": ["int32"],
                        'Resize<mode = "linear">(x, , scales)': ["int8"]}.items():
        for dtype in types:
            yield f"{call}[{dtype}]", check_plain_refused, call, dtype


def check_plain_refused(call, dtype):
    model, _ = plain_model(call, dtype)
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        done = subprocess.run([str(TOOL), folder / "m.onnx", folder / "m.tflite"],
                              capture_output=True, text=True)
        short = {"uint64": "u64", "uint32": "u32", "int64": "i64", "int32": "i32", "int8": "i8"}
        kind = model.graph.node[0].op_type
        wanted = "u64" if kind == "Cast" else short[dtype]
        assert done.returncode == 1 and wanted in done.stderr, done.stderr
        assert f"the_{kind}" in done.stderr and not (folder / "m.tflite").exists(), done.stderr


def test_wide_bounds():
    """Bounds that no float holds, and computed ones."""
    feeds = {"x": whole("int32", (2, 3, 4))}
    model = model_of("y = Clip(x, low, high)", {
        "low": np.array(-2**30 - 1, np.int32), "high": np.array(2**30 + 1, np.int32)},
        x=["int32", (2, 3, 4)])
    yield "large", check, model, ["MAXIMUM", "MINIMUM"], 0, feeds
    yield "computed", check, model_of("s = ReduceMean<keepdims = 0>(z) y = Clip(x, s)",
                                      x=(2, 3, 4), z=(5,)), ["MEAN", "MAXIMUM"]


class Inferred(Codes):
    """With the shapes of what is computed: parameters along an axis are read where it is known."""

    def model(self, **inputs):
        return onnx.shape_inference.infer_shapes(super().model(**inputs), data_prop=True)


def test_constants_behind_moves():
    """A weight that is moved before it is used is a weight."""
    x = {"x": (3, 12)}
    for name, shape, axis, move, product, operators in (
            ("reshape", (3, 4, 5), 2, "Reshape(w, s)", "MatMul", ["FULLY_CONNECTED"]),
            ("tensor", (3, 4, 5), None, "Reshape(w, s)", "MatMul", ["FULLY_CONNECTED"]),
            ("gemm", (3, 4, 5), 2, "Reshape(w, s)", "Gemm", ["FULLY_CONNECTED"]),
            ("flatten", (12, 1, 5), 2, "Flatten(w)", "MatMul", ["FULLY_CONNECTED"]),
            ("squeeze", (1, 12, 5), 2, "Squeeze(w)", "MatMul", ["FULLY_CONNECTED"]),
            ("transpose", (5, 12), 0, "Transpose<perm = [1, 0]>(w)", "MatMul",
             ["FULLY_CONNECTED"])):
        codes = Inferred()
        codes.quantized("x", "a", 0.03, 5)
        scale = codes.weights("w", array(*shape), axis)
        codes.constants["s"] = np.array([12, 5])
        codes.parameters("m", scale, np.zeros_like(scale, np.int8))
        along = "<axis = 1>" if axis is not None else ""
        codes.nodes.append(f"m = {move} m_q = QuantizeLinear{along}(m, m_s, m_z) "
                           f"m_d = DequantizeLinear{along}(m_q, m_s, m_z) c = {product}(a, m_d)")
        codes.quantized("c", "out", 0.2, 3)
        yield name, check_codes, codes, operators, 0.2, x
    codes = Inferred()
    codes.quantized("x", "a", 0.03, 5)
    scale = codes.weights("w", array(5, 8, 9), 0)
    codes.constants["s"] = np.array([5, 8, 3, 3])
    codes.parameters("m", scale, np.zeros_like(scale, np.int8))
    codes.nodes.append("m = Reshape(w, s) m_q = QuantizeLinear<axis = 0>(m, m_s, m_z) "
                       "m_d = DequantizeLinear<axis = 0>(m_q, m_s, m_z) c = Conv(a, m_d)")
    codes.quantized("c", "out", 0.2, 3)
    yield "conv", check_codes, codes, ["CONV_2D", "TRANSPOSE", "TRANSPOSE"], 0.2, {
        "x": (1, 8, 9, 10)}


def blocks_of(shape, axis, size, dtype=np.int8):
    """Scales and zero points of blocks along one axis, as `b_s` and `b_z`."""
    extents = [-(-n // size) if i == axis else n for i, n in enumerate(shape)]
    scales = RNG.uniform(0.02, 0.06, extents).astype(np.float32)
    return {"b_s": scales, "b_z": RNG.integers(-5, 5, extents).astype(dtype)}


def test_blocks():
    """Scales for blocks, which TFLite's tensors cannot say."""
    both = "axis = 1, block_size = 4"
    parameters = blocks_of((3, 12, 5), 1, 4)
    yield "computed", check, model_of(
        f"q = QuantizeLinear<axis = 1, block_size = 4>(x, b_s, b_z) "
        f"d = DequantizeLinear<{both}>(q, b_s, b_z) y = Relu(d)", parameters, opset=21,
        x=(3, 12, 5)), None, 0.021
    yield "codes", check, model_of(
        f"d = DequantizeLinear<{both}>(x, b_s, b_z) y = Relu(d)", parameters, opset=21,
        x=["int8", (3, 12, 5)]), ["CAST", "GATHER", "GATHER", "SUB", "MUL"]
    constants = parameters | {"w": RNG.integers(-128, 128, (3, 12, 5)).astype(np.int8)}
    yield "constant", check, model_of(
        f"d = DequantizeLinear<{both}>(w, b_s, b_z) y = MatMul(x, d)", constants, opset=21,
        x=(2, 12)), ["BATCH_MATMUL"]
    parameters = blocks_of((12, 5), 0, 4)
    constants = parameters | {"w": RNG.integers(-128, 128, (12, 5)).astype(np.int8)}
    yield "dense", check, model_of(
        "d = DequantizeLinear<axis = 0, block_size = 4>(w, b_s, b_z) y = MatMul(x, d)", constants,
        opset=21, x=(2, 12)), ["FULLY_CONNECTED"]
    four = {"b_s": parameters["b_s"], "b_z": parameters["b_z"].astype(ml_dtypes.int4),
            "w": RNG.integers(-8, 8, (12, 5)).astype(ml_dtypes.int4)}
    yield "four_bits", check, model_of(
        "d = DequantizeLinear<axis = 0, block_size = 4>(w, b_s, b_z) y = MatMul(x, d)", four,
        opset=21, x=(2, 12)), ["FULLY_CONNECTED"]
    yield "gather", check, model_of(
        "d = DequantizeLinear<axis = 0, block_size = 4>(w, b_s, b_z) y = Gather(d, x)", constants,
        opset=21, x=["int64", (2,)]), ["GATHER"], 1e-5, {"x": np.array([3, 7])}
    yield "computed_scales", check, model_of(
        "s = Abs(x) t = Add(s, half) d = DequantizeLinear<axis = 0, block_size = 4>(w, t, b_z) "
        "y = Relu(d)", constants | {"half": np.float32(0.5)}, opset=21, x=(3, 5))
    negative = {"w": RNG.integers(-128, 128, (12, 5)).astype(np.int8), "n": np.float32(-0.05)}
    yield "negative", check, model_of("d = DequantizeLinear(x, n) y = Relu(d)", negative,
                                      x=["int8", (12, 5)])
    wide = {"s": np.array([0.1, 0.2, 0.3, 0.4], np.float32)}
    yield "wide_axis", check, model_of("d = DequantizeLinear<axis = 1>(x, s) y = Relu(d)", wide,
                                       x=["int32", (3, 4, 5)])


def test_two_meanings():
    """Codes that are read with other parameters than their own."""
    model = model_of("q = QuantizeLinear(x, s, z) a = DequantizeLinear(q, s, z) "
                     "b = DequantizeLinear(q, t, z) y = Sub(a, b)", {
                         "s": np.float32(0.05), "t": np.float32(0.07), "z": np.array(3, np.int8)},
                     x=(2, 3, 4))
    yield "sub", check, model


def test_other_codes():
    codes = Codes(np.uint8)
    codes.quantized("x", "a", 0.05, 128)
    codes.nodes.append("c = Add(a, a)")
    codes.quantized("c", "out", 0.1, 120)
    yield "uint8", check_codes, codes, ["ADD"], 0.1, {"x": (2, 3, 4)}


def four_bits(product, shape, axis=0):
    """Weights of 4 bits, one scale for each index along `axis`, as `w`."""
    codes = Codes()
    weights = array(*shape)
    scale = codes.weights("w", weights, axis)
    scale = scale * np.float32(127 / 7)
    wide = scale.reshape([-1 if i == axis else 1 for i in range(weights.ndim)])
    codes.constants["w_s"] = scale
    codes.constants["w_z"] = codes.constants["w_z"].astype(ml_dtypes.int4)
    codes.constants["w_c"] = np.clip(np.rint(weights / wide), -7, 7).astype(ml_dtypes.int4)
    codes.nodes.append(f"c = {product}")
    return codes


def test_four_bits():
    """Beside codes of 8 bits, and beside real numbers."""
    for name, product, shape, inputs, operators in (
            ("dense", "Gemm<transB = 1>", (5, 7), (3, 7), ["FULLY_CONNECTED"]),
            ("conv", "Conv", (5, 7, 3, 3), (1, 7, 8, 8), ["CONV_2D", "TRANSPOSE", "TRANSPOSE"]),
            ("depthwise", "Conv<group = 6>", (6, 1, 3, 3), (1, 6, 8, 8),
             ["DEPTHWISE_CONV_2D", "TRANSPOSE", "TRANSPOSE"])):
        codes = four_bits(f"{product}(a, w)", shape)
        codes.nodes.insert(0, codes.quantized("x", "a", 0.03, 5) and codes.nodes.pop())
        codes.quantized("c", "out", 0.2, 3)
        yield name, check_codes, codes, operators, 0.2, {"x": inputs}, 21
        codes = four_bits(f"{product}(x, w)", shape)
        codes.nodes.append("out = Identity(c)")
        yield f"{name}_real", check, codes.model(opset=21, x=inputs), ["DEQUANTIZE", *operators]


def test_fixed_results():
    """Results with other parameters than the kernel's are quantized anew, or real numbers."""
    x = {"x": (2, 3, 4)}
    for kind, operator in {"Sigmoid": "LOGISTIC", "Softmax": "SOFTMAX"}.items():
        yield f"{kind}_coarser", check_codes, one_operation(f"{kind}(a)", after=(0.02, 3)), [
            operator, "QUANTIZE"], 0.02, x
        yield f"{kind}_finer", check_codes, one_operation(f"{kind}(a)", after=(0.001, -20)), [
            "DEQUANTIZE", operator, "QUANTIZE"], 0.001, x
    # A table for any result of 8 bits; a table of steps of 1/256 around any zero point.
    for scale, zero in ((0.02, 3), (0.001, -20), (1 / 128, 0)):
        yield f"Tanh_{scale}", check_codes, one_operation("Tanh(a)", after=(scale, zero)), ["TANH"], scale, x
    for zero in (0, -60):
        yield f"Sigmoid_{zero}", check_codes, one_operation("Sigmoid(a)", after=(1 / 256, zero)), [
            "LOGISTIC"], 1 / 256, x


def test_means_of_codes():
    """At borders that TFLite's paddings do not have they are real numbers."""
    for name, pads in {"padded": "pads = [1, 1, 1, 1], strides = [2, 2]",
                       "uneven": "pads = [2, 0, 1, 1]"}.items():
        codes = one_operation(f"AveragePool<kernel_shape = [3, 3], {pads}>(a)")
        yield name, check_codes, codes, ["DEQUANTIZE", "TRANSPOSE", "PAD", "AVERAGE_POOL_2D", "MUL",
                                         "QUANTIZE", "TRANSPOSE"], 0.05, {"x": (1, 8, 8, 8)}


def test_other_16_bits():
    """int16 with a zero point, and uint16: LiteRT's kernels have none of it."""
    for dtype, zero in ((np.int16, 300), (np.uint16, 30000)):
        for call in ("Relu(a)", "Sigmoid(a)", "Add(a, a)", "Concat<axis = 1>(a, a)",
                     "Reshape(a, s)", "ReduceMax(a, axis)", "Softmax(a)"):
            codes = Codes(dtype)
            codes.constants |= {"s": np.array([6, 4]), "axis": np.array([1])}
            codes.quantized("x", "a", 0.001, zero)
            codes.nodes.append(f"c = {call}")
            codes.quantized("c", "out", 0.001, zero)
            yield f"{call}[{np.dtype(dtype)}]", check_codes, codes, None, 0.001, {
                "x": (2, 3, 4)}, 21
        codes = Codes(dtype)
        codes.quantized("x", "a", 0.001, zero)
        codes.weights("w", array(5, 8, 3, 3))
        codes.nodes.append("c = Conv(a, w)")
        codes.quantized("c", "out", 0.01, zero)
        yield f"Conv[{np.dtype(dtype)}]", check_codes, codes, None, 0.01, {"x": (1, 8, 9, 10)}, 21


def test_16_bits():
    codes = conv_codes(array(5, 8, 3, 3), 0, "strides = [2, 2]", dtype=np.int16)
    yield "conv", check_codes, codes, ["CONV_2D", "TRANSPOSE", "TRANSPOSE"], 0.2, {
        "x": (1, 8, 9, 10)}, 21


def test_chain():
    """Codes for a part of the model alone, as the converter of browsers has it."""
    # Numbers of its own: a code that another kernel rounds otherwise weighs more with others.
    global RNG
    RNG = np.random.default_rng(7)
    codes = conv_codes(array(8, 8, 3, 3), 0, "pads = [1, 1, 1, 1]")
    codes.nodes += ["p = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(out)"]
    scale, zero = codes.constants["out_s"], codes.constants["out_z"]
    codes.quantized("p", "q", scale, zero)
    codes.nodes.append("r = Relu(q) s = Add(r, channel) f = Reshape(s, flat) "
                       "g = Gemm(f, v, u) y = Softmax(g)")
    constants = codes.constants | {"channel": array(8, 1, 1), "flat": np.array([1, 128]),
                                   "v": array(128, 5), "u": array(5)}
    model = model_of(" ".join(codes.nodes), constants, x=(1, 8, 8, 8))
    yield "seed", check, model, ["QUANTIZE", "TRANSPOSE", "CONV_2D", "AVERAGE_POOL_2D",
                                 "DEQUANTIZE", "RELU", "ADD", "TRANSPOSE", "RESHAPE",
                                 "FULLY_CONNECTED", "SOFTMAX"], 0.1


def test_weights_alone():
    """Weights of codes, real numbers otherwise: DEQUANTIZE of a constant."""
    codes = Codes()
    codes.weights("w", array(5, 8, 3, 3), 0)
    codes.nodes.append("out = Conv(x, w)")
    model = codes.model(x=(1, 8, 9, 10))
    yield "conv", check, model, ["TRANSPOSE", "DEQUANTIZE", "CONV_2D", "TRANSPOSE"]


def test_computed_parameters():
    model = model_of("m = ReduceMax<keepdims = 0>(x) s = Div(m, k) q = QuantizeLinear(x, s, z) "
                     "d = DequantizeLinear(q, s, z) y = Relu(d)",
                     {"k": np.float32(100), "z": np.array(3, np.uint8)}, x=(2, 3, 4))
    yield "tensor", check, model, None, 0.02


# --- whole models ------------------------------------------------------------------------------------


def test_models():
    for name in ("mnist", "mobilenet_v2_035_flowers", "resnet8_cifar10", "superres_espcn",
                 "ultraface_rfb320_bn", "yolox_nano"):
        for folder in (SHARED, EXAMPLES):
            if (folder / f"{name}.onnx").is_file():
                yield name, check, folder / f"{name}.onnx", None, 1e-3
                break


def test_read_conv_transpose():
    """It is an operation of the graph again, and no operator that is carried."""
    for name, call in {"valid": "ConvTranspose<strides = [2, 2]>(x, w, b)",
                       "same": 'ConvTranspose<strides = [2, 2], auto_pad = "SAME_UPPER">(x, w, b)',
                       }.items():
        yield name, check_reading, image(f"c = {call} y = Relu(c)", {
            "w": array(8, 5, 3, 3), "b": array(5)}), "conv_transpose"


def test_read_others():
    """The formulas are read as the operations that they are made of."""
    yield "multiply", check_reading, image("c = MaxPool<kernel_shape = [2, 2]>(x) y = Mul(c, k)", {
        "k": array(8, 1, 1)}), "multiply"
    yield "LpPool", check_reading, image("y = LpPool<kernel_shape = [2, 2]>(x)"), "onnx.AveragePool"


def check_reading(model, kind, feeds=None):
    """No operator is carried, and ONNX Runtime computes the same with what was read."""
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        convert(folder / "m.onnx", folder / "m.tflite")
        said = subprocess.run([str(TOOL), folder / "m.tflite", folder / "n.tflite", "--print"],
                              capture_output=True, text=True, check=True).stdout
        assert f"= {kind}(" in said and "tflite." not in said, said
        assert operators_of(folder / "m.tflite") == operators_of(folder / "n.tflite")
        convert(folder / "m.tflite", folder / "n.onnx")
        session = session_of(folder / "n.onnx")
        feeds = feeds or random_feeds(session)
        expected = session_of(model).run(None, feeds)[0]
        compare(session.run(None, feeds)[0], expected, 1e-5, kind)


def test_read_operators():
    x = (2, 3, 4)
    for kind in ("ArgMax", "ArgMin"):
        for keep in (0, 1):
            yield f"{kind}_{keep}", check_reading, model_of(
                f"y = {kind}<axis = 1, keepdims = {keep}>(x)", x=x), f"onnx.{kind}"
    for kind in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        feeds = {"x": RNG.integers(0, 3, x).astype(np.float32), "z": np.float32([0, 1, 2, 1])}
        yield kind, check_reading, model_of(f"y = {kind}(x, z)", x=x, z=(4,)), f"onnx.{kind}", feeds
    yield "Xor", check_reading, model_of("a = Greater(x, z) b = Less(x, half) y = Xor(a, b)", {
        "half": np.float32(0.5)}, x=x, z=(4,)), "onnx.Xor"
    yield "Tile", check_reading, model_of("y = Tile(x, r)", {"r": np.array([2, 1, 3])},
                                          x=x), "onnx.Tile"
    yield "Tile_image", check_reading, image("c = MaxPool<kernel_shape = [2, 2]>(x) y = Tile(c, r)", {
        "r": np.array([1, 2, 1, 3])}), "onnx.Tile"
    yield "Expand", check_reading, model_of("y = Expand(x, s)", {"s": np.array([2, 2, 3, 4])},
                                            x=x), "expand"
    yield "GatherND", check_reading, model_of("y = GatherND(x, i)", {
        "i": np.array([[0, 1], [1, 2]])}, x=x), "onnx.GatherND"
    yield "SpaceToDepth", check_reading, image("y = SpaceToDepth<blocksize = 2>(x)",
                                               shape=(1, 8, 6, 10)), "onnx.SpaceToDepth"
    yield "DepthToSpace", check_reading, image("y = DepthToSpace<blocksize = 2>(x)"), (
        "onnx.DepthToSpace")
    for name, number in {"int32": 6, "uint32": 12, "int16": 5, "uint16": 4, "bool": 9}.items():
        feeds = {"x": RNG.integers(0, 100, x).astype(np.float32)}
        yield f"Cast_{name}", check_reading, model_of(f"y = Cast<to = {number}>(x)", x=x), (
            "cast"), feeds
    w, b = array(4, 5), array(5)
    yield "MatMul", check_reading, model_of("y = MatMul(x, w)", {"w": w}, x=x), "matmul"
    yield "MatMul_bias", check_reading, model_of("c = MatMul(x, w) y = Add(c, b)", {
        "w": w, "b": b}, x=x), "matmul"
    yield "MatMul_relu", check_reading, model_of("c = MatMul(x, w) d = Add(c, b) y = Relu(d)", {
        "w": w, "b": b}, x=x), "matmul"
    yield "layer", check_reading, model_of("y = LayerNormalization(x, w)", {"w": array(4)},
                                           x=x), "onnx.ReduceMean"
    yield "Resize", check_reading, model_of("y = Resize(x, , s)", {
        "s": np.array([1, 1, 1.3, 1.7], np.float32)}, x=(1, 2, 5, 6)), "gather"
    yield "Shape", check_reading, model_of("a = Relu(x) y = Shape(a)", x=("n", 3)), "onnx.Shape", {
        "x": array(5, 3)}


def check_foreign(kind, *arguments, codes=False, **fields):
    """LiteRT computes the same with the file and with what was read of it; so does ONNX Runtime,
    but for codes, which ONNX's operators do not take."""
    inputs = arguments[1]
    feeds = {f"t{i}": tensor.values for i, tensor in enumerate(inputs) if not tensor.constant}
    with scratch() as folder:
        (folder / "m.tflite").write_bytes(file_of(*arguments, **fields))
        said = subprocess.run([str(TOOL), folder / "m.tflite", folder / "n.tflite", "--print"],
                              capture_output=True, text=True, check=True).stdout
        assert f"= {kind}(" in said and "tflite." not in said, said
        expected, = run_litert(folder / "m.tflite", feeds).values()
        found, = run_litert(folder / "n.tflite", feeds).values()
        compare(found, expected, 0 if codes else 1e-6, kind)
        if not codes:
            convert(folder / "m.tflite", folder / "n.onnx")
            compare(session_of(folder / "n.onnx").run(None, feeds)[0], expected, 1e-6, kind)


def test_read_foreign():
    """What other converters write."""
    x, w, b = Tensor(array(2, 3, 4)), Tensor(array(5, 4), True), Tensor(array(5), True)
    dense = ("FULLY_CONNECTED", [x, w, b])
    yield "dense_rows", check_foreign, "gemm", *dense, Tensor(array(6, 5)), "FullyConnectedOptions"
    yield "dense_pairs", check_foreign, "gemm", "FULLY_CONNECTED", [
        x, Tensor(array(5, 8), True), b], Tensor(array(3, 5)), "FullyConnectedOptions"
    for keeps, shape in ((True, (2, 3, 5)), (False, (6, 5))):
        def codes(keeps=keeps, shape=shape):
            whole8 = functools.partial(RNG.integers, -128, 128)
            check_foreign("gemm", "FULLY_CONNECTED", [
                Tensor(whole8((2, 3, 4)).astype(np.int8), scale=0.5, zero=3),
                Tensor(whole8((5, 4)).astype(np.int8), True, 0.25),
                Tensor(RNG.integers(-99, 99, 5).astype(np.int32), True, 0.125)],
                Tensor(np.zeros(shape, np.int8), scale=16.0, zero=-4), "FullyConnectedOptions",
                keepNumDims=keeps, codes=True)
        yield f"dense_codes_{keeps}", codes
    z = Tensor(np.float32([1, 2, 3, 4]))
    yield "squared_difference", check_foreign, "multiply", "SQUARED_DIFFERENCE", [x, z], x, (
        "SquaredDifferenceOptions")
    yield "rsqrt", check_foreign, "onnx.Reciprocal", "RSQRT", [z], z
    yield "not_equal", check_foreign, "onnx.Not", "NOT_EQUAL", [z, Tensor(np.float32([1, 3, 3, 5]))], (
        Tensor(np.zeros(4, bool))), "NotEqualOptions"
    i32 = schema.TensorType.INT32
    yield "shape", functools.partial(check_foreign, outType=i32), "onnx.Shape", "SHAPE", [x], (
        Tensor(np.zeros(3, np.int32))), "ShapeOptions"
    yield "arg_max", functools.partial(check_foreign, outputType=i32), "onnx.ArgMax", "ARG_MAX", [
        x, Tensor(np.array(-1, np.int32), True)], Tensor(np.zeros((2, 3), np.int32)), "ArgMaxOptions"


def check_fake_quant(low, high, bits, steps_off=0):
    """FAKE_QUANT, which training with simulated quantization leaves, is read, written back as it was, and
    computes what LiteRT does: here, as a const_fake_quant, and as a QUANTIZE and a DEQUANTIZE."""
    scale = (high - low) / (2 ** bits - 1)
    x = RNG.uniform(low - 5 * scale, high + 5 * scale, (40, 50)).astype(np.float32)
    # Where a real number lies in the middle of two codes, each kernel rounds as it likes.
    place = x / scale - np.floor(x / scale)
    x[np.abs(place - 0.5) < 0.02] = 0
    # Their real numbers are a sum with the smallest one, rounded.
    tolerance = 1e-6 + steps_off * scale / max(1, abs(low), abs(high))
    with scratch() as folder:
        (folder / "m.tflite").write_bytes(file_of("FAKE_QUANT", [Tensor(x)], Tensor(x), "FakeQuantOptions",
                                                  min=low, max=high, numBits=bits, narrowRange=False))
        said = subprocess.run([str(TOOL), folder / "m.tflite", folder / "n.tflite", "--print"],
                              capture_output=True, text=True, check=True).stdout
        assert "= const_fake_quant(" in said, said
        assert operators_of(folder / "n.tflite") == {"FAKE_QUANT": 1}
        expected, = run_litert(folder / "m.tflite", {"t0": x}).values()
        assert 150 < np.unique(expected).size <= 2 ** bits  # it does round
        found, = run_litert(folder / "n.tflite", {"t0": x}).values()
        compare(found, expected, 0, "written back")

        np.savez(folder / "x.npz", t0=x)
        done = quadrant("run", folder / "m.tflite", "--data", folder / "x.npz", "-o", folder / "out")
        assert done.returncode == 0, done.stderr
        computed = np.load(next((folder / "out").glob("*.npz")))
        compare(computed[computed.files[0]], expected, tolerance, "interpreter")

        done = quadrant("convert", folder / "m.tflite", folder / "c.tflite")
        assert done.returncode == 0, done.stderr
        assert "FAKE_QUANT" not in operators_of(folder / "c.tflite")
        casts, = run_litert(folder / "c.tflite", {"t0": x}).values()
        compare(casts, expected, tolerance, "casts")


def test_fake_quant():
    for name, ends in {"asymmetric": (-0.9, 2.1), "positive": (0.0, 6.0), "negative": (-3.0, 0.0),
                       "wide": (-1000.0, 600.0), "beside_zero": (0.5, 2.0)}.items():
        for bits in (8, 16):
            yield f"{name}_{bits}", check_fake_quant, *ends, bits
    # The zero point lies in the middle of two codes: LiteRT, in float32, rounds it to the other one.
    yield "middle_8", check_fake_quant, -1.0, 1.0, 8, 1
    yield "middle_16", check_fake_quant, -1.0, 1.0, 16, 1


def test_narrow_fake_quant():
    """LiteRT reads none, so none is written; as casts it computes the const_fake_quant."""
    x = Tensor(np.float32([-2, -1, 0.004, 0.3, 1, 2]))
    with scratch() as folder:
        (folder / "m.tflite").write_bytes(file_of("FAKE_QUANT", [x], x, "FakeQuantOptions", min=-1.0, max=1.0,
                                                  numBits=8, narrowRange=True))
        done = subprocess.run([str(TOOL), folder / "m.tflite", folder / "n.tflite"], capture_output=True,
                              text=True)
        assert done.returncode == 1 and "not a narrow one" in done.stderr, done.stderr
        done = quadrant("convert", folder / "m.tflite", folder / "c.tflite")
        assert done.returncode == 0, done.stderr
        casts, = run_litert(folder / "c.tflite", {"t0": x.values}).values()
        compare(casts, np.float32([-127, -127, 1, 38, 127, 127]) / np.float32(127), 1e-6, "casts")


def test_simulated_model():
    """A model of const_fake_quants, whole on codes in LiteRT, gives what the interpreter computes of the
    simulation, to a step of the result."""
    text = """graph {}
%x: tensor<1x2x4x4xf32> = input()
%xq: tensor<1x2x4x4xf32> = const_fake_quant(%x) {min = -0.9, max = 2.1}
%w: tensor<3x2x1x1xf32> = constant() [0.5, -0.25, 0.125, 0.5, -0.25, 0.125]
%wq: tensor<3x2x1x1xf32> = const_fake_quant(%w) {min = [-1.0, -0.9, -1.0], max = [1.0, 0.9, 1.0], axis = 0,
  narrow_range = 1, is_signed = 1}
%b: tensor<3xf32> = constant() [0.5, -0.5, 0]
%c: tensor<1x3x4x4xf32> = conv(%xq, %wq, %b)
%r: tensor<1x3x4x4xf32> = onnx.Relu(%c)
%y: tensor<1x3x4x4xf32> = const_fake_quant(%r) {min = 0.0, max = 1.5}
output(%y) {name = "y"}
"""
    x = RNG.normal(size=(1, 2, 4, 4)).astype(np.float32)
    with scratch() as folder:
        (folder / "m.qd").write_text(text)
        np.savez(folder / "x.npz", x=x)
        for arguments in (("run", folder / "m.qd", "--data", folder / "x.npz", "-o", folder / "out"),
                          ("convert", folder / "m.qd", folder / "m.tflite")):
            done = quadrant(*arguments)
            assert done.returncode == 0, done.stderr
        assert "no fake quantization" not in done.stdout
        simulated = np.load(next((folder / "out").glob("*.npz")))
        found, = run_litert(folder / "m.tflite", {"x": x}).values()
        expected = simulated[simulated.files[0]]
        assert np.unique(expected).size > 10
        compare(found, expected, 1.001 * 1.5 / 255 / max(1, np.abs(expected).max()), "codes")


def test_fake_quant_of_few_bits():
    """Is carried: of 4 bits, LiteRT has 16 codes, where MLIR has 256."""
    x = np.float32([0.1, 0.5, 3])
    with scratch() as folder:
        (folder / "m.tflite").write_bytes(file_of("FAKE_QUANT", [Tensor(x)], Tensor(x), "FakeQuantOptions",
                                                  min=0.0, max=1.5, numBits=4, narrowRange=False))
        said = subprocess.run([str(TOOL), folder / "m.tflite", folder / "n.tflite", "--print"],
                              capture_output=True, text=True, check=True).stdout
        assert "tflite.FAKE_QUANT" in said, said
        expected, = run_litert(folder / "m.tflite", {"t0": x}).values()
        found, = run_litert(folder / "n.tflite", {"t0": x}).values()
        compare(found, expected, 0, "carried")


def test_reference_file():
    """A file of another converter, read and written again."""
    path = SHARED / "resnet8_cifar10_int8.tflite"
    if not path.is_file():
        return
    with scratch() as folder:
        convert(path, folder / "again.tflite")
        assert operators_of(path) == operators_of(folder / "again.tflite")
        detail = interpreter_of(path).get_input_details()[0]
        feeds = {detail["name"]: RNG.integers(-128, 128, detail["shape"]).astype(np.int8)}
        first, second = run_litert(path, feeds), run_litert(folder / "again.tflite", feeds)
        for name in first:
            assert np.array_equal(first[name], second[name])


def test_refusals():
    yield "all_at_once", check_refused
    yield "order_of_channels", check_other_channels
    yield "damaged", check_damaged


def check_refused():
    model = model_of("a = Hardmax(x) b = Hardmax(a) y = Det(b)", x=(3, 3))
    for node, name in zip(model.graph.node, ("first", "second", "third")):
        node.name = name
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        done = subprocess.run([str(TOOL), folder / "m.onnx", folder / "m.tflite"],
                              capture_output=True, text=True)
        assert done.returncode == 1 and "onnx.Hardmax has no counterpart (first" in done.stderr
        assert not (folder / "m.tflite").exists()


def check_other_channels():
    """SpaceToDepth has a mode since opset 28; of one channel, both modes are the same."""
    text = 'y = SpaceToDepth<blocksize = 2, mode = "CRD">(x)'
    with scratch() as folder:
        for channels in (1, 2):
            onnx.save(image(text, shape=(1, channels, 4, 6), opset=28), folder / "m.onnx")
            done = subprocess.run([str(TOOL), folder / "m.onnx", folder / f"{channels}.tflite"],
                                  capture_output=True, text=True)
            assert done.returncode == channels - 1, done.stderr
        assert "another order of the channels" in done.stderr, done.stderr


def check_tied(*options):
    """A table that is looked up and multiplied by is in the file once."""
    with scratch() as folder:
        table = array(512, 64)
        model = model_of("e = Gather(t, i) s = Transpose<perm = [1, 0]>(t) y = MatMul(e, s)", {"t": table},
                         i=["int64", [3]])
        onnx.save(model, folder / "m.onnx")
        done = quadrant("convert", folder / "m.onnx", folder / "m.tflite", *options)
        assert done.returncode == 0, done.stderr
        bytes_ = (folder / "m.tflite").stat().st_size
        expected = table.size * (1 if options else 4)
        assert bytes_ < 1.3 * expected + 4000, (bytes_, expected)
        found = next(iter(run_litert(folder / "m.tflite", {"i": np.array([3, 500, 7], np.int64)}).values()))
        exact = table[[3, 500, 7]] @ table.T
        assert np.abs(found - exact).max() < .03 * np.abs(exact).max(), np.abs(found - exact).max()


def test_equal_contents():
    yield "floats", check_tied
    yield "int8, a tensor", check_tied, "--scheme", "weight-only", "--granularity", "tensor"


def check_damaged():
    """No byte that is wrong makes the reader crash."""
    with scratch() as folder:
        onnx.save(image("c = Conv(x, w) y = Relu(c)", {"w": array(2, 8, 3, 3)}), folder / "m.onnx")
        convert(folder / "m.onnx", folder / "m.tflite")
        bytes_ = bytearray((folder / "m.tflite").read_bytes())
        for _ in range(40):
            damaged = bytearray(bytes_)
            for at in RNG.integers(0, len(bytes_), 3):
                damaged[at] = RNG.integers(0, 256)
            (folder / "d.tflite").write_bytes(damaged)
            done = subprocess.run([str(TOOL), folder / "d.tflite", folder / "e.tflite"],
                                  capture_output=True, text=True, timeout=60)
            assert done.returncode in (0, 1), done.returncode


if __name__ == "__main__":
    run_tests(globals())
