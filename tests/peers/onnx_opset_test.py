"""Every operator of opset 7 to 20, before and after the conversion to opset 13 or 21, in ONNX Runtime.

Usage: onnx_opset_test.py [TOOL], as onnx_roundtrip_test.py.
"""

import os
import pathlib
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    import _models as models
    import onnx_roundtrip_test as roundtrip
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)

F = np.float32
RNG = np.random.default_rng(3)


def real(*shape):
    return RNG.standard_normal(shape).astype(F)


def positive(*shape):
    return (RNG.random(shape) + 0.5).astype(F)


def unit(*shape):
    return (RNG.random(shape) * 1.8 - 0.9).astype(F)


def ints(values, dtype=np.int64):
    return np.array(values, dtype)


def bools(*shape):
    return RNG.integers(0, 2, shape).astype(bool)


class Const:
    """An operand that is an initializer: shapes, scales."""

    def __init__(self, value):
        self.value = value


class Case:
    """One node. `first` and `last` opset that it is valid for; `results` how many it has;
    `refused` that it is not converted to any opset, or (a number) not to this one; `open_shape`: the model does not say the extents of its operands."""

    def __init__(self, op, *operands, first=7, last=20, results=1, refused=False,
                 open_shape=False, **attributes):
        self.op, self.operands, self.attributes = op, operands, attributes
        self.first, self.last, self.results, self.refused = first, last, results, refused
        self.open_shape = open_shape


TARGETS = (13, 21)
# Operators that are more than their operands.
WITH_BODIES = {
    "If", "Loop", "Scan",  # regions_test.py converts them
    "SequenceMap",  # is not converted: its body is carried
}
# Operators that ONNX Runtime cannot run on a CPU, or that are random.
NOT_RUN = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial",
           "SequenceEmpty", "Celu", "Bernoulli", "DeformConv", "ImageDecoder",
           "Optional"}

X = real(2, 3, 4)
IMAGE = real(1, 2, 6, 6)


def unary_cases():
    for op in ("Abs", "Atan", "Ceil", "Cos", "Elu", "Exp", "Floor", "HardSigmoid", "Identity",
               "LeakyRelu", "Neg", "Relu", "Selu", "Sigmoid", "Sin", "Softplus", "Softsign", "Tan",
               "Tanh", "Dropout", "LpNormalization"):
        yield Case(op, X)
    for op in ("Acos", "Asin"):
        yield Case(op, unit(2, 3))
    for op in ("Log", "Sqrt", "Reciprocal"):
        yield Case(op, positive(2, 3))
    for op in ("Asinh", "Cosh", "Erf", "Sign", "Sinh", "Shrink"):
        yield Case(op, X, first=9)
    yield Case("Atanh", unit(2, 3), first=9)
    yield Case("Acosh", positive(2, 3) + 1, first=9)
    yield Case("IsNaN", ints([1, np.nan], F), first=9)
    yield Case("IsInf", ints([1, np.inf], F), first=10)
    yield Case("NonZero", np.maximum(X, 0), first=9)
    yield Case("Round", X * 3, first=11)
    yield Case("ThresholdedRelu", X, first=10)
    yield Case("Celu", X, first=12)
    yield Case("Det", real(2, 3, 3), first=11)
    yield Case("Shape", X)
    yield Case("Size", X)
    yield Case("Not", bools(3))
    for op in ("HardSwish", "Mish", "Gelu"):
        yield Case(op, X, first={"HardSwish": 14, "Mish": 18, "Gelu": 20}[op])
    yield Case("Gelu", X, first=20, approximate="tanh")
    yield Case("BitwiseNot", ints([5, -3]), first=18)
    yield Case("OptionalHasElement", X, first=18)
    yield Case("OptionalGetElement", X, first=18)
    yield Case("Shape", X, first=15, start=1, end=-1)
    yield Case("Dropout", X, ratio=0.3, last=11)
    yield Case("Dropout", X, Const(F(0.3)), first=12)


def elementwise_cases():
    a, b = real(2, 3, 4), positive(3, 1)
    for op in ("Add", "Sub", "Mul", "Div"):
        yield Case(op, a, b)
    yield Case("Pow", positive(2, 3), real(3))
    for op in ("Max", "Min", "Mean", "Sum"):
        yield Case(op, real(2, 3), real(2, 3), real(2, 3))
        yield Case(op, real(2, 3), real(3), first=8)
    for op in ("Greater", "Less"):
        yield Case(op, a, b)
    for op in ("GreaterOrEqual", "LessOrEqual"):
        yield Case(op, a, b, first=12)
    yield Case("Equal", ints([1, 2]), ints([1, 3]))
    for op in ("And", "Or", "Xor"):
        yield Case(op, bools(2, 3), bools(3))
    yield Case("PRelu", X, real(4))
    yield Case("Where", bools(3, 1), a, b, first=9)
    yield Case("Mod", ints([7, -7]), ints([3, 3]), first=10)
    yield Case("BitShift", ints([1, 2], np.uint32), ints([3, 1], np.uint32), first=11,
               direction="LEFT")
    for op in ("And", "Or", "Xor"):
        yield Case("Bitwise" + op, ints([5, 12]), ints([6, 3]), first=18)
    yield Case("Cast", X * 3, to=TensorProto.INT32)
    yield Case("Cast", X, to=TensorProto.FLOAT16)
    yield Case("CastLike", X * 3, ints([1]), first=15)
    yield Case("Clip", X, min=-0.5, max=0.5, last=10)
    yield Case("Clip", X, min=0.0, last=10)
    yield Case("Clip", X.astype(np.float16), max=0.1, last=10)
    yield Case("Clip", X, last=10)
    yield Case("Clip", X, Const(F(-0.5)), first=11)
    yield Case("Clip", X, None, Const(F(0.5)), first=11)
    yield Case("CumSum", X, Const(ints(1, np.int32)), first=11)
    yield Case("Expand", real(3, 1), Const(ints([2, 3, 4])), first=8)
    yield Case("Tile", X, Const(ints([1, 2, 1])))


def normalization_cases():
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        yield Case(op, X)
        yield Case(op, X, axis=1)
        yield Case(op, X, axis=2)
        yield Case(op, X, axis=0)
        yield Case(op, real(2, 5))
        yield Case(op, X, axis=-1, first=11)
        yield Case(op, X, axis=-2, first=11)
    channels = [positive(2), real(2), real(2), positive(2)]
    yield Case("BatchNormalization", IMAGE, *channels)
    yield Case("BatchNormalization", IMAGE, *channels, last=8, spatial=1, epsilon=1e-3)
    yield Case("InstanceNormalization", IMAGE, positive(2), real(2))
    yield Case("LRN", IMAGE, size=3)
    yield Case("MeanVarianceNormalization", IMAGE, first=9)
    for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
               "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"):
        operand = positive(2, 3, 4) if op == "ReduceLogSum" else X
        until = 12 if op == "ReduceSum" else 17  # then axes are an operand
        yield Case(op, operand, axes=[1], last=until)
        yield Case(op, operand, axes=[0, 2], keepdims=0, last=until)
        yield Case(op, operand)
        yield Case(op, operand, axes=[-1], first=11, last=until)
        yield Case(op, operand, Const(ints([0, -1])), first=until + 1, keepdims=0)
        yield Case(op, operand, Const(ints([])), first=until + 1)
        yield Case(op, operand, Const(ints([])), first=until + 1, noop_with_empty_axes=1)
    yield Case("LayerNormalization", X, positive(4), real(4), first=17)
    # The last extent of the image is 6: as many channels as groups would hide a mistake.
    yield Case("GroupNormalization", real(2, 6, 5), positive(3), real(3), first=18, num_groups=3)
    yield Case("GroupNormalization", real(2, 6, 2, 2), Const(positive(2)), Const(real(2)), first=18,
               num_groups=2, epsilon=0.1)
    yield Case("GroupNormalization", real(2, 6, 2, 2), Const(positive(2)), Const(real(2)), first=18,
               num_groups=2, open_shape=True, refused=True)
    for op in ("ArgMax", "ArgMin"):
        yield Case(op, X, axis=1)
    yield Case("TopK", X, k=2, axis=1, last=9, results=2)
    yield Case("TopK", X, Const(ints([2])), first=10, results=2)


def shape_cases():
    yield Case("Concat", X, real(2, 1, 4), axis=1)
    yield Case("Flatten", X, axis=2)
    yield Case("Gather", X, Const(ints([2, 0])), axis=1)
    yield Case("GatherElements", X, Const(ints([[[0, 1, 0, 1]]])), axis=0, first=11)
    yield Case("GatherND", X, Const(ints([[0, 1], [1, 2]])), first=11)
    yield Case("Reshape", X, Const(ints([0, -1])))
    yield Case("Reshape", real(0, 3), Const(ints([3, 0])), first=14, allowzero=1)
    yield Case("Transpose", X, perm=[2, 0, 1])
    yield Case("Squeeze", real(2, 1, 3, 1), axes=[1, 3], last=12)
    yield Case("Squeeze", real(2, 1, 3, 1))
    yield Case("Squeeze", real(2, 1, 3, 1), axes=[-1], first=11, last=12)
    yield Case("Squeeze", real(2, 1, 3, 1), Const(ints([1, -1])), first=13)
    yield Case("Unsqueeze", X, axes=[0, 4], last=12)
    yield Case("Unsqueeze", X, axes=[-1], first=11, last=12)
    yield Case("Unsqueeze", X, Const(ints([0, -1])), first=13)
    yield Case("Slice", X, starts=[0, 1], ends=[1, 1000], last=9)
    yield Case("Slice", X, starts=[-2], ends=[-1], axes=[2], last=9)
    yield Case("Slice", X, Const(ints([0])), Const(ints([3])), Const(ints([2])),
               Const(ints([2])), first=10)
    yield Case("Split", X, split=[1, 3], axis=2, results=2, last=12)
    yield Case("Split", X, Const(ints([1, 3])), axis=2, results=2, first=13)
    yield Case("Split", X, axis=2, results=2, last=17)
    yield Case("Split", X, axis=1, results=3, last=17)
    yield Case("Split", X, axis=1, results=2, num_outputs=2, first=18)
    yield Case("Pad", real(2, 3), pads=[0, 1, 2, 0], last=10)
    yield Case("Pad", real(2, 3), pads=[0, 1, 2, 0], value=1.5, last=10)
    yield Case("Pad", real(2, 3), pads=[0, 1, 1, 0], mode="reflect", last=10)
    yield Case("Pad", real(2, 3), Const(ints([0, 1, 2, 0])), Const(F(2)), first=11)
    for mode in ("constant", "reflect", "edge"):
        yield Case("Pad", real(3, 4), Const(ints([0, 1, 2, 1])), first=11, mode=mode)
    yield Case("Pad", real(3, 4), Const(ints([1, 2])), Const(F(2)), Const(ints([-1])), first=18)
    yield Case("Pad", real(3, 4), Const(ints([0, 1, 2, 1])), first=19, mode="wrap")
    yield Case("CenterCropPad", real(3, 4), Const(ints([5, 2])), first=18)
    yield Case("Col2Im", real(1, 5, 5), Const(ints([5, 5])), Const(ints([1, 5])), first=18)
    yield Case("Trilu", real(3, 4), first=14, upper=0)
    yield Case("DepthToSpace", real(1, 8, 2, 2), blocksize=2)
    yield Case("SpaceToDepth", IMAGE, blocksize=2)
    yield Case("Compress", X, Const(np.array([True, False, True])), axis=1, first=9)
    yield Case("ConstantOfShape", Const(ints([2, 3])), first=9)
    yield Case("EyeLike", real(3, 3), first=9)
    yield Case("OneHot", ints([0, 2]), Const(ints(3)), Const(ints([0, 1], F)), first=9)
    yield Case("Scatter", X, Const(ints([[[0, 1, 0, 1]]])), real(1, 1, 4), axis=0, first=9,
               last=10)
    yield Case("ScatterElements", X, Const(ints([[[0, 1, 0, 1]]])), real(1, 1, 4), first=11)
    yield Case("ScatterND", X, Const(ints([[0, 1], [1, 2]])), real(2, 4), first=11)
    for reduction in ("add", "mul"):
        yield Case("ScatterElements", X, Const(ints([[[0, 1, 0, 1]]])), real(1, 1, 4), first=16,
                   reduction=reduction)
        yield Case("ScatterND", X, Const(ints([[0, 1], [0, 1]])), real(2, 4), first=16,
                   reduction=reduction)
    yield Case("Range", Const(F(0)), Const(F(5)), Const(F(2)), first=11)
    yield Case("ReverseSequence", real(4, 3, 2), Const(ints([4, 2, 1])), first=10)
    yield Case("Unique", ints([2, 1, 1, 3], F), first=11, results=4)
    yield Case("Constant", value=numpy_helper.from_array(real(3)))
    yield Case("Constant", value_floats=[1.0, 2.0], first=12)


def pooling_attributes():
    """What may look at the edge."""
    for ceil_mode in (0, 1):
        for count_include_pad in (0, 1):
            for strides, pads in (([2, 2], [1, 1, 1, 1]), ([2, 2], [0, 0, 0, 0]),
                                  ([4, 4], [0, 1, 0, 1]), ([3, 3], [1, 1, 0, 0])):
                at_edge = {"count_include_pad": count_include_pad, "ceil_mode": ceil_mode}
                yield {"strides": strides, "pads": pads, "first": 10, **at_edge}
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield {"strides": [2, 2], "auto_pad": auto_pad, "count_include_pad": 1}


def counts_beyond_padding(attributes):
    """What changed in opset 19, in ONNX Runtime: the part of a window that is beyond the padding."""
    return attributes["count_include_pad"] and (
        attributes.get("ceil_mode") or attributes.get("auto_pad", "").startswith("SAME"))


def resize_cases():
    """With the operands of opset 11 and later."""
    sizes, scales = Const(ints([1, 2, 9, 4])), Const(ints([1, 1, 1.7, 0.6], F))
    for mode in ("nearest", "linear", "cubic"):
        for transformation in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            attributes = {"mode": mode, "coordinate_transformation_mode": transformation}
            yield Case("Resize", IMAGE, None, scales, first=13, **attributes)
            yield Case("Resize", IMAGE, None, None, sizes, first=13, **attributes)
    yield Case("Resize", IMAGE, Const(ints([], F)), Const(ints([], F)), sizes, first=11, last=12,
               coordinate_transformation_mode="tf_half_pixel_for_nn")
    for nearest_mode in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        yield Case("Resize", IMAGE, None, scales, first=13, nearest_mode=nearest_mode)
    yield Case("Resize", IMAGE, None, scales, first=13, mode="cubic", cubic_coeff_a=-0.5,
               exclude_outside=1)
    roi = Const(ints([0, 0, 0.1, 0.2, 1, 1, 0.8, 1.4], F))
    yield Case("Resize", IMAGE, roi, scales, first=13, mode="linear", extrapolation_value=2.0,
               coordinate_transformation_mode="tf_crop_and_resize")
    # Empty operands instead of none.
    yield Case("Resize", IMAGE, Const(ints([], F)), Const(ints([], F)), sizes, first=13)
    yield Case("Resize", IMAGE, Const(ints([], F)), scales, first=13)
    yield Case("Resize", IMAGE, None, Const(ints([1.5, 2], F)), first=18, axes=[2, 3])
    yield Case("Resize", IMAGE, None, scales, first=18, mode="linear", antialias=1)


def image_cases():
    yield from resize_cases()
    yield Case("Conv", IMAGE, real(3, 2, 3, 3), real(3), pads=[1, 1, 1, 1], strides=[2, 2])
    yield Case("ConvTranspose", IMAGE, real(2, 3, 3, 3), strides=[2, 2], output_padding=[1, 1])
    yield Case("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield Case("MaxPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2])
    yield Case("MaxPool", IMAGE, kernel_shape=[2, 2], strides=[2, 2], first=8, results=2)
    for attributes in pooling_attributes():
        refused = 21 if counts_beyond_padding(attributes) else False
        first = attributes.pop("first", 7)
        yield Case("AveragePool", IMAGE, kernel_shape=[3, 3], first=first, last=18,
                   refused=refused, **attributes)
        yield Case("AveragePool", IMAGE, kernel_shape=[3, 3], first=19, **attributes)
    yield Case("AveragePool", IMAGE, kernel_shape=[2, 2], dilations=[2, 2], first=19)
    yield Case("LpPool", IMAGE, kernel_shape=[2, 2])
    yield Case("LpPool", IMAGE, kernel_shape=[3, 3], pads=[1, 0, 1, 0], strides=[2, 2], p=1)
    yield Case("LpPool", IMAGE, kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2])
    for op in ("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"):
        yield Case(op, IMAGE)
    yield Case("MaxRoiPool", IMAGE, ints([[0, 0, 0, 3, 3]], F), pooled_shape=[2, 2])
    yield Case("MaxUnpool", ints([[[[1, 2], [3, 4]]]], F), Const(ints([[[[5, 7], [13, 15]]]])),
               kernel_shape=[2, 2], strides=[2, 2], first=9)
    boxes = ints([[0, 0, 3, 3], [1.2, 0.3, 4.1, 5.6]], F)
    for mode in ("avg", "max"):
        yield Case("RoiAlign", IMAGE, boxes, Const(ints([0, 0])), first=10, output_height=2,
                   output_width=3, mode=mode)
    yield Case("RoiAlign", IMAGE, boxes, Const(ints([0, 0])), first=16)
    yield Case("RoiAlign", IMAGE, boxes, Const(ints([0, 0])), first=16,
               coordinate_transformation_mode="output_half_pixel")
    for old, new in (("bilinear", "linear"), ("bicubic", "cubic"), ("nearest", "nearest")):
        for mode, opsets in ((old, {"first": 16, "last": 19}), (new, {"first": 20})):
            yield Case("GridSample", IMAGE, unit(1, 3, 4, 2), **opsets, mode=mode)
    yield Case("GridSample", IMAGE, unit(1, 3, 4, 2) * F(1.2), first=16, align_corners=1,
               padding_mode="reflection")
    yield Case("AffineGrid", real(1, 2, 3), Const(ints([1, 2, 4, 5])), first=20)
    yield Case("DeformConv", IMAGE, real(3, 2, 2, 2), real(1, 8, 5, 5), first=19)
    yield Case("Upsample", IMAGE, scales=[1.0, 1.0, 2.0, 2.0], last=8)
    yield Case("Upsample", IMAGE, scales=[1.0, 1.0, 1.5, 2.5], last=8)
    yield Case("Upsample", IMAGE, scales=[1.0, 1.0, 2.0, 2.0], mode="linear", last=8)
    yield Case("Upsample", IMAGE, Const(ints([1, 1, 2, 3], F)), first=9, last=9)
    yield Case("Upsample", IMAGE, Const(ints([1, 1, 2, 2], F)), first=9, last=9, mode="linear")
    yield Case("Resize", IMAGE, Const(ints([1, 1, 2, 1.7], F)), first=10, last=10)
    yield Case("Resize", IMAGE, Const(ints([1, 1, 0.6, 0.4], F)), first=10, last=10)
    yield Case("Resize", IMAGE, Const(ints([1, 1, 0.6, 2], F)), first=10, last=10, refused=True)
    yield Case("Resize", IMAGE, Const(ints([1, 1, 1.6, 0.5], F)), first=10, last=10,
               mode="linear")
    yield Case("Resize", IMAGE, Const(ints([], F)), Const(ints([1, 1, 2, 2], F)), first=11)
    yield Case("Resize", IMAGE, Const(ints([], F)), Const(ints([], F)),
               Const(ints([1, 2, 9, 4])), first=11, mode="linear")
    boxes = ints([[[0, 0, 1, 1], [0, 0, 1, 1.1], [5, 5, 6, 6]]], F)
    yield Case("NonMaxSuppression", boxes, ints([[[0.9, 0.8, 0.7]]], F), Const(ints(3)),
               Const(F(0.5)), Const(F(0.1)), first=10)


def matrix_cases():
    yield Case("MatMul", real(2, 3, 4), real(4, 5))
    yield Case("Gemm", real(2, 3), real(3, 4), real(4), alpha=0.5)
    yield Case("Einsum", real(2, 3), real(3, 4), first=12, equation="ij,jk->ik")
    signal = real(2, 8, 1)
    yield Case("DFT", signal, first=17, last=19)
    yield Case("DFT", real(2, 5, 8, 1), first=17, last=19, axis=2, onesided=1)
    yield Case("DFT", real(2, 5, 8, 1), Const(ints(4)), first=17, last=19, axis=-2)
    yield Case("DFT", real(2, 5, 8, 1), first=20)
    yield Case("STFT", signal, Const(ints(2)), None, Const(ints(4)), first=17)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        yield Case(op, Const(ints(5)), first=17)
    yield Case("MelWeightMatrix", Const(ints(3)), Const(ints(8)), Const(ints(16)), Const(F(1)),
               Const(F(6)), first=17)
    yield Case("StringConcat", np.array(["A", "b"], object), np.array(["c", ""], object), first=20)
    yield Case("StringSplit", np.array(["A b", "c"], object), first=20, results=2)
    yield Case("RegexFullMatch", np.array(["ab", "c"], object), first=20, pattern="a.*")
    recurrent = [("RNN", 1), ("GRU", 3), ("LSTM", 4)]
    for op, gates in recurrent:
        yield Case(op, real(4, 2, 3), real(1, gates * 5, 3), real(1, gates * 5, 5), results=2,
                   hidden_size=5)
    codes = ints([[1, 2], [3, 4]], np.uint8)
    yield Case("MatMulInteger", codes, codes, first=10)
    yield Case("ConvInteger", codes.reshape(1, 1, 2, 2), codes.reshape(1, 1, 2, 2), first=10)
    scale, zero = Const(F(0.5)), Const(np.uint8(1))
    yield Case("QuantizeLinear", positive(2, 3), scale, zero, first=10)
    yield Case("DequantizeLinear", codes, scale, zero, first=10)
    yield Case("DynamicQuantizeLinear", real(2, 3), first=11, results=3)
    yield Case("QLinearMatMul", codes, scale, zero, codes, scale, zero, scale, zero, first=10)
    yield Case("QLinearConv", codes.reshape(1, 1, 2, 2), scale, zero, codes.reshape(1, 1, 2, 2),
               scale, zero, scale, zero, first=10)
    yield Case("SoftmaxCrossEntropyLoss", real(3, 5), ints([0, 1, 4]), first=12)
    yield Case("NegativeLogLikelihoodLoss", real(3, 5), ints([0, 1, 4]), first=12)
    yield Case("TfIdfVectorizer", ints([1, 2, 1], np.int32), first=9, max_gram_length=1,
               max_skip_count=0, min_gram_length=1, mode="TF", ngram_counts=[0],
               ngram_indexes=[0, 1], pool_int64s=[1, 2])
    yield Case("StringNormalizer", np.array(["A", "b"], object), first=10,
               case_change_action="LOWER", locale="C")


def all_cases():
    for group in (unary_cases, elementwise_cases, normalization_cases, shape_cases, image_cases,
                  matrix_cases):
        yield from group()


SEQUENCES = {"SequenceConstruct", "SequenceAt", "SequenceErase", "SequenceInsert", "SequenceLength",
             "ConcatFromSequence", "SplitToSequence"}


def onnx_type(array):
    if array.dtype == object:
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def model_with(nodes, operands, results, opset, open_shape=False):
    """`nodes`, and a MatMul whose quantized weight asks for a later opset."""
    inputs, initializers, feeds = [], [], {}
    for name, operand in operands.items():
        if isinstance(operand, Const):
            initializers.append(numpy_helper.from_array(np.asarray(operand.value), name))
        else:
            shape = [None] * operand.ndim if open_shape else operand.shape
            inputs.append(helper.make_tensor_value_info(name, onnx_type(operand), shape))
            feeds[name] = operand
    inputs.append(helper.make_tensor_value_info("trigger", TensorProto.FLOAT, [1, 4]))
    feeds["trigger"] = np.zeros((1, 4), F)
    initializers.append(numpy_helper.from_array(real(4, 3), "w"))
    nodes = [*nodes, helper.make_node("MatMul", ["trigger", "w"], ["triggered"])]
    outputs = [onnx.ValueInfoProto(name=name) for name in [*results, "triggered"]]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(model)
    del model.graph.output[:]
    model.graph.output.extend(inferred.graph.output)
    return model, feeds


def case_model(case, opset):
    operands, names = {}, []
    for i, operand in enumerate(case.operands):
        names.append("" if operand is None else f"x{i}")
        if operand is not None:
            operands[f"x{i}"] = operand
    results = [f"y{i}" for i in range(case.results)]
    node = helper.make_node(case.op, names, results, "tested", **case.attributes)
    return model_with([node], operands, results, opset, case.open_shape)


def sequence_model(opset):
    nodes = [
        helper.make_node("SplitToSequence", ["x0"], ["s"], axis=0, keepdims=1),
        helper.make_node("SequenceConstruct", ["x0", "x0"], ["c"]),
        helper.make_node("SequenceAt", ["s", "one"], ["at"]),
        helper.make_node("SequenceInsert", ["s", "at"], ["longer"]),
        helper.make_node("SequenceErase", ["longer", "one"], ["shorter"]),
        helper.make_node("SequenceLength", ["shorter"], ["length"]),
        helper.make_node("ConcatFromSequence", ["c"], ["y"], axis=0),
    ]
    return model_with(nodes, {"x0": real(3, 2), "one": Const(ints(1))}, ["y", "length", "at"], opset)


def passes_checker(model):
    """Some operators that run fail in the checker, for lack of shape inference."""
    try:
        onnx.checker.check_model(model, full_check=True)
        return True
    except Exception:
        return False


def check(tool, model, feeds, folder, refused, target_opset):
    source, target = folder / "source.onnx", folder / "target.onnx"
    onnx.save(model, str(source))
    try:
        expected = roundtrip.session_of(source).run(None, feeds)
    except Exception as exception:
        return f"cannot run before the conversion: {exception}"
    bits = ["--16-bits"] if target_opset == 21 else []
    done = roundtrip.run_tool(tool, source, target, "--quantize-all", *bits)
    if done.returncode != 0:
        return done.stderr
    converted = "fallback" not in done.stdout
    if converted == refused:
        return done.stdout.strip()
    written = onnx.load(str(target))
    # onnx's own definition of this one has no shape inference in opset 13.
    if passes_checker(model) and model.graph.node[0].op_type != "MeanVarianceNormalization":
        onnx.checker.check_model(written, full_check=True)
    if converted and written.opset_import[0].version != target_opset:
        return f"opset {written.opset_import[0].version}"
    results = roundtrip.session_of(target).run(None, feeds)
    for a, b in zip(expected[:-1], results[:-1]):
        if a.dtype == object:
            same = np.array_equal(a, b)
        else:
            same = a.dtype == b.dtype and a.shape == b.shape and np.allclose(
                a, b, rtol=1e-6, atol=1e-6, equal_nan=True)
        if not same:
            return f"{a}\nbecame\n{b}"
    return ""


def check_real_model(tool, path, folder):
    """16-bit weights take it to opset 21, where it computes what it did with rounded weights."""
    return roundtrip.check_quantized(tool, path, folder, 21, ["--16-bits"])


def missing_operators():
    """Operators of opset 7 to 21 that are not tested here."""
    known = {case.op for case in all_cases()} | WITH_BODIES | NOT_RUN | SEQUENCES
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= 21 and schema.name not in known:
            yield schema.name


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ONNX_ROUNDTRIP")
    if not tool:
        print("the tool onnx_roundtrip was not named")
        sys.exit(77)
    passed = failed = 0

    def count(name, problem):
        nonlocal passed, failed
        if problem:
            failed += 1
            print(f"FAILED {name}: {problem}")
        else:
            passed += 1

    for name in sorted(set(missing_operators())):
        count(name, "there is no case for it")
    runs = [(f"{case.op} {case.attributes} of opset {opset} to {target}", case_model(case, opset),
             case.refused in (True, target), target)
            for case in all_cases() if case.op not in NOT_RUN
            for target in TARGETS for opset in range(case.first, min(case.last + 1, target))]
    runs += [(f"sequences of opset {opset}", sequence_model(opset), False, target)
             for target in TARGETS for opset in range(11, target)]
    with tempfile.TemporaryDirectory() as folder:
        for name, (model, feeds), refused, target in runs:
            try:
                problem = check(tool, model, feeds, pathlib.Path(folder), refused, target)
            except Exception as exception:  # a peer refused the converted model
                problem = f"{type(exception).__name__}: {exception}"
            count(name, problem)
    for path in models.real_models():
        with tempfile.TemporaryDirectory() as folder:
            count(path.name, check_real_model(tool, path, pathlib.Path(folder)))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
