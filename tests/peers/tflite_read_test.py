"""Operators of TFLite that ONNX can say exactly are read as what they are: ONNX Runtime computes of the
ONNX file what LiteRT does of the original, under the same names; and so does LiteRT of what is
written as TFLite again."""

import _peers

import json

import ml_dtypes
import numpy as np
import onnx
import onnxruntime

from _command import quadrant, run_tests, scratch
from _litert import run_litert
from _tflite_file import Tensor, file_of, flatbuffers, schema, tensors_of

RNG = np.random.default_rng(5)


def real(*shape, low=None):
    values = RNG.standard_normal(shape).astype(np.float32)
    return values if low is None else np.abs(values) + np.float32(low)


def whole(*shape, low=-9, high=10, dtype=np.int32):
    return RNG.integers(low, high, shape).astype(dtype)


def given(values):
    return Tensor(np.asarray(values), True)


def listed(*values):
    return given(np.array(values, np.int32))


def one(value, dtype=np.int32):
    return given(np.array(value, dtype))


def made(*shape, dtype=np.float32):
    return Tensor(np.zeros(shape, dtype))


IMAGE = real(2, 4, 6, 3)
X = Tensor(IMAGE)
INTEGERS = whole(3, 4)
I = Tensor(INTEGERS)
UNORDERED = np.float32([[3, 1, 3, 2], [0, -1, 5, 5], [2, 2, 2, 1]])
BOOLEANS = RNG.integers(0, 2, (3, 4)).astype(bool)
NONZERO = Tensor(np.where(INTEGERS == 0, 3, INTEGERS).astype(np.int32))
SMALL = np.where(np.abs(UNORDERED) < 0.5, np.float32(0.75), UNORDERED)
RELU = schema.ActivationFunctionType.RELU
SAME = schema.Padding.SAME
VALID = schema.Padding.VALID


def strided(begin, end, step, shape, **masks):
    return ([X, listed(*begin), listed(*end), listed(*step)], made(*shape), "StridedSliceOptions", masks)


# operator -> by name: inputs, outputs, the table of options, its fields
OPERATORS = {
    "ADD_N": {"reals": ([X, X, X], made(2, 4, 6, 3), "AddNOptions"), "integers": ([I, I, I], made(3, 4, dtype=np.int32))},
    "BATCH_MATMUL": {name: ([Tensor(real(2, *a)), Tensor(real(2, *b))], made(2, 3, 5), "BatchMatMulOptions",
                            dict(adjX=x, adjY=y))
                     for name, a, b, x, y in (("plain", (3, 4), (4, 5), False, False),
                                              ("left", (4, 3), (4, 5), True, False),
                                              ("right", (3, 4), (5, 4), False, True))},
    "BATCH_TO_SPACE_ND": {
        "plain": ([Tensor(real(8, 2, 3, 3)), listed(2, 2), given(np.zeros((2, 2), np.int32))], made(2, 4, 6, 3)),
        "cropped": ([Tensor(real(8, 2, 3, 3)), listed(2, 2), given(np.int32([[1, 0], [0, 2]]))], made(2, 3, 4, 3)),
        "line": ([Tensor(real(6, 4, 3)), listed(3), given(np.int32([[1, 1]]))], made(2, 10, 3))},
    "BITWISE_XOR": {"bytes": ([Tensor(whole(3, 4, dtype=np.int8)), Tensor(whole(3, 4, dtype=np.int8))],
                              made(3, 4, dtype=np.int8), "BitwiseXorOptions")},
    "BUCKETIZE": {"reals": ([Tensor(UNORDERED)], made(3, 4, dtype=np.int32), "BucketizeOptions",
                            dict(boundaries=[0.0, 1.0, 2.5]))},
    "CONV_3D": {name: ([Tensor(real(1, 4, 5, 6, 2)), given(real(2, 3, 2, 2, 4)), given(real(4))], made(*shape),
                       "Conv3DOptions", dict(padding=padding, strideD=1, strideH=2, strideW=1,
                                             dilationDFactor=1, dilationHFactor=1, dilationWFactor=1))
                for name, padding, shape in (("valid", VALID, (1, 3, 2, 5, 4)), ("same", SAME, (1, 4, 3, 6, 4)))},
    "CUMSUM": {f"{exclusive}_{reverse}": ([X, one(2)], made(2, 4, 6, 3), "CumsumOptions",
                                          dict(exclusive=exclusive, reverse=reverse))
               for exclusive in (False, True) for reverse in (False, True)},
    "DYNAMIC_UPDATE_SLICE": {name: ([Tensor(UNORDERED), Tensor(real(2, 2)), listed(*start)], made(3, 4),
                                    "DynamicUpdateSliceOptions")
                             for name, start in (("inside", (1, 1)), ("beyond", (2, 9)), ("before", (-1, 0)))},
    "EMBEDDING_LOOKUP": {"rows": ([Tensor(np.int32([2, 0, 2])), given(UNORDERED)], made(3, 4))},
    "EXPAND_DIMS": {"middle": ([X, one(1)], made(2, 1, 4, 6, 3), "ExpandDimsOptions")},
    "FILL": {"reals": ([listed(2, 3), Tensor(np.array(1.5, np.float32))], made(2, 3), "FillOptions")},
    "FLOOR_DIV": {"integers": ([I, NONZERO], made(3, 4, dtype=np.int32), "FloorDivOptions"),
                  "reals": ([Tensor(UNORDERED), Tensor(SMALL)], made(3, 4), "FloorDivOptions")},
    "FLOOR_MOD": {"integers": ([I, NONZERO], made(3, 4, dtype=np.int32), "FloorModOptions"),
                  "reals": ([Tensor(real(3, 4)), Tensor(SMALL)], made(3, 4), "FloorModOptions")},
    "GATHER": {"batched": ([Tensor(UNORDERED), Tensor(np.int32([[1, 0], [3, 3], [2, 1]]))], made(3, 2),
                           "GatherOptions", dict(axis=1, batchDims=1))},
    "L2_NORMALIZATION": {"reals": ([X], made(2, 4, 6, 3), "L2NormOptions"),
                         "zeros": ([Tensor(np.float32([[0, 0], [1e-8, 0], [3, 4]]))], made(3, 2), "L2NormOptions")},
    "L2_POOL_2D": {name: ([X], made(*shape), "Pool2DOptions", dict(padding=padding, strideH=2, strideW=2,
                                                                   filterHeight=3, filterWidth=3))
                   for name, padding, shape in (("valid", VALID, (2, 1, 2, 3)), ("same", SAME, (2, 2, 3, 3)))},
    "LOCAL_RESPONSE_NORMALIZATION": {"reals": ([Tensor(real(1, 2, 2, 9))], made(1, 2, 2, 9),
                                               "LocalResponseNormalizationOptions",
                                               dict(radius=2, bias=1.5, alpha=0.3, beta=0.6))},
    "MATRIX_DIAG": {"rows": ([Tensor(UNORDERED)], made(3, 4, 4), "MatrixDiagOptions")},
    "MATRIX_SET_DIAG": {"square": ([Tensor(real(2, 3, 3)), Tensor(real(2, 3))], made(2, 3, 3),
                                   "MatrixSetDiagOptions")},
    "MIRROR_PAD": {name: ([X, given(np.int32([[0, 0], [2, 1], [1, 2], [0, 0]]))], made(2, 7, 9, 3), "MirrorPadOptions",
                          dict(mode=mode)) for name, mode in (("reflect", 0), ("symmetric", 1))},
    "ONE_HOT": {f"axis{axis}": ([Tensor(np.int32([[1, -1, 4], [0, 2, 3]])), one(4), one(2, np.float32),
                                 one(-1, np.float32)], made(*shape), "OneHotOptions", dict(axis=axis))
                for axis, shape in ((-1, (2, 3, 4)), (0, (4, 2, 3)), (1, (2, 4, 3)))},
    "PACK": {f"axis{axis}": ([X, X], made(*shape), "PackOptions", dict(valuesCount=2, axis=axis))
             for axis, shape in ((0, (2, 2, 4, 6, 3)), (-1, (2, 4, 6, 3, 2)), (2, (2, 4, 2, 6, 3)))},
    "PADV2": {"single": ([X, given(np.int32([[0, 0], [1, 0], [0, 2], [0, 0]])), one(2.5, np.float32)], made(2, 5, 8, 3),
                         "PadV2Options"),
              "list": ([X, given(np.int32([[0, 0], [1, 0], [0, 2], [0, 0]])), given(np.float32([2.5]))],
                       made(2, 5, 8, 3), "PadV2Options")},
    "RANGE": {"integers": ([one(2), one(11), one(3)], made(3, dtype=np.int32), "RangeOptions")},
    "RANK": {"image": ([X], made(dtype=np.int32), "RankOptions")},
    "REDUCE_ALL": {"rows": ([Tensor(BOOLEANS), listed(1)], made(3, dtype=bool), "ReducerOptions")},
    "REDUCE_ANY": {"kept": ([Tensor(BOOLEANS), listed(0)], made(1, 4, dtype=bool), "ReducerOptions",
                            dict(keepDims=True))},
    "RESIZE_NEAREST_NEIGHBOR": {name: ([X, listed(7, 9)], made(2, 7, 9, 3), "ResizeNearestNeighborOptions", fields)
                                for name, fields in (("plain", {}), ("corners", dict(alignCorners=True)),
                                                     ("half", dict(halfPixelCenters=True)))},
    "REVERSE_SEQUENCE": {"time_first": ([X, Tensor(np.int32([1, 4]))], made(2, 4, 6, 3), "ReverseSequenceOptions",
                                        dict(seqDim=1, batchDim=0)),
                         "batch_last": ([X, Tensor(np.int32([1, 4, 3]))], made(2, 4, 6, 3), "ReverseSequenceOptions",
                                        dict(seqDim=2, batchDim=3))},
    "REVERSE_V2": {"one": ([X, listed(2)], made(2, 4, 6, 3)), "first": ([X, listed(0)], made(2, 4, 6, 3))},
    "SCATTER_ND": {"added": ([given(np.int32([[1], [3], [1]])), Tensor(real(3, 2)), listed(5, 2)], made(5, 2),
                             "ScatterNdOptions")},
    "SEGMENT_SUM": {"rows": ([Tensor(UNORDERED), given(np.int32([0, 0, 1]))], made(2, 4), "SegmentSumOptions")},
    "SELECT": {"same": ([Tensor(BOOLEANS), Tensor(UNORDERED), Tensor(SMALL + 1)], made(3, 4), "SelectOptions"),
               "rows": ([Tensor(BOOLEANS[:, 0]), Tensor(UNORDERED), Tensor(SMALL + 1)], made(3, 4), "SelectOptions")},
    "SLICE": {"sizes": ([X, listed(0, 1, 2, 0), listed(2, 2, -1, 3)], made(2, 2, 4, 3), "SliceOptions")},
    "SOFTMAX": {"steep": ([X], made(2, 4, 6, 3), "SoftmaxOptions", dict(beta=2.5))},
    "SPACE_TO_BATCH_ND": {
        "plain": ([X, listed(2, 3), given(np.zeros((2, 2), np.int32))], made(12, 2, 2, 3)),
        "padded": ([X, listed(3, 2), given(np.int32([[1, 1], [0, 2]]))], made(12, 2, 4, 3)),
        "line": ([Tensor(real(2, 4, 3)), listed(3), given(np.int32([[1, 1]]))], made(6, 2, 3))},
    "SPARSE_TO_DENSE": {"rows": ([given(np.int32([[0, 1], [2, 3]])), listed(3, 4), Tensor(real(2)),
                                  one(-1, np.float32)], made(3, 4), "SparseToDenseOptions")},
    "SQUARE": {"reals": ([X], made(2, 4, 6, 3), "SquareOptions")},
    "SQUARED_DIFFERENCE": {"row": ([X, Tensor(real(3))], made(2, 4, 6, 3), "SquaredDifferenceOptions"),
                           "integers": ([I, NONZERO], made(3, 4, dtype=np.int32), "SquaredDifferenceOptions")},
    "STRIDED_SLICE": {
        "shrunk": strided((0, 1, 0, -1), (2, 2, 6, 0), (1, 1, 2, 1), (2, 3), shrinkAxisMask=10),
        "masks": strided((1, 1, 1, 1), (1, 1, 5, 3), (1, 2, 2, 1), (2, 2, 2, 3), beginMask=9, endMask=3),
        "backwards": strided((1, 3, 5, 2), (0, 0, 0, 0), (-1, -1, -2, -1), (2, 4, 3, 3), endMask=15),
        "new_axis": strided((0, 0, 1), (2, 0, 3), (1, 1, 1), (2, 1, 2, 6, 3), newAxisMask=2),
        "ellipsis": strided((1, 0, 0), (2, 0, 2), (1, 1, 1), (1, 4, 6, 2), ellipsisMask=2)},
    "TOPK_V2": {"ties": ([Tensor(UNORDERED), one(2)], [made(3, 2), made(3, 2, dtype=np.int32)], "TopKV2Options"),
                "integers": ([I, one(3)], [made(3, 3, dtype=np.int32), made(3, 3, dtype=np.int32)])},
    "UNIQUE": {"integers": ([Tensor(np.int32([3, 1, 3, 7, 1]))], [made(3, dtype=np.int32), made(5, dtype=np.int32)],
                            "UniqueOptions", dict(idxOutType=2))},
    "UNPACK": {f"axis{axis}": ([X], [made(*shape) for _ in range(count)], "UnpackOptions", dict(num=count, axis=axis))
               for axis, count, shape in ((0, 2, (4, 6, 3)), (-1, 3, (2, 4, 6)))},
    "WHERE": {"booleans": ([Tensor(BOOLEANS)], Tensor(np.zeros((BOOLEANS.sum(), 2), np.int64), signature=(-1, 2)),
                           "WhereOptions")},
    "ZEROS_LIKE": {"image": ([X], made(2, 4, 6, 3), "ZerosLikeOptions")},
}

SCALE = dict(scale=0.25, zero=3)
CODES = Tensor(whole(2, 4, 6, 3, low=-128, high=128, dtype=np.int8), **SCALE)


def coded(*shape, **parameters):
    return Tensor(np.zeros(shape, np.int8), **(parameters or SCALE))


# What moves codes: the file is read, and written as TFLite again.
MOVES = {
    "PACK": ([CODES, CODES], coded(2, 2, 4, 6, 3), "PackOptions", dict(valuesCount=2, axis=1)),
    "UNPACK": ([CODES], [coded(2, 6, 3) for _ in range(4)], "UnpackOptions", dict(num=4, axis=1)),
    "SLICE": ([CODES, listed(0, 1, 2, 0), listed(2, 2, -1, 3)], coded(2, 2, 4, 3), "SliceOptions"),
    "REVERSE_V2": ([CODES, listed(1)], coded(2, 4, 6, 3)),
    "SPACE_TO_BATCH_ND": ([CODES, listed(3, 2), given(np.int32([[1, 1], [0, 2]]))], coded(12, 2, 4, 3)),
    "BATCH_TO_SPACE_ND": ([Tensor(whole(8, 2, 3, 3, low=-128, high=128, dtype=np.int8), **SCALE), listed(2, 2),
                           given(np.int32([[1, 0], [0, 2]]))], coded(2, 3, 4, 3)),
    "MIRROR_PAD": ([CODES, given(np.int32([[0, 0], [2, 1], [1, 2], [0, 0]]))], coded(2, 7, 9, 3), "MirrorPadOptions",
                   dict(mode=1)),
    "SOFTMAX": ([Tensor(CODES.values, scale=0.03, zero=3)], coded(2, 4, 6, 3, scale=1 / 256, zero=-128),
                "SoftmaxOptions", dict(beta=2.0)),
}


def write(folder, operator, inputs, outputs, options=None, fields=()):
    (folder / "m.tflite").write_bytes(file_of(operator, inputs, outputs, options, **dict(fields)))
    feeds = {f"t{i}": tensor.values for i, tensor in enumerate(inputs) if not tensor.constant}
    return feeds, run_litert(folder / "m.tflite", feeds)


def same(found, expected, name, tolerance=1e-5):
    assert list(found) == list(expected), f"{name}: outputs {list(found)}, not {list(expected)}"
    for key, want in expected.items():
        have = found[key]
        assert have.dtype == want.dtype and have.shape == want.shape, (
            f"{name}, {key}: {have.dtype}{have.shape}, not {want.dtype}{want.shape}")
        if want.dtype == bool:
            assert np.array_equal(have, want), f"{name}, {key}"
            continue
        worst = np.abs(have.astype(np.float64) - want).max(initial=0)
        assert worst <= tolerance, f"{name}, {key}: {worst} off"


def check(operator, *arguments):
    with scratch() as folder:
        feeds, expected = write(folder, operator, *arguments)
        done = quadrant("convert", folder / "m.tflite", folder / "m.onnx")
        assert done.returncode == 0, done.stderr
        onnx.checker.check_model(folder / "m.onnx")
        session = onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_outputs()]
        same(dict(zip(names, session.run(names, feeds))), expected, "ONNX")
        done = quadrant("convert", folder / "m.tflite", folder / "n.tflite")
        assert done.returncode == 0, done.stderr
        same(run_litert(folder / "n.tflite", feeds), expected, "TFLite")


def check_codes(operator, *arguments):
    with scratch() as folder:
        feeds, expected = write(folder, operator, *arguments)
        done = quadrant("inspect", folder / "m.tflite", "--text")
        assert done.returncode == 0 and "tflite." not in done.stdout, done.stdout + done.stderr
        done = quadrant("convert", folder / "m.tflite", folder / "n.tflite")
        assert done.returncode == 0, done.stderr
        same(run_litert(folder / "n.tflite", feeds), expected, "TFLite", 1 if operator == "SOFTMAX" else 0)


def check_two_bits(shape, scale, dtype):
    """Weights of int2, as other tools write them: to LiteRT the same as of int8, read and written as they came."""
    codes = RNG.integers(-2, 2, shape)
    data = Tensor(whole(4, shape[1], low=-30, high=30, dtype=dtype), scale=.5)
    result = Tensor(np.zeros((4, shape[0]), dtype), scale=.5)

    def given_as(kind):
        inputs = [data, Tensor(codes.astype(kind), True, scale=scale)]
        return write(folder, "FULLY_CONNECTED", inputs, result, "FullyConnectedOptions", dict(version=14))[1]

    with scratch() as folder:
        wide, expected = given_as(np.int8), given_as(ml_dtypes.int2)
        same(expected, wide, "LiteRT", 0)
        done = quadrant("convert", folder / "m.tflite", folder / "n.tflite")
        assert done.returncode == 0, done.stderr
        # There is a bias of 0 then, beside which LiteRT rounds sums of 16 bits otherwise.
        same(run_litert(folder / "n.tflite", {"t0": data.values}), expected, "TFLite", int(dtype == np.int16))
        (before,), (after,) = ([tensor[:3] for tensor in tensors_of(folder / f"{name}.tflite").values()
                                if tensor[0] == "INT2"] for name in "mn")
        assert before == after
        listed = json.loads(quadrant("inspect", folder / "m.tflite", "--json").stdout)
        assert listed["constants_by_element"] == [
            {"element": "i2", "count": 1, "elements": codes.size, "bytes": len(before[2])}], listed


def test_two_bits():
    for shape in ((3, 5), (1, 1), (8, 32)):
        for dtype in (np.int8, np.int16):
            yield f"{shape}_{dtype.__name__}", check_two_bits, shape, .3, dtype
            scales = np.linspace(.3, .7, shape[0], dtype=np.float32)
            yield f"{shape}_{dtype.__name__}_channels", check_two_bits, shape, scales, dtype


def test_read():
    for operator, cases in OPERATORS.items():
        for name, arguments in cases.items():
            yield f"{operator}_{name}", check, operator, *arguments


def test_read_codes():
    for operator, arguments in MOVES.items():
        yield operator, check_codes, operator, *arguments


def half_model(path, users):
    """Weights and biases as a converter's float16 option leaves them, read by as many products."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    kinds = []
    for name in ("DEQUANTIZE", "FULLY_CONNECTED"):
        kind = schema.OperatorCodeT()
        kind.builtinCode = kind.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, name)
        kind.version = 3 if name == "DEQUANTIZE" else 1
        kinds.append(kind)
    model.version, model.operatorCodes, model.subgraphs = 3, kinds, [graph]
    model.buffers, graph.tensors, graph.operators = [schema.BufferT()], [], []

    def tensor(name, shape, values=None):
        made = schema.TensorT()
        made.name, made.shape, made.buffer = name, list(shape), 0
        made.type = schema.TensorType.FLOAT32
        if values is not None:
            made.type = schema.TensorType.FLOAT16
            contents = schema.BufferT()
            contents.data = list(values.astype(np.float16).tobytes())
            made.buffer = len(model.buffers)
            model.buffers.append(contents)
        graph.tensors.append(made)
        return len(graph.tensors) - 1

    def operator(kind, inputs, output, options=None):
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = kind, inputs, [output]
        if options:
            made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            made.builtinOptions = getattr(schema, f"{options}T")()
        graph.operators.append(made)

    weight, bias = tensor("w", (64, 64)), tensor("b", (64,))
    operator(0, [tensor("w_half", (64, 64), real(64, 64))], weight, "DequantizeOptions")
    operator(0, [tensor("b_half", (64,), real(64))], bias, "DequantizeOptions")
    last = first = tensor("x", (2, 64))
    for i in range(users):
        made = tensor(f"y{i}", (2, 64))
        operator(1, [last, weight, bias], made, "FullyConnectedOptions")
        last = made
    graph.inputs, graph.outputs = [first], [last]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))


def check_half(users):
    with scratch() as folder:
        half_model(folder / "m.tflite", users)
        feeds = {"x": real(2, 64)}
        expected = run_litert(folder / "m.tflite", feeds)
        largest = max(float(np.abs(value).max()) for value in expected.values())
        done = quadrant("convert", folder / "m.tflite", folder / "m.onnx")
        assert done.returncode == 0, done.stderr
        session = onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_outputs()]
        same(dict(zip(names, session.run(names, feeds))), expected, "ONNX", 1e-5 * largest)
        for options, size in (((), 1.1), (("--scheme", "weight-only"), 0.75)):
            done = quadrant("convert", folder / "m.tflite", folder / "n.tflite", *options)
            assert done.returncode == 0, done.stderr
            found = run_litert(folder / "n.tflite", feeds)
            same(found, expected, str(options), (0.1 if options else 1e-5) * largest)
            before, after = ((folder / name).stat().st_size for name in ("m.tflite", "n.tflite"))
            assert after <= size * before, f"{options}: {before} bytes became {after}"


def test_float16_weights():
    yield "one", check_half, 1
    yield "shared", check_half, 3


if __name__ == "__main__":
    run_tests(globals())
