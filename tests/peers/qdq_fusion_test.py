"""Each rule of qdq_fusion holds in the runtime that it is about: a model of one operation between
DequantizeLinear and QuantizeLinear is fused, and what the runtime's integer kernel computes is what
ONNX Runtime computes for the model as it was, to one step.
"""

import _peers

import json
import subprocess
import zlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _litert
from _command import COMMAND, run_tests, scratch
from _models import SHARED, session_of
from _saturation import exact

RNG = np.random.default_rng(20261122)
OPSET = 21
TYPES = {"i8": np.int8, "u8": np.uint8, "i16": np.int16}
SHAPE = (1, 4, 6, 6)
# Kernels of LiteRT that round twice: the mean and its scale.
TWO_STEPS = {"onnx.GlobalAveragePool", "onnx.ReduceMean"}

def parameters(storage, spread):
    """Scale and zero point for values of about -spread to spread."""
    if storage == "i16":
        return spread / 32000, 0
    return spread / 120, {"i8": 7, "u8": 131}[storage]


class Model:
    """One operation between dequantized operands and quantized results."""

    def __init__(self, storage):
        self.storage, self.nodes, self.constants = storage, [], []
        self.inputs, self.outputs, self.feeds = [], [], {}

    def constant(self, name, data):
        self.constants.append(numpy_helper.from_array(data, name))
        return name

    def scales(self, name, scale, zero_point, kind):
        return [self.constant(f"{name}_scale", np.float32(scale)),
                self.constant(f"{name}_zero", np.array(zero_point, kind))]

    def data(self, name, tensor, shape=SHAPE):
        kind = TYPES[self.storage]
        limits = np.iinfo(kind)
        self.inputs.append(helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape))
        low, high = (limits.min, limits.max) if kind != np.int16 else (-32000, 32000)
        self.feeds[name] = RNG.integers(low, high + 1, shape).astype(kind)
        self.nodes.append(helper.make_node(
            "DequantizeLinear", [name, *self.scales(name, *tensor, kind)], [f"{name}_real"]))
        return f"{name}_real"

    def weight(self, name, codes, scale):
        self.constant(name, codes)
        self.nodes.append(helper.make_node(
            "DequantizeLinear", [name, *self.scales(name, scale, 0, codes.dtype)], [f"{name}_real"]))
        return f"{name}_real"

    def node(self, operation, operands, results=1, **attributes):
        names = [f"r{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(operation, operands, names, **attributes))
        return names if results > 1 else names[0]

    def result(self, name, tensor):
        kind = TYPES[self.storage]
        made = f"{name}_codes"
        self.nodes.append(helper.make_node(
            "QuantizeLinear", [name, *self.scales(name, *tensor, kind)], [made]))
        self.output(made, helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def output(self, name, kind):
        self.outputs.append(helper.make_tensor_value_info(name, kind, None))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                  ir_version=10)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


# --- one model for each rule -------------------------------------------------------------------------

BUILDERS = {}


def builds(*kinds):
    def add(function):
        BUILDERS.update(dict.fromkeys(kinds, function))
        return function
    return add


def weights(shape, storage):
    kind = np.uint8 if storage == "u8" else np.int8
    low = 0 if kind == np.uint8 else -127
    return RNG.integers(low, low + 255, shape).astype(kind)


@builds("conv")
def convolution(model, kind):
    x = model.data("x", parameters(model.storage, 2))
    w = model.weight("w", weights((5, 4, 3, 3), model.storage), 0.01)
    model.result(model.node("Conv", [x, w], kernel_shape=[3, 3]), parameters(model.storage, 20))


@builds("conv_transpose")
def transposed_convolution(model, kind):
    x = model.data("x", parameters(model.storage, 2))
    w = model.weight("w", weights((4, 5, 2, 2), model.storage), 0.01)
    model.result(model.node("ConvTranspose", [x, w], strides=[2, 2]), parameters(model.storage, 9))


@builds("gemm")
def gemm(model, kind):
    x = model.data("x", parameters(model.storage, 2), (3, 8))
    w = model.weight("w", weights((8, 5), model.storage), 0.01)
    model.result(model.node("Gemm", [x, w]), parameters(model.storage, 9))


@builds("matmul")
def matrix_product(model, kind):
    x = model.data("x", parameters(model.storage, 2), (2, 3, 8))
    if model.storage == "i16":
        y = model.weight("w", weights((8, 5), "i8"), 0.01)
        model.result(model.node("MatMul", [x, y]), parameters(model.storage, 9))
        return
    y = model.data("y", parameters(model.storage, 1), (2, 8, 5))
    model.result(model.node("MatMul", [x, y]), parameters(model.storage, 9))


@builds("add", "onnx.Sub", "multiply")
def binary(model, kind):
    operation = {"add": "Add", "multiply": "Mul"}.get(kind, "Sub")
    x = model.data("x", parameters(model.storage, 2))
    y = model.data("y", parameters(model.storage, 3), (1, 4, 1, 1))
    model.result(model.node(operation, [x, y]), parameters(model.storage, 5))


@builds("onnx.PRelu")
def slopes(model, kind):
    x = model.data("x", parameters(model.storage, 2))
    w = model.weight("w", weights((4, 1, 1), model.storage), 0.002)
    model.result(model.node("PRelu", [x, w]), parameters(model.storage, 2))


CURVES = {"onnx.Relu": {}, "onnx.LeakyRelu": {"alpha": 0.1}, "onnx.HardSwish": {}, "onnx.Elu": {},
          "onnx.Gelu": {}, "onnx.Exp": {}, "onnx.Abs": {}, "onnx.GlobalAveragePool": {}}


@builds(*CURVES)
def curve(model, kind):
    x = model.data("x", parameters(model.storage, 2))
    same = kind == "onnx.Relu" and model.target == "onnx-qoperator"
    model.result(model.node(kind[len("onnx."):], [x], **CURVES[kind]),
                 parameters(model.storage, 2 if same else 3))


@builds("onnx.Log", "onnx.Sqrt")
def of_positive(model, kind):
    x = model.data("x", (0.05, -128))
    model.result(model.node(kind[len("onnx."):], [x]), parameters(model.storage, 4))


@builds("onnx.Clip")
def clip(model, kind):
    x = model.data("x", parameters(model.storage, 9))
    bounds = [model.constant("low", np.float32(0)), model.constant("high", np.float32(6))]
    same = model.target == "onnx-qoperator" or model.storage == "i16"
    model.result(model.node("Clip", [x, *bounds]), parameters(model.storage, 9 if same else 5))


@builds("onnx.ReduceMean", "onnx.ReduceSum", "onnx.ReduceMax", "onnx.ReduceMin")
def reduction(model, kind):
    x = model.data("x", parameters(model.storage, 2))
    axes = model.constant("axes", np.array([2, 3], np.int64))
    spread = {"onnx.ReduceSum": 20}.get(kind, 2)
    model.result(model.node(kind[len("onnx."):], [x, axes]), parameters(model.storage, spread))


MOVES = {
    "onnx.AveragePool": ("AveragePool", [], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "onnx.MaxPool": ("MaxPool", [], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "onnx.GlobalMaxPool": ("GlobalMaxPool", [], {}),
    "transpose": ("Transpose", [], {"perm": [0, 3, 1, 2]}),
    "identity": ("Identity", [], {}),
    "reshape": ("Reshape", [np.array([4, 36], np.int64)], {}),
    "squeeze": ("Squeeze", [np.array([0], np.int64)], {}),
    "unsqueeze": ("Unsqueeze", [np.array([0], np.int64)], {}),
    "flatten": ("Flatten", [], {}),
    "expand": ("Expand", [np.array([3, 4, 6, 6], np.int64)], {}),
    "slice": ("Slice", [np.array([1], np.int64), np.array([5], np.int64), np.array([2], np.int64),
                        np.array([2], np.int64)], {}),
    "gather": ("Gather", [np.array([2, 0], np.int64)], {"axis": 1}),
    "onnx.GatherND": ("GatherND", [np.array([[0, 2], [0, 1]], np.int64)], {}),
    "onnx.Tile": ("Tile", [np.array([1, 2, 1, 1], np.int64)], {}),
    "onnx.DepthToSpace": ("DepthToSpace", [], {"blocksize": 2}),
    "onnx.SpaceToDepth": ("SpaceToDepth", [], {"blocksize": 2}),
    "onnx.Pad": ("Pad", [np.array([0, 0, 1, 1, 0, 0, 2, 1], np.int64)], {}),
    "onnx.Resize": ("Resize", ["", np.array([1, 1, 2, 2], np.float32)],
                    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                     "nearest_mode": "floor"}),
}


@builds(*MOVES)
def move(model, kind):
    operation, constants, attributes = MOVES[kind]
    same = parameters(model.storage, 2)
    x = model.data("x", same)
    operands = [given if isinstance(given, str) else model.constant(f"c{i}", given)
                for i, given in enumerate(constants)]
    model.result(model.node(operation, [x, *operands], **attributes), same)


@builds("split")
def split(model, kind):
    same = parameters(model.storage, 2)
    x = model.data("x", same)
    sizes = model.constant("sizes", np.array([1, 3], np.int64))
    for part in model.node("Split", [x, sizes], 2, axis=1):
        model.result(part, same)


@builds("onnx.Max", "onnx.Min", "concat", "onnx.Where")
def several(model, kind):
    same = parameters(model.storage, 2)
    operands = [model.data("x", same), model.data("y", same)]
    if kind == "concat":
        result = model.node("Concat", operands, axis=1)
    elif kind == "onnx.Where":
        choice = model.constant("choice", RNG.integers(0, 2, SHAPE).astype(bool))
        result = model.node("Where", [choice, *operands])
    else:
        result = model.node(kind[len("onnx."):], operands)
    model.result(result, same)


FIXED = {"onnx.Sigmoid": (1 / 256, {"i8": -128, "u8": 0}), "onnx.Tanh": (1 / 128, {"i8": 0, "u8": 128}),
         "onnx.Softmax": (1 / 256, {"i8": -128, "u8": 0}),
         "onnx.LogSoftmax": (16 / 256, {"i8": 127, "u8": 255})}


@builds(*FIXED)
def fixed(model, kind):
    x = model.data("x", parameters(model.storage, 4))
    scale, zeros = FIXED[kind]
    tensor = (1 / 32768, 0) if model.storage == "i16" else (scale, zeros[model.storage])
    model.result(model.node(kind[len("onnx."):], [x]), tensor)


@builds("onnx.Equal", "onnx.Greater", "onnx.GreaterOrEqual", "onnx.Less", "onnx.LessOrEqual")
def comparison(model, kind):
    same = parameters(model.storage, 2)
    made = model.node(kind[len("onnx."):], [model.data("x", same), model.data("y", same)])
    model.output(made, TensorProto.BOOL)


@builds("onnx.ArgMax", "onnx.ArgMin")
def place(model, kind):
    made = model.node(kind[len("onnx."):], [model.data("x", parameters(model.storage, 2))], axis=1)
    model.output(made, TensorProto.INT64)


# --- running -----------------------------------------------------------------------------------------


def convert(source, target, name, *options):
    done = subprocess.run([str(COMMAND), "convert", str(source), str(target), "--target", name, "--json",
                           *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr.strip()
    return json.loads(done.stdout)


def run_litert(path, feeds, accepted=frozenset()):
    kinds = set(_litert.operators_of(path))
    assert not kinds & {"QUANTIZE", "DEQUANTIZE"} - accepted, sorted(kinds)
    return _litert.run_litert(path, feeds)


def run_onnxruntime(path, feeds):
    session = exact(session_of(path), path)
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def check(target, rule, storage):
    # Codes of its own for each rule, whichever rules there are besides.
    global RNG
    RNG = np.random.default_rng(zlib.crc32(f"{target} {rule['operation']} {storage}".encode()))
    model = Model(storage)
    model.target = target
    BUILDERS[rule["operation"]](model, rule["operation"])
    with scratch() as folder:
        check_in(folder, target, rule, model)


def check_in(folder, target, rule, model):
    source = folder / "model.onnx"
    model.save(source)
    # As it is written: without the fusions that the runtime makes itself.
    wanted = run_onnxruntime(source, model.feeds)
    made = folder / ("made.onnx" if target == "onnx-qoperator" else "made.tflite")
    document = convert(source, made, target)
    for row in document["fused"]["operations"]:
        assert row["on_codes"], f"{row['name']}: {row['reason']}"
    run = run_onnxruntime if target == "onnx-qoperator" else run_litert
    outputs = run(made, model.feeds)
    steps = 2 if rule["operation"] in TWO_STEPS else 1
    for name, values in wanted.items():
        worst = np.max(np.abs(outputs[name].astype(np.int64) - values.astype(np.int64)))
        assert worst <= steps, f"{name}: {worst} steps"
    if target == "onnx-qoperator":
        kinds = {node.op_type for node in onnx.load(made).graph.node}
        assert "QuantizeLinear" not in kinds, sorted(kinds)


def rules(target):
    done = subprocess.run([str(COMMAND), "list", "qdq_fusion", "--json"], capture_output=True, text=True,
                          check=True)
    return next(entry["rules"] for entry in json.loads(done.stdout)["targets"]
                if entry["target"] == target)


def test_rule():
    for target in ("tflite", "onnx-qoperator"):
        for rule in rules(target):
            for storage in rule["codes"].split(", "):
                yield f"{target}: {rule['operation']} on {storage}", check, target, rule, storage


def check_short_steps(operation, storage):
    """Kernels of 8 bits take codes whose steps are below 1/256 for equal, here a third of all."""
    model = Model(storage)
    same = (0.0005, 7)
    made = model.node(operation, [model.data("x", same), model.data("y", same)])
    model.output(made, TensorProto.BOOL)
    model.feeds["y"] = np.clip(model.feeds["x"].astype(int) + RNG.integers(-1, 2, SHAPE), 0, 127).astype(TYPES[storage])
    with scratch() as folder:
        model.save(folder / "model.onnx")
        wanted = run_onnxruntime(folder / "model.onnx", model.feeds)
        convert(folder / "model.onnx", folder / "made.tflite", "tflite")
        found = run_litert_on_reals(folder / "made.tflite", model.feeds)
        for name, values in wanted.items():
            assert np.array_equal(found[name], values), f"{name}: {np.sum(found[name] != values)} differ"


def test_short_steps():
    for operation in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        for storage in ("i8", "u8"):
            yield f"{operation} of {storage}", check_short_steps, operation, storage


# --- types of weights beside types of data: fused or not, the result is right ---------------------------

SHAPES_OF_PRODUCTS = {
    "Conv": (SHAPE, (5, 4, 3, 3), {}), "depthwise": (SHAPE, (4, 1, 3, 3), {"group": 4}),
    "ConvTranspose": (SHAPE, (4, 5, 2, 2), {"strides": [2, 2]}), "Gemm": ((3, 8), (8, 6), {}),
    "MatMul": ((2, 3, 8), (8, 6), {}), "computed": ((2, 3, 8), (2, 8, 6), {})}
OPERATIONS = {"depthwise": "Conv", "computed": "MatMul"}
WEIGHTS = {"i8": np.dtype(np.int8), "u8": np.dtype(np.uint8), "i16": np.dtype(np.int16),
           "i4": np.dtype(ml_dtypes.int4)}
ON_CODES = {
    "i8": {"Conv": "i8 i4", "depthwise": "i8 i4", "ConvTranspose": "i8", "Gemm": "i8 i4",
           "MatMul": "i8 i4", "computed": "i8"},
    "u8": {"Conv": "u8", "depthwise": "u8", "ConvTranspose": "u8", "Gemm": "u8"},
    "i16": {"Conv": "i8", "depthwise": "i8", "ConvTranspose": "i8", "Gemm": "i8 i4",
            "MatMul": "i8 i4", "computed": "i16"}}


def check_weight(product, storage, weight):
    global RNG
    RNG = np.random.default_rng(zlib.crc32(f"weight {product} {storage} {weight}".encode()))
    shape, weight_shape, attributes = SHAPES_OF_PRODUCTS[product]
    model = Model(storage)
    x = model.data("x", parameters(storage, 2), shape)
    kind = WEIGHTS[weight]
    low, high = {"i4": (-7, 7), "u8": (0, 255), "i8": (-127, 127), "i16": (-32767, 32767)}[weight]
    codes = RNG.integers(low, high + 1, weight_shape).astype(kind)
    y = model.weight("w", codes, 1 / high)
    if product == "computed":
        model.constants = [constant for constant in model.constants if constant.name != "w"]
        model.inputs.append(helper.make_tensor_value_info(
            "w", helper.np_dtype_to_tensor_dtype(kind), weight_shape))
        model.feeds["w"] = codes
    model.result(model.node(OPERATIONS.get(product, product), [x, y], **attributes),
                 parameters(storage, 6))
    with scratch() as folder:
        model.save(folder / "model.onnx")
        wanted = run_onnxruntime(folder / "model.onnx", model.feeds)
        document = convert(folder / "model.onnx", folder / "made.tflite", "tflite")
        on_codes = document["fused"]["operations"][0]["on_codes"]
        assert on_codes == (weight in ON_CODES[storage].get(product, "").split()), on_codes
        outputs = run_litert_on_reals(folder / "made.tflite", model.feeds)
    for name, values in wanted.items():
        worst = np.max(np.abs(outputs[name].astype(np.int64) - values.astype(np.int64)))
        assert worst <= 1, f"{name}: {worst} steps"


def test_weights():
    for product in SHAPES_OF_PRODUCTS:
        for storage in TYPES:
            for weight in WEIGHTS:
                if product != "computed" or weight != "i4":
                    yield f"{product} of {storage} by {weight}", check_weight, product, storage, weight


def check_long_sum(operation, extent):
    """32 bits hold a sum of 65536 codes of 16 bits."""
    model = Model("i16")
    x = model.data("x", (1 / 32768, 0), (1, 1, extent, extent))
    model.feeds["x"] = np.abs(model.feeds["x"])
    axes = [model.constant("axes", np.array([2, 3], np.int64))] if operation == "ReduceSum" else []
    model.result(model.node(operation, [x, *axes]), (extent * extent / 32768, 0))
    with scratch() as folder:
        model.save(folder / "model.onnx")
        document = convert(folder / "model.onnx", folder / "made.tflite", "tflite")
        assert document["fused"]["operations"][0]["on_codes"] == (extent <= 256)
        found = run_litert_on_reals(folder / "made.tflite", model.feeds)
        for name, values in run_onnxruntime(folder / "model.onnx", model.feeds).items():
            worst = np.max(np.abs(found[name].astype(np.int64) - values.astype(np.int64)))
            assert worst <= 2, f"{name}: {worst} steps"


def test_long_sums():
    for operation in ("ReduceSum", "GlobalAveragePool"):
        for extent in (256, 257):
            yield f"{operation} of {extent}x{extent}", check_long_sum, operation, extent


# --- scales that are far apart: fused or not, the result is right --------------------------------------


def far_binary(operation):
    def build(model, ratio):
        zero = {"i8": 7, "u8": 131, "i16": 0}[model.storage]
        scale = 0.05 if operation == "Mul" else ratio
        x = model.data("x", (scale, zero))
        y = model.data("y", (ratio if operation == "Mul" else ratio / 2, zero))
        # Of the product, `ratio` of the result's steps is a step of it.
        model.result(model.node(operation, [x, y]), (scale if operation == "Mul" else 1.0, zero))
    return build


def far_unary(operation, **attributes):
    def build(model, ratio):
        zero = {"i8": 7, "u8": 131, "i16": 0}[model.storage]
        x = model.data("x", (ratio, zero))
        model.result(model.node(operation, [x], **attributes), (1.0, zero))
    return build


def far_product(model, ratio):
    x = model.data("x", (1.0, {"i8": 7, "u8": 131, "i16": 0}[model.storage]), (2, 300))
    w = model.weight("w", weights((300, 4), model.storage), ratio)
    model.result(model.node("Gemm", [x, w]), (1.0, {"i8": 7, "u8": 131, "i16": 0}[model.storage]))


FAR = {"Add": far_binary("Add"), "Sub": far_binary("Sub"), "Mul": far_binary("Mul"),
       "Relu": far_unary("Relu"), "Abs": far_unary("Abs"), "HardSwish": far_unary("HardSwish"),
       "LeakyRelu": far_unary("LeakyRelu", alpha=0.2), "Sigmoid": far_unary("Sigmoid"),
       "GlobalAveragePool": far_unary("GlobalAveragePool"), "Gemm": far_product}


def check_far(target, operation, storage, exponent):
    global RNG
    RNG = np.random.default_rng(zlib.crc32(f"far {target} {operation} {storage} {exponent}".encode()))
    model = Model(storage)
    FAR[operation](model, 2.0**exponent)
    with scratch() as folder:
        source = folder / "model.onnx"
        model.save(source)
        wanted = run_onnxruntime(source, model.feeds)
        made = folder / ("made.onnx" if target == "onnx-qoperator" else "made.tflite")
        convert(source, made, target)
        run = run_onnxruntime if target == "onnx-qoperator" else run_litert_on_reals
        outputs = run(made, model.feeds)
    for name, values in wanted.items():
        worst = np.max(np.abs(outputs[name].astype(np.int64) - values.astype(np.int64)))
        assert worst <= (2 if operation == "GlobalAveragePool" else 1), f"{name}: {worst} steps"


def run_litert_on_reals(path, feeds):
    return run_litert(path, feeds, {"QUANTIZE", "DEQUANTIZE"})


def largest_bits(operation, storage):
    """Of what the operation makes of the largest codes, in steps of scale 1."""
    bits = 16 if storage == "i16" else 8
    return {"Mul": 2 * bits, "Add": bits + 1, "Sub": bits + 1, "Gemm": bits + 16}.get(operation, bits)


def test_scales_far_apart():
    for target in ("tflite", "onnx-qoperator"):
        for operation in FAR:
            for storage in ("i8", "u8", "i16"):
                if target == "onnx-qoperator" and storage == "i16":
                    continue
                for exponent in (-20, -3, 0, 4, 6, 7, 8, 12, 16, 20):
                    # Beyond 2^31 steps QUANTIZE itself cannot tell what to limit.
                    if exponent + largest_bits(operation, storage) > 30:
                        continue
                    yield (f"{target}: {operation} on {storage}, 2^{exponent}", check_far, target,
                           operation, storage, exponent)


# --- how tools write the same -----------------------------------------------------------------------

def signless_data(tweak):
    """u8 data, as ONNX Runtime's tools quantize by default, and a weight of i8 by channels; between
    real numbers, since codes that a model takes keep their type."""
    data = {"x_scale": np.float32(0.02), "x_zero": np.uint8(131),
            "w": RNG.integers(-127, 128, (5, 4, 3, 3)).astype(np.int8),
            "w_scale": (RNG.random(5) * 0.01 + 0.002).astype(np.float32), "w_zero": np.zeros(5, np.int8),
            "b": RNG.integers(-3000, 3000, 5).astype(np.int32), "b_zero": np.zeros(5, np.int32),
            "y_scale": np.float32(0.05), "y_zero": np.uint8(117)}
    data["b_scale"] = (data["x_scale"] * data["w_scale"]).astype(np.float32)
    nodes = [helper.make_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["xq"]),
             helper.make_node("DequantizeLinear", ["xq", "x_scale", "x_zero"], ["xd"]),
             helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["wd"], axis=0),
             helper.make_node("DequantizeLinear", ["b", "b_scale", "b_zero"], ["bd"], axis=0),
             helper.make_node("Conv", ["xd", "wd", "bd"], ["c"], kernel_shape=[3, 3]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("QuantizeLinear", ["r", "y_scale", "y_zero"], ["yq"]),
             helper.make_node("DequantizeLinear", ["yq", "y_scale", "y_zero"], ["y"])]
    nodes, data = tweak(nodes, data)
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(values), name) for name, values in data.items()])
    return onnx.shape_inference.infer_shapes(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10))


def as_it_is(nodes, data):
    return nodes, data


def with_lists_of_one(nodes, data):
    return nodes, {name: np.reshape(values, 1) if np.ndim(values) == 0 else values
                   for name, values in data.items()}


def with_constant_nodes(nodes, data):
    kept = {name: values for name, values in data.items() if name in "wb"}
    made = [helper.make_node("Constant", [], [name],
                             value=numpy_helper.from_array(np.asarray(values), name))
            for name, values in data.items() if name not in kept]
    return [*made, *nodes], kept


def with_a_weight_of_one_channel(nodes, data):
    return nodes, {name: values[:1] if name[0] in "wb" else values for name, values in data.items()}


def check_signless(target, tweak):
    with scratch() as folder:
        source = folder / "model.onnx"
        onnx.save(signless_data(tweak), source)
        feeds = {"x": RNG.standard_normal(SHAPE).astype(np.float32)}
        wanted = run_onnxruntime(source, feeds)["y"]
        made = folder / ("made.onnx" if target == "onnx-qoperator" else "made.tflite")
        document = convert(source, made, target)
        for row in document["fused"]["operations"]:
            assert row["on_codes"], f"{row['name']}: {row['reason']}"
        if target == "onnx-qoperator":
            got = run_onnxruntime(made, feeds)["y"]
            assert {"QLinearConv"} <= {node.op_type for node in onnx.load(made).graph.node}
        else:
            got = run_litert(made, feeds, {"QUANTIZE", "DEQUANTIZE"})["y"]
            assert any("u8 became i8" in remark for remark in document["remarks"]), document["remarks"]
        assert np.max(np.abs(got - wanted)) <= 0.05 * 1.001, np.max(np.abs(got - wanted))


def with_real_weights(nodes, data):
    """Quantized by channels where it is used, as what comes from training is."""
    real = (data["w"] * data["w_scale"].reshape(-1, 1, 1, 1)).astype(np.float32)
    quantize = helper.make_node("QuantizeLinear", ["wr", "w_scale", "w_zero"], ["w"], axis=0)
    kept = {name: values for name, values in data.items() if name != "w"}
    return [quantize, *nodes], {**kept, "wr": real}


def without_zero_points(nodes, data):
    for node in nodes:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and node.input[0] != "w":
            del node.input[2:]
    return nodes, {name: values for name, values in data.items()
                   if not name.endswith("_zero") or name == "w_zero"}


def test_data_without_a_sign():
    for target in ("tflite", "onnx-qoperator"):
        for tweak in (as_it_is, with_lists_of_one, with_constant_nodes, with_a_weight_of_one_channel,
                      with_real_weights, without_zero_points):
            yield f"{target}: {tweak.__name__}", check_signless, target, tweak


def with_zero_points(nodes, data):
    return nodes, {**data, "w_zero": np.array([1, -3, 5, 0, 9], np.int8)}


def test_zero_points_of_channels_stay_real():
    """QLinearConv takes one zero point for all channels, and fails when it runs otherwise."""
    with scratch() as folder:
        source, made = folder / "model.onnx", folder / "made.onnx"
        onnx.save(signless_data(with_zero_points), source)
        feeds = {"x": RNG.standard_normal(SHAPE).astype(np.float32)}
        wanted = run_onnxruntime(source, feeds)["y"]
        rows = convert(source, made, "onnx-qoperator")["fused"]["operations"]
        conv = next(row for row in rows if row["operation"] == "conv")
        assert not conv["on_codes"] and "zero points" in conv["reason"], conv
        assert np.max(np.abs(run_onnxruntime(made, feeds)["y"] - wanted)) <= 0.05 * 1.001


# --- a model that TensorFlow quantized, and its transcription ------------------------------------------


def operators_of(interpreter):
    """(name, constant operands and parameters of all) of each operator."""
    details = {detail["index"]: detail for detail in interpreter.get_tensor_details()}
    found = []
    for operator in interpreter._get_ops_details():
        tensors = []
        for index in [*operator["inputs"], *operator["outputs"]]:
            parameters = details[index]["quantization_parameters"]
            tensors.append((list(details[index]["shape"]), details[index]["dtype"],
                            parameters["scales"], list(parameters["zero_points"]),
                            parameters["quantized_dimension"]))
        found.append((operator["op_name"], tensors, operator["inputs"]))
    return found


def test_a_transcription_becomes_the_model_that_it_is_of():
    original = SHARED / "resnet8_cifar10_int8.tflite"
    transcription = SHARED / "resnet8_cifar10_int8_qdq.onnx"
    if not (original.is_file() and transcription.is_file()):
        print(f"left out: {original} is not there")
        return
    with scratch() as folder:
        made = folder / "made.tflite"
        convert(transcription, made, "tflite", "--io", "codes")
        models = []
        for path in (original, made):
            models.append(_litert.interpreter_of(path))
            models[-1].allocate_tensors()
        ours, theirs = operators_of(models[1]), operators_of(models[0])
        assert [name for name, *_ in ours] == [name for name, *_ in theirs]
        for (name, tensors, inputs), (_, wanted, wanted_inputs) in zip(ours, theirs):
            for mine, other in zip(tensors, wanted):
                assert mine[:2] == other[:2] and mine[3:] == other[3:], f"{name}: {mine} for {other}"
                assert np.allclose(mine[2], other[2], rtol=1e-6, atol=0), name
            if name in ("CONV_2D", "FULLY_CONNECTED"):
                for mine, other in zip(inputs[1:], wanted_inputs[1:]):  # weights and biases
                    assert np.array_equal(models[1].get_tensor(mine), models[0].get_tensor(other)), name
        shape = models[0].get_input_details()[0]["shape"]
        for _ in range(20):
            codes = RNG.integers(-128, 128, shape).astype(np.int8)
            outputs = []
            for model in models:
                detail = model.get_input_details()[0]
                model.set_tensor(detail["index"], codes)
                model.invoke()
                outputs.append(model.get_tensor(model.get_output_details()[0]["index"]).astype(int))
            assert np.max(np.abs(outputs[0] - outputs[1])) <= 1


if __name__ == "__main__":
    run_tests(globals())
