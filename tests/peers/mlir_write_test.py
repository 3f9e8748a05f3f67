"""Models as MLIR: modules that mlir-opt of two versions takes, and that compute what the models do."""

import _mlir  # first: ends the test where MLIR is missing
import _peers

import re

import numpy as np
import onnx
import onnxruntime

from _command import quadrant, run_tests, scratch
from _mlir import opt
from _mlir_programs import computed
from _models import EXAMPLES, helper, info, model_of, quantize, random_feeds, session_of, weight
from _openvino_cases import ONNXES, OnnxCase, random

LOWER = "quadrant-lower-quant-ops"


def written(model, folder):
    """(text, why not) of a model."""
    path = folder / "model.onnx"
    if isinstance(model, onnx.ModelProto):
        onnx.save(model, path)
    else:
        path = model
    done = quadrant("convert", path, folder / "model.mlir")
    if done.returncode:
        assert not (folder / "model.mlir").exists(), "a file, and an error"
        return None, done.stderr
    text = (folder / "model.mlir").read_text()
    for version in 19, 22:
        opt(version, text)
    return text, ""


def close(ours, theirs, bound):
    for found, wanted in zip(ours, theirs, strict=True):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        if not np.issubdtype(wanted.dtype, np.floating):
            assert np.array_equal(found, wanted), f"{found} is not {wanted}"
            continue
        nothing = np.isnan(wanted)
        assert np.array_equal(np.isnan(found), nothing)
        found, wanted = found[~nothing].astype(np.float64), wanted[~nothing].astype(np.float64)
        finite = np.isfinite(wanted)
        assert np.array_equal(found[~finite], wanted[~finite])
        if finite.any():
            error = np.abs(found[finite] - wanted[finite]).max() / max(1.0, np.abs(wanted[finite]).max())
            assert error <= bound, f"differ by {error}"


# --- an operation each ----------------------------------------------------------------------------

# What is written; of everything else a reason is given.
COVERED = set("""
    Abs Acos Acosh Add And Asin Asinh Atan Atanh AveragePool BatchNormalization BiasGelu BitShift BitwiseAnd BitwiseNot
    BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Concat Conv Cos Cosh DepthToSpace Div Dropout Elu Equal Erf Exp
    Expand FastGelu Flatten Floor FusedConv FusedGemm FusedMatMul Gather Gelu Gemm GlobalAveragePool GlobalMaxPool
    Greater GreaterOrEqual GroupNormalization
    HardSigmoid HardSwish Identity InstanceNormalization IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual
    Log LogSoftmax MatMul Max MaxPool Mean Min Mish Mod Mul Neg Not Or PRelu Pad Pow QuickGelu RMSNormalization Reciprocal
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
    Relu Reshape Round Selu Shape Shrink Sigmoid Sign SimplifiedLayerNormalization Sin Sinh Size
    SkipLayerNormalization SkipSimplifiedLayerNormalization Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt
    Squeeze Sub Sum Swish Tan Tanh ThresholdedRelu Tile Transpose Unsqueeze Where Xor
""".split())
# Cases of those that are refused all the same, and why.
REFUSED = {
    "expand_computed": "open extents", "tile_computed": "open extents", "pad_computed": "open extents",
    "slice_computed": "open extents", "pad_edge": "mode edge",
    "pad_2_edge": "mode edge", "pad_reflect": "mode reflect", "pad_2_reflect": "mode reflect",
    "pad_wrap": "mode wrap", "reduce_max_bool": "type i1", "reduce_min_bool": "type i1",
    "layer_norm_mean": "open extents", "max_pool_dilated_same": "automatic pads",
}


def kind_of(case):
    """As graphs call the operation: some by a name of their own."""
    own = {"ConvTranspose": "conv_transpose", "LSTM": "lstm", "GRU": "gru", "RNN": "rnn"}
    return own.get(case.op, f"onnx.{case.op}")


def check_case(case):
    with scratch() as folder:
        text, why = written(case.model(), folder)
        is_open = case.is_open or case.name.startswith("reduce_computed_")
        reason = "open extents" if is_open else REFUSED.get(case.name)
        if reason or case.op not in COVERED:
            assert text is None, "was written"
            assert (reason or f"has no counterpart for: {kind_of(case)} (") in why and "MLIR" in why, why
            return
        assert text is not None, why
        session = session_of(case.model())
        feeds = case.feeds()
        wanted = session.run(None, dict(zip([v.name for v in session.get_inputs()], feeds)))
        close(computed(text, feeds, wanted), wanted, max(case.tolerance, 1e-5))


def test_operations():
    for case in ONNXES:
        yield case.name, check_case, case


def own_cases():
    """What those cases leave out: images, products, numbers of other types, operands that broadcast."""
    made = []

    def op(name, op_type, *inputs, **settings):
        made.append(OnnxCase(name, op_type, inputs, **settings))

    def f(*shape, seed=3, dtype=np.float32):
        return random(shape, dtype, seed)

    def strings(**attributes):
        return "_".join(f"{key}{value}" for key, value in attributes.items())

    for settings in ({}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 3]}, {"dilations": [2, 1]},
                     {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER"},
                     {"auto_pad": "VALID"}, {"pads": [1, 1, 1, 1], "strides": [3, 2]}):
        label = strings(**settings)
        op(f"conv_{label}", "Conv", f(2, 3, 9, 8), f(4, 3, 3, 2), f(4, seed=5), weights=(1, 2), **settings)
        op(f"depthwise_{label}", "Conv", f(2, 3, 9, 8), f(3, 1, 3, 2), weights=(1,), group=3, **settings)
        op(f"groups_{label}", "Conv", f(1, 4, 9, 8), f(6, 2, 3, 2), f(6), weights=(1, 2), group=2, **settings)
        op(f"max_pool_{label}", "MaxPool", f(2, 3, 9, 8), kernel_shape=[3, 2], **settings)
        for counts in 0, 1:
            op(f"average_pool_{counts}_{label}", "AveragePool", f(2, 3, 9, 8), kernel_shape=[3, 2],
               # From 19 on, ONNX Runtime counts asymmetric pads wrong.
               count_include_pad=counts, opset=21 if "dilations" in settings else 17, **settings)
    op("conv_multiplied", "Conv", f(1, 3, 6, 6), f(6, 1, 3, 3), weights=(1,), group=3)
    op("conv_1d", "Conv", f(2, 3, 9), f(4, 3, 3), f(4), weights=(1, 2), pads=[1, 1])
    op("conv_3d", "Conv", f(1, 2, 5, 4, 6), f(3, 2, 2, 2, 3), weights=(1,), strides=[1, 2, 1])
    op("conv_computed_weight", "Conv", f(1, 3, 6, 6), f(4, 3, 3, 3))
    op("max_pool_ceil", "MaxPool", f(1, 2, 8, 7), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    op("max_pool_1d", "MaxPool", f(1, 2, 8), kernel_shape=[3])
    op("max_pool_u8", "MaxPool", np.arange(48, 208, 5, dtype=np.uint8).reshape(1, 2, 4, 4), kernel_shape=[2, 2],
       pads=[1, 0, 0, 1])
    for counts in 0, 1:
        op(f"average_pool_ceil_{counts}", "AveragePool", f(1, 2, 8, 7), kernel_shape=[3, 3], strides=[2, 2],
           pads=[1, 1, 0, 1], ceil_mode=1, count_include_pad=counts)
    op("average_pool_3d", "AveragePool", f(1, 2, 4, 5, 6), kernel_shape=[2, 2, 2], pads=[1] * 6)
    for name in "GlobalAveragePool", "GlobalMaxPool":
        op(name, name, f(2, 3, 5, 4))

    for left, right in (((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
                        ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4,)), ((3, 4), (2, 4, 5))):
        op(f"matmul_{left}_{right}", "MatMul", f(*left), f(*right, seed=5))
    for a_transposed in 0, 1:
        for b_transposed in 0, 1:
            op(f"gemm_{a_transposed}{b_transposed}", "Gemm", f(*((4, 3) if a_transposed else (3, 4))),
               f(*((5, 4) if b_transposed else (4, 5)), seed=5), f(5), weights=(1, 2), transA=a_transposed,
               transB=b_transposed, alpha=0.5, beta=2.0)
    op("gemm_no_summand", "Gemm", f(3, 4), f(4, 5))
    op("gemm_column", "Gemm", f(3, 4), f(4, 5), f(3, 1))

    for name in "Add", "Sub", "Mul", "Div":
        op(f"{name}_same", name, f(3, 4), f(3, 4, seed=5))
        op(f"{name}_broadcast", name, f(2, 1, 4), f(3, 1, seed=5))
        op(f"{name}_number", name, f(2, 3), np.array(2.5, np.float32), weights=(1,))
        op(f"{name}_double", name, f(3, 4, dtype=np.float64), f(4, seed=5, dtype=np.float64))
        for dtype in np.int32, np.int64:
            op(f"{name}_{dtype.__name__}", name, np.arange(-6, 6, dtype=dtype).reshape(3, 4),
               np.array([3, -2, 5, 1], dtype))
    for name in "Max", "Min":
        op(f"{name}_3", name, f(3, 4), f(3, 1, seed=5), f(4, seed=6))
        op(f"{name}_unsigned", name, np.array([3, 2**31, 5], np.uint32), np.array([[4], [2**32 - 1]], np.uint32))
    for name in "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual":
        op(f"{name}_float", name, np.array([1, 2, np.nan], np.float32), np.array([[2], [np.nan]], np.float32))
        op(f"{name}_int", name, np.array([-1, 2, 3], np.int64), np.array([[2], [-5]], np.int64))
        if name != "Equal":
            op(f"{name}_unsigned", name, np.array([1, 200], np.uint8), np.array([2, 100], np.uint8))
    for name in "And", "Or", "Xor":
        op(f"logical_{name}", name, f(3, 4, dtype=bool), f(4, dtype=bool, seed=5))
    op("logical_not", "Not", f(3, 4, dtype=bool))
    op("where", "Where", f(3, 1, dtype=bool), f(3, 4), f(4, seed=5))
    op("where_constant", "Where", f(3, 4, dtype=bool), f(3, 4), np.array(-np.inf, np.float32), weights=(0, 2))
    op("infinities", "Add", f(3), np.array([np.inf, -np.inf, np.nan], np.float32), weights=(1,))

    positive = np.abs(f(3, 4)) + np.float32(0.1)
    for name in ("Abs Ceil Cos Elu Erf Exp Floor HardSigmoid HardSwish LeakyRelu Neg Reciprocal Relu Round "
                 "Selu Sigmoid Sign Sin Softplus Softsign Tanh Identity").split():
        op(f"{name}_float", name, f(3, 4) * np.float32(2))
    for name in "Asin", "Acos", "Atanh":
        op(name, name, f(3, 4) / 4)
    for name in "Asinh", "Atan", "Cosh", "Mish", "Sinh", "Tan":
        op(name, name, f(3, 4))
    op("Acosh", "Acosh", np.abs(f(3, 4)) + np.float32(1))
    op("IsNaN", "IsNaN", np.array([1, np.nan, np.inf, -np.inf], np.float32))
    for fmod in 0, 1:
        op(f"mod_{fmod}", "Mod", np.array([7, -7, 7, -7, 6], np.int32), np.array([2, 2, -2, -2, 3], np.int32), fmod=fmod)
        op(f"mod_u8_{fmod}", "Mod", np.array([200, 7], np.uint8), np.array([130, 4], np.uint8), fmod=fmod)
    op("mod_real", "Mod", f(3, 4), np.float32([.3, -.4, .5, 2]), fmod=1)
    op("shape_known", "Shape", f(4, 3, 2), start=1)
    op("size_known", "Size", f(4, 3, 2))
    for name in "Log", "Sqrt":
        op(f"{name}_float", name, positive)
    op("sign_zero", "Sign", np.array([-2.5, -0.0, 0, 3, np.inf], np.float32))
    op("sign_int", "Sign", np.array([-3, 0, 5], np.int32))
    op("round_half", "Round", np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32))
    op("softplus_large", "Softplus", np.array([-200, -20, 20, 200], np.float32))
    op("sigmoid_large", "Sigmoid", np.array([-200, -20, 20, 200], np.float32))
    for name in "Abs", "Neg":
        op(f"{name}_int", name, np.array([-3, 0, 5], np.int32))
    op("relu_int", "Relu", np.array([-3, 0, 5], np.int32))
    op("exp_double", "Exp", f(3, dtype=np.float64))
    for how in "none", "tanh":
        op(f"gelu_{how}", "Gelu", f(3, 4) * np.float32(2), approximate=how)
    op("prelu", "PRelu", f(2, 3, 4), f(3, 1), weights=(1,))
    op("elu_alpha", "Elu", f(3, 4), alpha=0.3)
    op("pow", "Pow", positive, f(4), weights=(1,))
    op("pow_square", "Pow", f(3, 4), np.array(2, np.int64), weights=(1,))
    op("clip", "Clip", f(3, 4), np.array(-0.5, np.float32), np.array(0.5, np.float32), weights=(1, 2))
    op("clip_computed", "Clip", f(3, 4), np.array(-0.5, np.float32), np.array(0.5, np.float32))
    op("clip_upper", "Clip", f(3, 4), None, np.array(0.5, np.float32), weights=(2,))
    op("clip_6", "Clip", f(3, 4), opset=7, min=-0.5, max=0.5)
    op("clip_int", "Clip", np.array([-3, 0, 5], np.int32), np.array(-1, np.int32), np.array(3, np.int32), weights=(1, 2))

    op("clip_int64", "Clip", np.array([-3, 2**60 + 1, 2**62], np.int64), np.array(-2**63, np.int64),
       np.array(2**61 + 3, np.int64), weights=(1, 2))

    kinds = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int32, np.int64, bool]
    for source in kinds:
        for target in kinds:
            values = np.array([0, 1, 3, 100], np.float32)
            if source in (np.float32, np.float64, np.float16):
                values = np.array([0, 0.7, 2.5, 100.25], np.float32)
            op(f"cast_{source.__name__}_{target.__name__}", "Cast", values.astype(source),
               to=int(helper.np_dtype_to_tensor_dtype(np.dtype(target))))
    op("cast_negative", "Cast", np.array([-1.7, -0.5, 1.7], np.float32), to=6)
    op("cast_large_u8", "Cast", np.array([130, 255], np.uint8), to=1)

    op("softmax", "Softmax", f(2, 3, 4), axis=1)
    op("softmax_11", "Softmax", f(2, 3, 4), axis=1, opset=11)
    op("log_softmax", "LogSoftmax", f(2, 3, 4))
    op("softmax_large", "Softmax", f(2, 5) * np.float32(100))
    op("batch_norm", "BatchNormalization", f(2, 3, 4, 5), f(3), f(3, seed=5), f(3, seed=6), np.abs(f(3, seed=7)),
       weights=(1, 2, 3, 4), epsilon=0.01)
    op("instance_norm", "InstanceNormalization", f(2, 3, 4, 5), f(3), f(3, seed=5), weights=(1, 2))
    op("layer_norm_axis_1", "LayerNormalization", f(2, 3, 4), f(3, 4), f(3, 4, seed=5), weights=(1, 2), axis=1)
    # Sums that float16 cannot hold while they are made.
    half = {"dtype": np.float16}
    op("half_matmul", "MatMul", np.ones((1, 4096), np.float16), np.ones((4096, 1), np.float16), tolerance=1e-3)
    op("half_mean", "GlobalAveragePool", np.ones((1, 2, 64, 64), np.float16), tolerance=1e-3)
    op("half_norm", "LayerNormalization", (f(4, 512) * 300).astype(np.float16), np.ones(512, np.float16),
       weights=(1,), tolerance=2e-3)
    op("half_softmax", "Softmax", f(3, 2000, **half), tolerance=1e-3)
    op("half_reduce", "ReduceSumSquare", (f(2, 3000) * 4).astype(np.float16), tolerance=1e-3, axes=[1], opset=13)
    op("half_conv", "Conv", f(1, 64, 9, 9, **half), f(8, 64, 3, 3, **half), weights=(1,), tolerance=2e-3)
    op("half_add", "Add", f(2, 3, **half), f(3, **half), tolerance=1e-3)

    op("concat_empty", "Concat", f(2, 3), f(0, 3), axis=0)
    op("concat_empty_between", "Concat", f(2, 3), f(2, 0), f(2, 4), axis=1)
    op("split_empty", "Split", f(3, 2), np.array([3, 0], np.int64), weights=(1,), outputs=2, axis=0)

    for keeps in 0, 1:
        for name in "Sum", "Mean", "Max", "Min", "Prod", "L2", "SumSquare":
            axes = np.array([0, -1], np.int64)
            op(f"reduce_{name}_{keeps}", f"Reduce{name}", f(2, 3, 4), axes, weights=(1,), keepdims=keeps)
            op(f"reduce_{name}_everything_{keeps}", f"Reduce{name}", f(2, 3, 4), keepdims=keeps)
    op("reduce_sum_nothing", "ReduceSum", f(2, 3), np.array([], np.int64), weights=(1,), noop_with_empty_axes=1)
    op("reduce_max_int", "ReduceMax", np.array([[-5, -3], [-9, -7]], np.int32), np.array([1]), weights=(1,))

    for perm in [1, 0, 2], [2, 1, 0], [0, 2, 1]:
        op(f"transpose_{perm}", "Transpose", f(2, 3, 4), perm=perm)
    op("transpose_u8", "Transpose", np.arange(120, 132, dtype=np.uint8).reshape(3, 4))
    for shape in [6, 4], [2, 12], [2, 3, 2, 2], [24], [4, 6], [1, 24, 1], [0, -1], [3, 8], [1, 2, 1, 3, 4, 1]:
        op(f"reshape_{shape}", "Reshape", f(2, 3, 4), np.array(shape, np.int64), weights=(1,))
    op("reshape_scalar", "Reshape", f(1, 1), np.array([], np.int64), weights=(1,))
    op("reshape_from_scalar", "Reshape", np.array(2.5, np.float32), np.array([1, 1], np.int64), weights=(1,))
    op("concat", "Concat", f(2, 3), f(2, 1, seed=5), f(2, 4, seed=6), axis=1)
    op("concat_ints", "Concat", np.array([1, 2], np.int64), np.array([3], np.int64), axis=0, weights=(1,))
    op("concat_one", "Concat", f(2, 3), axis=0)
    op("gather_rows", "Gather", f(5, 3), np.array([[4, 0], [-1, 2]], np.int64), axis=0)
    op("gather_scalar", "Gather", f(5, 3), np.array(1, np.int64), axis=1, weights=(1,))
    op("dropout", "Dropout", f(3, 4))
    return made


def test_own_operations():
    for case in own_cases():
        yield case.name, check_case, case


def test_every_operation_that_is_covered_is_tested():
    tested = {case.op for case in [*ONNXES, *own_cases()] if case.name not in REFUSED and not case.is_open}
    assert COVERED - tested == {"Swish"}, COVERED - tested  # of opset 24, which the models are not


# --- whole models, quantized and not ----------------------------------------------------------------


def interpreted(model, feeds, folder):
    np.savez(folder / "sample.npz", **feeds)
    done = quadrant("run", model, "--data", folder / "sample.npz", "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    return list(np.load(folder / "out" / "sample.npz").values())


def fixed(path, folder):
    """The model with extents of 1 where they are open."""
    model = onnx.load(path)
    del model.graph.value_info[:]
    for value in [*model.graph.input, *model.graph.output]:
        for extent in value.type.tensor_type.shape.dim:
            if not extent.dim_value:
                extent.dim_value = 1
    onnx.save(model, folder / "fixed.onnx")
    return folder / "fixed.onnx"


def check_model(path, *options, ending="qd", casts=0):
    with scratch() as folder:
        model = fixed(path, folder)
        feeds = random_feeds(session_of(model))
        if options:
            np.savez(folder / "calibration.npz", **feeds)
            options = [folder / "calibration.npz" if option == "CALIBRATION" else option for option in options]
            done = quadrant("convert", model, folder / f"quantized.{ending}", *options)
            assert done.returncode == 0, done.stderr
            model = folder / f"quantized.{ending}"
        text, why = written(model, folder)
        assert text is not None, why
        for op, least in (("quant.scast", 1 if options else 0), ("quant.qcast", casts)):
            assert (text.count(f'"{op}"') > 0) == (least > 0), f"{text.count(op)} times {op}"
        wanted = interpreted(model, feeds, folder)
        for version in (19,) if options else (19, 22):  # the plug-in is built for 19
            ours = computed(text, list(feeds.values()), wanted, LOWER if options else "", version)
            close(ours, wanted, 1e-5)


WEIGHTS = ("--scheme", "weight-only")
STATIC = ("--scheme", "static-affine", "--calibration", "CALIBRATION")


def test_example_models():
    for name in "digits_cnn", "tiny_transformer":
        path = EXAMPLES / f"{name}.onnx"
        yield name, check_model, path
        for bits in "8", "4":
            for sides in "--symmetric", "--asymmetric":
                yield (f"{name}, {bits} bits {sides}", check_model, path, *WEIGHTS, "--bits", bits, sides,
                       "--granularity", "channel")
        yield f"{name}, a scale for all", check_model, path, *WEIGHTS, "--granularity", "tensor"
        for bits in 2, 3, 5, 6, 7:
            yield f"{name}, {bits} bits", check_model, path, *WEIGHTS, "--type", f"i{bits} * f32[channel] : f32"


def test_quantization_on_the_way():
    """`convert` quantizes as `quantize` does, and the narrow range of the codes is in their type."""
    with scratch() as folder:
        model = fixed(EXAMPLES / "digits_cnn.onnx", folder)
        done = quadrant("convert", model, folder / "model.mlir", *WEIGHTS)
        assert done.returncode == 0, done.stderr
        text = (folder / "model.mlir").read_text()
        assert "!quant.uniform<i8<-127:127>:f32:" in text
        for version in 19, 22:
            assert opt(version, opt(version, text)) == opt(version, text)


def test_codes_at_the_border():
    """Inputs and outputs that are codes have their types, which 22 verifies."""
    with scratch() as folder:
        model = fixed(EXAMPLES / "digits_cnn.onnx", folder)
        np.savez(folder / "calibration.npz", **random_feeds(session_of(model)))
        done = quadrant("convert", model, folder / "model.mlir", "--scheme", "static-affine", "--calibration",
                        folder / "calibration.npz", "--io", "codes")
        assert done.returncode == 0, done.stderr
        text = (folder / "model.mlir").read_text()
        head = text[:text.index("^bb0")]
        assert head.count("!quant.uniform<") == 2, head
        for version in 19, 22:
            opt(version, text)


def test_names_that_need_escapes():
    """Names come back as the same bytes, and end no string early."""
    name = 'a "b" \\ \n é'
    with scratch() as folder:
        model = model_of([helper.make_node("Relu", [name], ["y"], name=name)], [info(name, [2])], [info("y", [2])], {})
        text, why = written(model, folder)
        assert text is not None, why
        again = opt(19, text, "--mlir-print-debuginfo")
        assert 'quadrant.name = "a \\22b\\22 \\\\ \\0A \\C3\\A9"' in again, again


def test_static():
    for name in "digits_cnn", "tiny_transformer":
        for ending in "qd", "onnx", "tflite":
            yield (f"{name}, {ending}",
                   lambda n=name, e=ending: check_model(EXAMPLES / f"{n}.onnx", *STATIC, ending=e, casts=1))
    yield "digits_cnn, xml", lambda: check_model(EXAMPLES / "digits_cnn.onnx", *STATIC, ending="xml", casts=1)


def test_advice_on_blocks_of_a_type():
    """What the message says makes the file."""
    with scratch() as folder:
        model = fixed(EXAMPLES / "digits_cnn.onnx", folder)
        done = quadrant("convert", model, folder / "model.mlir", *WEIGHTS, "--type", "int3")
        assert done.returncode != 0 and "a scale for each block" in done.stderr, done.stderr
        advised = re.search(r"--type '(.*)' makes them", done.stderr)
        assert advised, done.stderr
        done = quadrant("convert", model, folder / "model.mlir", *WEIGHTS, "--type", advised[1])
        assert done.returncode == 0, done.stderr


def test_blocks_are_refused():
    with scratch() as folder:
        model = fixed(EXAMPLES / "tiny_transformer.onnx", folder)
        quantize(model, folder / "quantized.onnx", "--block-size", "32")
        text, why = written(folder / "quantized.onnx", folder)
        assert text is None
        assert "a scale for each block" in why, why
        assert "--granularity" not in why, why  # the model came with its blocks


if __name__ == "__main__":
    run_tests(globals())
