"""Makes the inputs that fuzzers start from.

    .venv/bin/python tests/fuzz/make_corpus.py FOLDER       writes FOLDER/text, FOLDER/plan, ...

Small models with one thing each: what the reader knows. Needs onnx and numpy. The same at each run.
"""

import io
import pathlib
import random
import struct
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape, element=FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def array(name, *shape, element=np.float32):
    counted = np.arange(1, 1 + np.prod(shape)).reshape(shape)
    return numpy_helper.from_array(counted.astype(element), name)


def numbers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model(nodes, inputs, outputs, initializers=(), opset=17, **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers), **more)
    domains = {node.domain for node in nodes} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in domains)]
    return helper.make_model(graph, ir_version=8, producer_name="", opset_imports=opsets)


def one(op, operands, result, *, data=(2, 3), results=1, opset=17, **attributes):
    """A model of one node: the operand `x`, and constants."""
    names = ["x"] + [operand.name if operand else "" for operand in operands]
    node = helper.make_node(op, names, [f"y{i}" for i in range(results)], "n", **attributes)
    outputs = [value("y0", result)] + [value(f"y{i}", None) for i in range(1, results)]
    return model([node], [value("x", data)], outputs, filter(None, operands), opset)


def matmul(weight, **more):
    node = helper.make_node("MatMul", ["x", "w"], ["y"], "dense")
    element = weight.data_type
    ends = ([value("x", (2, 3), element)], [value("y", (2, 2), element)])
    return model([node], *ends, [weight], **more)


def tensors():
    """One matmul, its weight stored in each of the ways that there are."""
    for element in (np.float16, np.float64):
        yield matmul(array("w", 3, 2, element=element))
    fields = {"float_data": FLOAT, "double_data": TensorProto.DOUBLE, "int64_data": INT64,
              "int32_data": TensorProto.FLOAT16, "uint64_data": TensorProto.UINT64}
    for field, element in fields.items():
        weight = TensorProto(name="w", dims=(3, 2), data_type=element)
        getattr(weight, field).extend([1, 2, 3, 4, 5, 6])
        yield matmul(weight)
    for element in (TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT8E4M3FN):
        yield matmul(helper.make_tensor("w", element, (3, 2), [1, 2, 3, 4, 5, 6]), opset=21)
    external = TensorProto(name="w", dims=(3, 2), data_type=FLOAT)
    external.data_location = TensorProto.EXTERNAL
    for key, text in (("location", "data.bin"), ("offset", "8"), ("length", "24")):
        external.external_data.add(key=key, value=text)
    yield matmul(external)
    listed = matmul(array("w", 3, 2), opset=11)
    listed.graph.input.append(value("w", (3, 2)))
    yield listed
    sparse = helper.make_sparse_tensor(array("w", 2), numbers("", 1, 4), [3, 2])
    yield matmul(array("v", 3, 2), sparse_initializer=[sparse])


def operations():
    w = array("w", 3, 2)
    yield one("Gemm", [w, array("b", 2)], (2, 2), alpha=0.5, beta=2.0)
    yield one("Gemm", [array("w", 2, 3)], (2, 2), transB=1)
    yield one("Transpose", [], (3, 2), perm=[1, 0])
    yield one("Transpose", [], (3, 2))
    yield one("Reshape", [numbers("s", 0, -1)], (2, 3))
    yield one("Identity", [], (2, 3))
    image = (1, 2, 4, 4)
    yield one("Conv", [array("w", 2, 2, 3, 3), array("b", 2)], image, data=image, pads=[1, 1, 1, 1])
    yield one("Conv", [array("w", 2, 1, 1, 1)], image, data=image, group=2, auto_pad="SAME_UPPER")
    yield one("ConvTranspose", [array("w", 2, 2, 1, 1)], image, data=image)
    yield one("Add", [array("b", 3)], (2, 3))
    yield one("Mul", [array("b", 3)], (2, 3))
    yield one("Squeeze", [numbers("a", 0)], (3,), data=(1, 3))
    yield one("Unsqueeze", [numbers("a", 0)], (1, 2, 3))
    yield one("Squeeze", [], (3,), data=(1, 3), opset=11, axes=[0])
    yield one("Flatten", [], (2, 3), axis=1)
    yield one("Cast", [], (2, 3), to=FLOAT)
    yield one("Expand", [numbers("s", 2, 3)], (2, 3), data=(1, 3))
    yield one("Slice", [numbers("s", 0), numbers("e", 2), numbers("a", 1)], (2, 2))
    yield one("Split", [numbers("s", 1, 2)], (2, 1), results=2, axis=1)
    yield one("Concat", [array("b", 2, 3)], (4, 3), axis=0)
    yield one("Gather", [numbers("i", 1, 0)], (2, 3), axis=0)
    yield one("Einsum", [w], (2, 2), equation="ij,jk->ik")
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        weights = [array("w", 1, 2 * gates, 3), array("r", 1, 2 * gates, 2)]
        yield one(op, weights, (1, 1, 1, 2), data=(1, 1, 3), results=2, hidden_size=2)
    # Below opset 13 a model with a quantized weight is converted.
    old = {"Softmax": {"axis": 1}, "Clip": {"min": 0.0, "max": 1.0}, "Dropout": {"ratio": 0.5},
           "Pad": {"pads": [0, 0, 0, 0]}, "ReduceSum": {"axes": [0], "keepdims": 1},
           "Upsample": {"mode": "nearest", "scales": [1.0, 2.0]}}
    for op, attributes in old.items():
        tail = helper.make_node(op, ["h"], ["y"], **attributes)
        yield model([helper.make_node("MatMul", ["x", "w"], ["h"]), tail], [value("x", (2, 3))],
                    [value("y", None)], [w], opset=7)


def structures():
    w, half = array("w", 3, 2), array("c", 2, 2)
    chain = [helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
             helper.make_node("Identity", ["t"], ["i"]),
             helper.make_node("Gemm", ["x", "i"], ["h"], transB=1),
             helper.make_node("MatMul", ["x", "w"], ["k"]),
             helper.make_node("Add", ["h", "k"], ["y"])]
    ends = ([value("x", ("batch", 3))], [value("y", ("batch", 2))])
    yield model(chain, *ends, [w], value_info=[value("t", (2, 3)), value("h", (None, 2))])
    constant = helper.make_node("Constant", [], ["w"], value=w)
    yield model([constant, helper.make_node("MatMul", ["x", "w"], ["y"])], *ends)
    listed = helper.make_node("Constant", [], ["y"], value_floats=[1.0, 2.0])
    yield model([listed], [], [value("y", (2,))])
    unknown = helper.make_node("Strange", ["x", "", "w"], ["", "y"], "s", domain="com.example",
                               a=[1, 2], b="text", c=0.5, d=["p", "q"], e=half)
    yield model([unknown], *ends, [w], doc_string="text")
    inner = helper.make_node("MatMul", ["x", "w"], ["z"])
    branch = helper.make_graph([inner], "b", [], [value("z", None)])
    condition = value("p", (), TensorProto.BOOL)
    yield model([helper.make_node("If", ["p"], ["y"], then_branch=branch, else_branch=branch)],
                [condition, value("x", (2, 3))], [value("y", None)], [w])
    function = helper.make_function("com.example", "F", ["a"], ["b"],
                                    [helper.make_node("Identity", ["a"], ["b"])],
                                    [helper.make_opsetid("", 17)])
    called = model([helper.make_node("F", ["x"], ["y"], domain="com.example")], *ends)
    called.functions.append(function)
    called.metadata_props.add(key="k", value="v")
    yield called
    codes = [array("w", 3, 2, element=np.int8), array("s", 2), array("z", 2, element=np.int8)]
    yield model([helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=1),
                 helper.make_node("MatMul", ["x", "f"], ["y"])], *ends, codes)
    blocks = [helper.make_tensor("w", TensorProto.INT4, (4, 2), range(-4, 4)), array("s", 2, 2)]
    yield model([helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=0, block_size=2),
                 helper.make_node("MatMul", ["x", "f"], ["y"])],
                [value("x", (2, 4))], [value("y", (2, 2))], blocks, opset=21)
    packed = [array("w", 2, 1, 8, element=np.uint8), array("s", 2), array("z", 2, element=np.uint8)]
    yield model([helper.make_node("MatMulNBits", ["x", "w", "s", "z"], ["y"],
                                  domain="com.microsoft", K=16, N=2, bits=4, block_size=16)],
                [value("x", (2, 16))], [value("y", (2, 2))], packed)


def numpy_files():
    """Arrays of each type and order, in files of their own and in archives."""
    arrays = {}
    for dtype in ("?", "i1", "u1", "<i2", ">u2", "<i4", ">u4", "<i8", ">u8", "<f2", "<f4", ">f8"):
        arrays[dtype.strip("<>")] = np.arange(6).reshape(2, 3).astype(dtype)
    arrays["columns"] = np.asfortranarray(arrays["f4"])
    arrays["none"] = arrays["f4"][:0]
    arrays["scalar"] = np.array(1.5)
    for array in arrays.values():
        file = io.BytesIO()
        np.save(file, array)
        yield file.getvalue()
    for writer in (np.savez, np.savez_compressed):
        for names in (["f4"], ["i1", "columns"], ["none", "scalar", "f8"]):
            file = io.BytesIO()
            writer(file, **{name: arrays[name] for name in names})
            yield file.getvalue()


TEXTS = (
    'graph {opset = 13, "a b" = "\\x00\\n"}\n%x: tensor<?x3xf32> = input()\n'
    "%w: tensor<3x2x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:0}>> = constant() [1, 2, 3, 4, 5, 6]\n"
    "%r: tensor<3x2xf32> = dequantize(%w)\n"
    '%y: tensor<?x2xf32> = gemm(%x, %r, _) {name = "dense", alpha = 2.0}\noutput(%y)\n',
    "%w: tensor<4x2x!quant.uniform<u4:f16:{0:2}, {0.5:7, 1.0, 2.0:1, 3.0}>> = constant() <...>\n"
    "%c: tensor<4x2xu4> = storage_cast(%w) # comment\n",
    "%q: tensor<*x!quant.uniform<i32:bf16, 0.25:-3>> = quantize(%x)\n",
    "%x: tensor<*xf32> = input()\n%q: tensor<*x!quant.uniform<i16:f32, 0.25>> = quantize(%x)\noutput(%q)\n",
    '%a: tensor<f32>, %"b \\"\\\\": tensor<opaque> = com.microsoft::Gelu() {i = [1, -2], r = [0.5, inf],'
    ' s = ["", "q"], e = [], f = real[], g = string[], t = tensor<2xi64> [1, 2], u = tensor<>,'
    ' o = opaque("x", 0x00ff), p = opaque("y", tensor<>), name = "n", "name" = 3}\n',
    "%h: tensor<3xf16> = constant() [nan, nan(0x7e01), -inf]\n%d: tensor<2xf64> = constant() [5e-324, 1e308]\n"
    "%b: tensor<2xi1> = constant() [0, 1]\n%u: tensor<1xu64> = constant() [18446744073709551615]\n"
    "%t: tensor<2x3xf32> = transpose(%m) {perm = [1, 0]}\n",
    "%i: tensor<1x2x4x4xf32> = input()\n%k: tensor<2x2x3x3xf32> = constant() <...>\n"
    "%c: tensor<?x?x?x?xf32> = conv(%i, %k) {pads = [1, 1, 1, 1], strides = [2, 2]}\n"
    "%s: tensor<2xi64> = constant() [0, -1]\n%r: tensor<*xf32> = reshape(%c, %s)\n"
    "%t: tensor<*xf32> = transpose(%r) {perm = [1, 0]}\n%m: tensor<*xf32> = matmul(%r, %t)\noutput(%m)\n",
)


def plan(values, conversions=(), shared=()):
    """A plan that was never printed by the library; names are JSON already."""
    def strings(names):
        return "[" + ", ".join(f'"{name}"' for name in names) + "]"
    listed = ",".join(f'{{"value": "{name}", "scheme": "weight_only", "constraint": "{constraint}",'
                      f' "gain": {gain}}}' for name, constraint, gain in values)
    changes = ",".join(f'{{"value": "{name}", "from": "{start}", "to": "{end}",'
                       f' "users": {strings(users)}}}' for name, start, end, users in conversions)
    groups = ",".join(f'{{"constraint": "{constraint}", "values": {strings(names)}}}'
                      for constraint, names in shared)
    return ('{"format": "quadrant.plan", "version": 2,'
            ' "schemes": [{"name": "weight_only", "options": ""}],'
            f' "gain_model": "bytes", "objective": 7, "values": [{listed}],'
            f' "conversions": [{changes}], "shared": [{groups}]}}')


QUANTIZED_TYPES = [
    "!quant.uniform<i8<-127:127>:f32, 0.1:3>", "!quant.uniform<u4:f16:1, {0.1:1, 2.0e-03}>",
    "!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1:1, 0.2}, {0.3, 0.4}}>", "!quant.any<i8<-16:15>:f32>",
    "!quant.any<u3>", "!quant.calibrated<f32<-0.998:1.2321>>"]
PLANS = (
    plan([]),
    plan([("w", "axis=1", 20), ("v", "axis=0", -9223372036854775808)],
         [("w", "axis=1", "float", ["a", "b"])]),
    plan([("w", "axis=0", 1), ("t", "axis=1", 1)], [], [("axis=1", ["v", "w"])]),
    plan([("d", "axis=0", 1), ("k", "axis=0", 1)], [("k", "axis=0", "float", [])]),
    plan([("w", "tensor", 1), ("v", "axis=0 block=2", 1)]),
    plan([("x", "axis=0", 0), ("gr\\u00f6\\u00dfe", "axis=7", 0)]),
)


def statistics(*values):
    """Statistics that were never printed by the library."""
    return ('{"format": "quadrant.statistics", "version": 1, "model": "m", "samples": 2,'
            f' "values": [{",".join(values)}]}}')


def counted(name, low, high, total, bins, zeros=0, channels=""):
    return (f'{{"value": "{name}", "samples": 2, "min": {low}, "max": {high}, "sum": "{total}",'
            f' "zeros": {zeros}, "nan": 1, "positive_infinity": 0, "negative_infinity": 3, {bins}'
            f'{channels}}}')


BOTH_SIGNS = '"negative": [[2048, 3]], "positive": [[512, 1, 1], [7168, 4]]'
CHANNELS = (', "by_channel": {"axis": 1, "varying": false, "count": [2, 2], "min": [1, 2],'
            ' "max": [3, 4], "sum": ["0x8p-1", "0xcp-1"]}')
STATISTICS = (
    statistics(),
    statistics(counted("x", -0.5, 1.75, "0xb802p-13", BOTH_SIGNS, zeros=2)),
    statistics(counted("none", 0, 0, "0x0p+0", '"negative": [], "positive": []'),
               counted("zeros", 0, 0, "0x0p+0", '"negative": [], "positive": []', zeros=5)),
    statistics(counted("gr\\u00f6\\u00dfe", 1, 4, "0x14p-1", '"negative": [],'
                       ' "positive": [[1024, 1], [2048, 1], [3072, 1], [4096, 1]]',
                       channels=CHANNELS)),
    statistics(counted("x", 1, 1, "0x2p-1", '"negative": [], "positive": [[4096, 1]]', channels=(
        ', "by_channel": {"axis": -1, "varying": true, "count": [], "min": [], "max": [],'
        ' "sum": []}'))),
)


def override(low, high, scale, offset, symmetric="False"):
    return (f'{{"bitwidth": 8, "dtype": "int", "is_symmetric": "{symmetric}", "max": {high},'
            f' "min": {low}, "offset": {offset}, "scale": {scale}}}')


ARGUMENTS = ('"quantizer_args": {"activation_bitwidth": 8, "dtype": "int", "is_symmetric": "True",'
             ' "param_bitwidth": 8, "per_channel_quantization": "False", "quant_scheme": "s"}')
ENCODINGS = (
    '{"activation_encodings": {"x": [{"bitwidth": 8, "min": -1.0, "max": 3.0}]},'
    ' "param_encodings": {}}',
    f'{{"version": "0.6.1", "activation_encodings": {{"x": [{override(-1.5, 126, 0.5, -3)}],'
    ' "y": [{"bitwidth": 16, "dtype": "float"}]}, "param_encodings": {"w": ['
    f'{override(-1.28, 1.27, 0.01, -128, "True")}, {override(-2.56, 2.54, 0.02, -128, "True")}]}},'
    f' {ARGUMENTS}}}',
    '{"version": "1.0.0", "activation_encodings": [{"name": "x", "dtype": "INT",'
    ' "enc_type": "PER_TENSOR", "bw": 8, "is_sym": false, "scale": [0.5], "offset": [-3]},'
    ' {"name": "y", "dtype": "FLOAT", "enc_type": "PER_TENSOR", "bw": 16}],'
    ' "param_encodings": [{"name": "w", "dtype": "INT", "enc_type": "PER_CHANNEL", "bw": 8,'
    ' "is_sym": true, "scale": [0.5, 0.25], "offset": [-127, -127]},'
    ' {"name": "v", "dtype": "INT", "enc_type": "PER_BLOCK", "bw": 4, "is_sym": true,'
    ' "block_size": 16, "scale": [1, 2, 3, 4], "offset": [-8, -8, -8, -8]}, {"name": "u",'
    ' "dtype": "INT", "enc_type": "LPBQ", "bw": 8, "compressed_bw": 4, "is_sym": true,'
    ' "block_size": 32, "scale": [0.5, 0.25], "offset": [-128, -128],'
    ' "per_block_int_scale": [1, 16, 3, 8]}], "excluded_layers": ["l"]}',
    '{"version": "2.0.0", "encodings": [{"name": "x", "output_dtype": "uint8", "y_scale": 0.02,'
    ' "y_zero_point": 114}, {"name": "b", "output_dtype": "int32", "y_scale": [0.1, 0.2],'
    ' "axis": 0}, {"name": "w", "output_dtype": "int4", "y_scale": [[1, 2], [3, 4]],'
    ' "y_zero_point": [[0, 0], [0, 1]], "axis": -1, "block_size": 16}, {"name": "u",'
    ' "output_dtype": "int4", "per_block_int_scale": [[1, 2], [4, 5]],'
    ' "per_channel_float_scale": [[0.5, 0.25]], "axis": 0, "block_size": 32}]}',
)


HEAD = '"format": "quadrant.recipe", "version": 1'
RECIPES = (
    f'{{{HEAD}}}',
    f'{{{HEAD}, "description": "two", "schemes": {{"a": {{"scheme": "weight_only"}}, "b": {{"scheme":'
    ' "weight-only", "options": {"bits": 4, "block_size": 2, "symmetry": "asymmetric"}}}, "rules":'
    ' [{"scheme": ["a", "b"]}, {"match": {"name": "^w$"}, "scheme": "float"}, {"match": {"kind":'
    ' ["gather", "cast"], "type": "f16", "size": {"min_elements": 1, "max_bytes": 1000}},'
    ' "scheme": "a", "options": {"clip": "mse"}}]}',
    f'{{{HEAD}, "rules": [{{"match": {{"subgraph": {{"from": "a", "to": ["c", "e"]}}}}, "scheme":'
    ' "weight_only"}, {"match": {"name": "none"}, "scheme": "float", "may_match_nothing": true}]}',
    f'{{{HEAD}, "schemes": {{"s": {{"scheme": "static_affine", "options": {{"percentile": 99.5,'
    ' "quantized_inputs": true, "use_enhanced": "both"}}}, "model": {"optimize": ["cle"], "relu6":'
    ' "relu"}, "gain": "unit", "policy": "greedy", "target_bits": 4.5, "include": ["a"], "exclude":'
    ' "b", "non_finite": "leave"}',
)


def hardware(name="mine", more="", **changed):
    """A profile that was never printed by the library."""
    numbers = {"bandwidth": 12, "cache_bytes": 1000000, "cache_bandwidth": 40.5, "overhead": 800,
               "float_products": 45, "int8_products": 120, "uint8_products": 1e2,
               "weights8_products": 30, "weights4_products": 20, "float_elements": 2,
               "int8_elements": 8, "quantize": 1, "dequantize": 2, "requantize": 0.5, **changed}
    listed = "".join(f', "{key}": {number}' for key, number in numbers.items() if number != "")
    return f'{{"format": "quadrant.hardware", "version": 1, "name": "{name}"{listed}{more}}}'


NO_CACHE = {"cache_bytes": "", "cache_bandwidth": ""}
HARDWARE = (
    hardware(),
    hardware("a.b-c_9", ', "description": "gr\\u00f6\\u00dfe", "folds_constants": true,'
             ' "sums_in_32_bits": false'),
    hardware(**NO_CACHE, weights8_products="", weights4_products=""),
    hardware(bandwidth=1e-6, overhead=1e9, float_products=1e-6, int8_products=1e9),
)

# The first byte says which inputs the model has.
SAMPLE_LISTS = (
    "\0x.raw\ndeep/x.raw\n# comment\n\n  ./x.raw\t\r\n",
    "\0x:=x.raw\n%out\nx:=../../etc/passwd\nx:=/dev/null\n",
    "\1x.raw ids.raw\nids:=ids.raw x:=nan.raw\nnone.npy ids.raw",
    "\2a.raw b.raw c.raw\na:=a.raw a:b/c:=b =:=c:=d\n",
)

LABELS = ("1\n2\n3\n", "# classes\r\n -7 \n\n\t9223372036854775807", "-9223372036854775808\n0x1\n+1\n")


def label_files():
    """Labels as text, as an array, and in archives; objects."""
    yield from (text.encode() for text in LABELS)
    classes = np.array([1, 0, 3], np.int32)
    boxes = np.array([[0, 0, 2, 2], [1, 1, 3, 4], [5, 5, 5, 6]])
    file = io.BytesIO()
    np.save(file, classes)
    yield file.getvalue()
    for arrays in ({"labels": classes.astype(np.int8)}, {"other": classes.astype(np.uint64)},
                   {"boxes": boxes.astype(np.float32), "classes": classes, "samples": classes},
                   {"boxes": boxes.astype(np.float64), "classes": classes, "samples": classes - 1}):
        file = io.BytesIO()
        np.savez(file, **arrays)
        yield file.getvalue()


def tflite_files():
    """Small TFLite models: an image chain of codes, products, moves, an operator that is carried."""
    try:
        import flatbuffers
        from ai_edge_litert import schema_py_generated as schema
    except ImportError:
        return  # the fuzzer starts from nothing
    kinds = schema.BuiltinOperator

    class Model:
        def __init__(self):
            self.model = schema.ModelT()
            self.graph = schema.SubGraphT()
            self.graph.tensors, self.graph.operators = [], []
            self.model.version, self.model.subgraphs = 3, [self.graph]
            self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []

        def tensor(self, name, shape, contents=None, element=schema.TensorType.FLOAT32, scales=None,
                   axis=0):
            made = schema.TensorT()
            made.name, made.shape, made.type = name, list(shape), element
            made.buffer = 0
            if contents is not None:
                buffer = schema.BufferT()
                buffer.data = list(np.asarray(contents).tobytes())
                made.buffer = len(self.model.buffers)
                self.model.buffers.append(buffer)
            if scales:
                made.quantization = schema.QuantizationParametersT()
                made.quantization.scale = list(scales)
                made.quantization.zeroPoint = [0] * len(scales)
                made.quantization.quantizedDimension = axis
            self.graph.tensors.append(made)
            return len(self.graph.tensors) - 1

        def integers(self, *values):
            return self.tensor("list", [len(values)], np.array(values, np.int32),
                               schema.TensorType.INT32)

        def op(self, code, inputs, outputs, options=None, **fields):
            kind = schema.OperatorCodeT()
            kind.builtinCode, kind.deprecatedBuiltinCode = code, min(code, 127)
            kind.version = 1
            made = schema.OperatorT()
            made.opcodeIndex = len(self.model.operatorCodes)
            self.model.operatorCodes.append(kind)
            made.inputs, made.outputs = list(inputs), list(outputs)
            if options:
                table = getattr(schema, options + "T")()
                for field, value in fields.items():
                    setattr(table, field, value)
                made.builtinOptions = table
                made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            self.graph.operators.append(made)

        def bytes(self, inputs, outputs):
            self.graph.inputs, self.graph.outputs = inputs, outputs
            builder = flatbuffers.Builder(1024)
            builder.Finish(self.model.Pack(builder), file_identifier=b"TFL3")
            return bytes(builder.Output())

    codes = schema.TensorType.INT8
    one = Model()
    x = one.tensor("x", (1, 4, 4, 2), element=codes, scales=[0.5])
    w = one.tensor("w", (2, 3, 3, 2), np.ones(36, np.int8), codes, [0.5, 0.25])
    c = one.tensor("c", (1, 4, 4, 2), element=codes, scales=[1.0])
    p = one.tensor("p", (1, 2, 2, 2), element=codes, scales=[1.0])
    y = one.tensor("y", (1, 2, 2, 2))
    one.op(kinds.CONV_2D, [x, w], [c], "Conv2DOptions", strideW=1, strideH=1,
           fusedActivationFunction=1)
    one.op(kinds.MAX_POOL_2D, [c], [p], "Pool2DOptions", strideW=2, strideH=2, filterWidth=2,
           filterHeight=2)
    one.op(kinds.DEQUANTIZE, [p], [y])
    yield one.bytes([x], [y])

    two = Model()
    x = two.tensor("x", (2, 3))
    w = two.tensor("w", (4, 3), np.ones(12, np.float32))
    d = two.tensor("d", (2, 4))
    r = two.tensor("r", (2, 2, 2))
    t = two.tensor("t", (2, 2, 2))
    s = two.tensor("s", (2, 1, 2))
    j = two.tensor("j", (2, 2, 2))
    a = two.tensor("a", (2, 2, 2))
    y = two.tensor("y", (2, 2, 2))
    two.op(kinds.FULLY_CONNECTED, [x, w, -1], [d], "FullyConnectedOptions")
    two.op(kinds.RESHAPE, [d, two.integers(2, 2, 2)], [r], "ReshapeOptions")
    two.op(kinds.TRANSPOSE, [r, two.integers(0, 2, 1)], [t])
    two.op(kinds.STRIDED_SLICE, [t, two.integers(0, 0, 0), two.integers(2, 1, 2),
                                 two.integers(1, 1, 1)], [s], "StridedSliceOptions")
    two.op(kinds.CONCATENATION, [s, s], [j], "ConcatenationOptions", axis=1)
    two.op(kinds.ADD, [j, t], [a], "AddOptions", fusedActivationFunction=3)
    two.op(kinds.L2_NORMALIZATION, [a], [y], "L2NormOptions")
    yield two.bytes([x], [y, a])

    three = Model()
    x = three.tensor("x", (1, 4, 4, 4))
    g = three.tensor("g", (1, 3, 3, 4), np.ones(36, np.float32))
    d = three.tensor("d", (1, 4, 4, 4))
    p = three.tensor("p", (1, 6, 5, 4))
    z = three.tensor("z", (1, 12, 10, 4))
    m = three.tensor("m", (1, 1, 1, 4))
    k = [three.tensor(f"k{i}", (1, 1, 1, 2)) for i in range(2)]
    y = three.tensor("y", (1, 1, 1, 2))
    three.op(kinds.DEPTHWISE_CONV_2D, [x, g, -1], [d], "DepthwiseConv2DOptions", strideW=1,
             strideH=1, depthMultiplier=1)
    table = three.tensor("pads", (4, 2), np.array([0, 0, 1, 1, 1, 0, 0, 0], np.int32),
                         schema.TensorType.INT32)
    three.op(kinds.PAD, [d, table], [p], "PadOptions")
    three.op(kinds.RESIZE_NEAREST_NEIGHBOR, [p, three.integers(12, 10)], [z],
             "ResizeNearestNeighborOptions")
    three.op(kinds.MEAN, [z, three.integers(1, 2)], [m], "ReducerOptions", keepDims=True)
    three.op(kinds.SPLIT, [three.integers(3), m], k, "SplitOptions", numSplits=2)
    three.op(kinds.SOFTMAX, [k[0]], [y], "SoftmaxOptions", beta=1.0)
    yield three.bytes([x], [y, k[1]])

    four = Model()
    x = four.tensor("x", (1, 32))
    i = four.tensor("i", (2,), element=schema.TensorType.INT32)
    w = four.tensor("w", (4, 32), np.arange(64, dtype=np.uint8), schema.TensorType.INT4)
    halves = four.tensor("halves", (4, 2), np.ones(8, np.float16), schema.TensorType.FLOAT16)
    blocks = schema.BlockwiseQuantizationT()
    blocks.scales, blocks.zeroPoints, blocks.blockSize = halves, -1, 16
    four.graph.tensors[w].quantization = schema.QuantizationParametersT()
    four.graph.tensors[w].quantization.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    four.graph.tensors[w].quantization.details = blocks
    y, rows = four.tensor("y", (1, 4)), four.tensor("rows", (2, 32))
    four.op(kinds.FULLY_CONNECTED, [x, w, -1], [y], "FullyConnectedOptions")
    four.op(kinds.EMBEDDING_LOOKUP, [i, w], [rows])
    yield four.bytes([x, i], [y, rows])


def openvino_files():
    """Small IRs: each is the .xml file, a byte 0, and the .bin file."""

    def ir(layers, edges, contents=b"", version=11):
        text = "".join(
            f'<layer id="{i}" name="{name}" type="{kind}" version="opset1"><data {data}/>'
            + "<input>" + "".join(f'<port id="{p}"/>' for p in range(inputs)) + "</input>"
            + ("" if kind == "Result" else
               f'<output><port id="{inputs}" precision="{precision}" names="{name},{name}2">'
               + "".join(f"<dim>{dim}</dim>" for dim in dims) + "</port></output>")
            + more + "</layer>"
            for i, (name, kind, data, inputs, precision, dims, more) in enumerate(layers))
        lines = "".join(f'<edge from-layer="{a}" from-port="{p}" to-layer="{b}" to-port="{q}"/>'
                        for a, p, b, q in edges)
        return (f'<?xml version="1.0"?><net name="m" version="{version}"><layers>{text}</layers>'
                f"<edges>{lines}</edges><rt_info/></net>").encode() + b"\0" + contents

    def parameter(shape, element="f32", precision="FP32"):
        dims = ",".join(map(str, shape))
        return ("x", "Parameter", f'shape="{dims}" element_type="{element}"', 0, precision, shape, "")

    def constant(name, shape, offset, size, element="f32", precision="FP32"):
        dims = ",".join(map(str, shape))
        return (name, "Const", f'element_type="{element}" shape="{dims}" offset="{offset}" size="{size}"',
                0, precision, shape, "")

    result = ("y", "Result", "", 1, "", [], "")
    windows = 'strides="1,1" dilations="1,1" pads_begin="1,1" pads_end="1,1" auto_pad="explicit"'
    decompression = '<rt_info><attribute name="decompression" version="0"/></rt_info>'
    yield ir([parameter([1, 2, 4, 4]), constant("w", [3, 2, 3, 3], 0, 216),
              ("c", "Convolution", windows, 2, "FP32", [1, 3, 4, 4], ""),
              constant("s", [3], 216, 12), ("p", "PReLU", "", 2, "FP32", [1, 3, 4, 4], ""), result],
             [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 4, 0), (3, 0, 4, 1), (4, 2, 5, 0)], bytes(228))
    yield ir([parameter([1, 2, 2, 2]), constant("w", [2, 1, 1, 1, 1], 0, 4, "f16", "FP16"),
              ("d", "Convert", 'destination_type="f32"', 1, "FP32", [2, 1, 1, 1, 1], decompression),
              ("g", "GroupConvolution", windows.replace('"1,1" pads_end="1,1"', '"0,0" pads_end="0,0"'),
               2, "FP32", [1, 2, 2, 2], ""), result],
             [(1, 0, 2, 0), (0, 0, 3, 0), (2, 1, 3, 1), (3, 2, 4, 0)], b"\x00\x3c\x00\x40")
    yield ir([parameter([1, 4]), constant("a", [], 0, 4), constant("b", [], 4, 4),
              ("q", "FakeQuantize", 'levels="256" auto_broadcast="numpy"', 5, "FP32", [1, 4], ""),
              constant("w", [3, 4], 8, 12, "i8", "I8"),
              ("wc", "Convert", 'destination_type="f32"', 1, "FP32", [3, 4], ""),
              constant("ws", [3, 1], 20, 12), ("wm", "Multiply", "", 2, "FP32", [3, 4], ""),
              ("m", "MatMul", 'transpose_a="false" transpose_b="true"', 2, "FP32", [1, 3], ""), result],
             [(0, 0, 3, 0), (1, 0, 3, 1), (2, 0, 3, 2), (1, 0, 3, 3), (2, 0, 3, 4), (4, 0, 5, 0),
              (5, 1, 7, 0), (6, 0, 7, 1), (3, 5, 8, 0), (7, 2, 8, 1), (8, 2, 9, 0)], bytes(32))
    yield ir([parameter([2], "f16", "FP16"), constant("k", [3], 0, 2, "u4", "U4"),
              ("u", "Unheard", 'depth="3"', 2, "I64", ["-1"],
               '<body><layers><layer id="0" type="Const"><data offset="0" size="2"/></layer></layers></body>'),
              result], [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)], b"\x21\x03", version=10)


def moments_files():
    """Grids and moments of one or two matrices of two columns, and what is left."""
    def text(value):
        return struct.pack("<Q", len(value)) + value

    def numbers(code, *values):
        return struct.pack(f"<Q{len(values)}{code}", len(values), *values)

    def file(kind, weights, left=()):
        head = b"QMOMENTS" + struct.pack("<IIQQ", 1, kind, 0xC0FFEE, 3) + text(b"model.onnx")
        return (head + struct.pack("<Q", len(left)) + b"".join(text(name) + text(why) for name, why in left)
                + struct.pack("<Q", len(weights)) + b"".join(weights))

    def weight(name, matrices, *sums):
        layout = numbers("q", *range(0, 4 * matrices, 4)) + numbers("q", 0, 2) + numbers("q", 0, 1)
        grid = text(name) + layout + numbers("d", *[.25, .5] * matrices)
        return grid + b"".join(numbers("q", *each) for each in sums)

    yield file(0, [])
    yield file(0, [weight(b"v", 1), weight(b"w", 2)], [(b"a", b"looked up"), (b"b", b"not finite")])
    yield file(1, [weight(b"w", 1, [2], [5, -3, 4])])
    yield file(1, [weight(b"v", 2, [2, 0], [5, 1, 4, 0, 0, 0]), weight(b"w", 1, [1], [1, 1, 1])], [(b"a", b"why")])


def main():
    folder = pathlib.Path(sys.argv[1])
    dice = random.Random(1)
    corpora = {
        "text": [text.encode() for text in TEXTS],
        "quantized_type": [text.encode() for text in QUANTIZED_TYPES],
        "plan": [text.encode() for text in PLANS],
        "onnx": [made.SerializeToString(deterministic=True)
                 for part in (tensors, operations, structures) for made in part()],
        "npz": list(numpy_files()),
        "statistics": [text.encode() for text in STATISTICS],
        "encodings": [text.encode() for text in ENCODINGS],
        "recipe": [text.encode() for text in RECIPES],
        "c_api": [text.encode() + b"\0first" for text in RECIPES],
        "tflite": list(tflite_files()),
        "openvino": list(openvino_files()),
        "hardware": [text.encode() for text in HARDWARE],
        "sample_list": [text.encode() for text in SAMPLE_LISTS],
        "labels": list(label_files()),
        "moments": list(moments_files()),
        "graph": [dice.randbytes(size) for size in (64, 128, 256, 256, 512, 512, 1024, 1024)],
    }
    for name in ("interpreter", "schemes", "transforms", "conversion"):
        corpora[name] = [dice.randbytes(size) for size in (64, 128, 128, 256, 256, 256)]
    for name, inputs in corpora.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            (folder / name / f"{number:02}").write_bytes(data)


if __name__ == "__main__":
    main()
