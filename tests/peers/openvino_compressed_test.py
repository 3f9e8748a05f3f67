"""Weights that OpenVINO's kernels read as codes: what is written computes what the codes and scales say, for every
place of the scales, and the forms that are gone around are still computed wrongly, or do not compile, there.
"""

import _peers  # noqa: F401  (settings of the peers)

import xml.etree.ElementTree

import ml_dtypes
import numpy as np
import onnx
import openvino
from onnx import TensorProto, helper
from openvino import opset13

from _command import quadrant, run_tests, scratch
from _models import info, model_of, run
from _openvino import compiled_by_openvino

RANDOM = np.random.default_rng(7)
ELEMENT = {"int8": "i8", "uint8": "u8", "int4": "i4", "uint4": "u4"}
RANGES = {"int8": (-128, 128), "uint8": (0, 256), "int4": (-8, 8), "uint4": (0, 16)}


def tensor(name, array, kind):
    return helper.make_tensor(name, getattr(TensorProto, kind.upper()), array.shape, array.ravel())


class Weight:
    """Codes, and scales and perhaps zero points along an axis, or for blocks of it."""

    def __init__(self, shape, axis, block=0, kind="int8", zeros=False):
        self.axis, self.block, self.kind = axis, block, kind
        groups = [extent if i == axis else 1 for i, extent in enumerate(shape)]
        if block:
            groups = [*shape[:axis], -(-shape[axis] // block), *shape[axis + 1:]]
        low, high = RANGES[kind]
        self.codes = RANDOM.integers(low, high, shape)
        self.scales = RANDOM.uniform(.1, 2, groups).astype(np.float32)
        self.zeros = RANDOM.integers(1, 5, groups) if zeros else None
        self.blocks = np.arange(shape[axis]) // block if block else None
        stretched = lambda list: np.take(list, self.blocks, axis) if block else list
        centred = self.codes - (stretched(self.zeros) if zeros else 0)
        self.reals = (centred.astype(np.float32) * stretched(self.scales)).astype(np.float32)

    def nodes(self):
        """w, as DequantizeLinear says it, and its constants."""
        form = (lambda list: list) if self.block else np.ravel
        constants = [tensor("codes", self.codes, self.kind), tensor("scales", form(self.scales), "float")]
        if self.zeros is not None:
            constants.append(tensor("zeros", form(self.zeros), self.kind))
        node = helper.make_node("DequantizeLinear", [c.name for c in constants], ["w"], axis=self.axis,
                                **({"block_size": self.block} if self.block else {}))
        return node, constants

    def layers(self):
        """The same of OpenVINO's layers, as they would be written."""
        shape, groups = list(self.codes.shape), list(self.scales.shape)
        is_short = self.block and shape[self.axis] % self.block != 0
        repeated = lambda numbers: opset13.gather(numbers, opset13.constant(self.blocks), opset13.constant(
            self.axis)) if is_short else numbers
        if self.block and not is_short:
            shape[self.axis:self.axis + 1] = [groups[self.axis], self.block]
            groups.insert(self.axis + 1, 1)
        element = getattr(openvino.Type, ELEMENT[self.kind])
        codes = lambda array, extents: opset13.convert(
            opset13.constant(array.reshape(extents), dtype=element), "f32")
        value = codes(self.codes, shape)
        if self.zeros is not None:
            value = opset13.subtract(value, repeated(codes(self.zeros, groups)))
        value = opset13.multiply(value, repeated(opset13.constant(self.scales.reshape(groups))))
        whole = opset13.constant(np.array(self.codes.shape))
        return value if shape == [*self.codes.shape] else opset13.reshape(value, whole, False)


def layers_of(path):
    return xml.etree.ElementTree.parse(path).findall(".//layer")


def written(folder, graph, *options):
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    done = quadrant("convert", folder / "model.onnx", folder / "model.xml", *options)
    assert done.returncode == 0, done.stderr
    return folder / "model.xml"


def computed(model, feed):
    return np.array(next(iter(compiled_by_openvino(model)([feed]).values())))


def is_near(found, wanted):
    return found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())


def check(weight, operation, feed, wanted, make, is_faulty, **attributes):
    """`make`: OpenVINO's layer, of the weight and the input."""
    node, constants = weight.nodes()
    element = TensorProto.INT64 if feed.dtype == np.int64 else TensorProto.FLOAT
    operands = ["w", "x"] if operation == "Gather" else ["x", "w"]
    graph = model_of([node, helper.make_node(operation, operands, ["y"], **attributes)],
                     [helper.make_tensor_value_info("x", element, feed.shape)], [info("y", wanted.shape)], {}, 21)
    graph.graph.initializer.extend(constants)
    with scratch() as folder:
        path = written(folder, graph)
        found = computed(path, feed)
        assert is_near(found, wanted), f"{np.abs(found - wanted).max()} off"
        layers = layers_of(path)
    held = {layer.find("data").get("element_type") for layer in layers if layer.get("type") == "Const"}
    assert ELEMENT[weight.kind] in held, held
    is_apart = any(layer.get("type") == "Maximum" for layer in layers)
    assert is_apart == is_faulty, "kept apart" if is_apart else "not kept apart"
    x = opset13.parameter(feed.shape, feed.dtype)
    try:
        faulty = computed(openvino.Model([make(weight.layers(), x)], [x]), feed)
    except RuntimeError:
        faulty = np.full(1, np.nan)
    assert is_near(faulty, wanted) != is_faulty, f"OpenVINO {openvino.__version__}: take the way around away"


def check_gather(axis, is_faulty, indices, weight):
    feed = np.array(indices)
    make = lambda value, x: opset13.gather(value, x, opset13.constant(axis))
    check(weight, "Gather", feed, np.take(weight.reals, feed, axis), make, is_faulty, axis=axis)


# Along axis 0, those of columns are looked for behind the last, which ends some processes.
GATHERS = {
    "columns with a scale each": (1, True, [0, 7, 11], dict(shape=(16, 40), axis=1)),
    "columns of 4 bits": (1, True, [0, 7, 11], dict(shape=(16, 40), axis=1, kind="uint4")),
    "columns with zero points": (1, True, [0, 7, 11], dict(shape=(16, 40), axis=1, kind="uint8", zeros=True)),
    "columns by a table": (1, True, [[0, 7], [3, 3]], dict(shape=(16, 40), axis=1)),
    "a column": (1, True, 5, dict(shape=(16, 40), axis=1)),
    "the middle one of three axes": (1, True, [1, 2], dict(shape=(10, 6, 32), axis=1)),
    "the last one of three axes": (2, True, [1, 2], dict(shape=(10, 6, 32), axis=2)),
    "columns in blocks": (1, True, [1, 2], dict(shape=(64, 12), axis=0, block=16)),
    "rows across blocks": (0, True, [1, 2], dict(shape=(64, 12), axis=0, block=16)),
}
RIGHT_GATHERS = {
    "rows with a scale each": (0, False, [0, 7, 11], dict(shape=(16, 40), axis=0)),
    "rows in blocks": (0, False, [0, 7], dict(shape=(16, 64), axis=1, block=16)),
    "rows in blocks with zero points": (0, False, [0, 7], dict(shape=(16, 64), axis=1, block=16, kind="uint8",
                                                               zeros=True)),
    "across rows with a scale each": (1, False, [0, 7, 11], dict(shape=(16, 40), axis=0)),
    "across blocks of rows": (1, False, [0, 7, 63], dict(shape=(16, 64), axis=1, block=16)),
    "four axes": (1, False, [1, 2], dict(shape=(4, 5, 6, 8), axis=1)),
    "one of three axes in blocks": (1, False, [1, 2], dict(shape=(4, 6, 32), axis=2, block=16)),
}


def test_lookups_of_codes():
    for name, (axis, is_faulty, indices, weight) in {**GATHERS, **RIGHT_GATHERS}.items():
        yield name, check_gather, axis, is_faulty, indices, Weight(**weight)


def check_product(is_transposed, is_faulty, weight, is_batch=True):
    real = np.swapaxes(weight.reals, -1, -2) if is_transposed else weight.reals
    feed = RANDOM.standard_normal((*real.shape[:-2 if is_batch else 0], 3, real.shape[-2])).astype(np.float32)
    make = lambda value, x: opset13.matmul(x, value, False, is_transposed)
    attributes = {"transB": 1} if is_transposed else {}
    check(weight, "Gemm" if is_transposed else "MatMul", feed, feed @ real, make, is_faulty, **attributes)


PRODUCTS = {
    "scales of what is summed": (False, True, dict(shape=(32, 48), axis=0)),
    "scales of what is summed, transposed": (True, True, dict(shape=(48, 32), axis=1)),
    "zero points of what is summed": (False, True, dict(shape=(32, 48), axis=0, kind="uint8", zeros=True)),
    "scales of what is summed, in a batch of one": (False, True, dict(shape=(1, 32, 48), axis=1, kind="uint4")),
    "blocks of columns": (False, True, dict(shape=(32, 48), axis=1, block=16)),
    "blocks of columns, transposed": (True, True, dict(shape=(48, 32), axis=0, block=16)),
    "a short block": (False, True, dict(shape=(300, 40), axis=0, block=32, kind="int4")),
    "a short block, transposed": (True, True, dict(shape=(40, 300), axis=1, block=32, kind="uint4", zeros=True)),
    "a short block of odd extents": (False, True, dict(shape=(33, 47), axis=0, block=16, kind="uint4")),
}
RIGHT_PRODUCTS = {
    "scales of columns": (False, False, dict(shape=(32, 48), axis=1)),
    "scales of columns, transposed": (True, False, dict(shape=(48, 32), axis=0, kind="uint8", zeros=True)),
    "blocks of what is summed": (False, False, dict(shape=(32, 48), axis=0, block=16)),
    "blocks of what is summed, transposed": (True, False, dict(shape=(48, 32), axis=1, block=16)),
    "scales of columns, in a batch of one": (False, False, dict(shape=(1, 32, 48), axis=2, kind="uint4")),
    "scales of what is summed, in a batch": (False, False, dict(shape=(2, 32, 48), axis=1)),
    "blocks of one column": (False, False, dict(shape=(64, 1), axis=0, block=16)),
}


def test_products_with_codes():
    for name, (is_transposed, is_faulty, weight) in {**PRODUCTS, **RIGHT_PRODUCTS}.items():
        yield name, check_product, is_transposed, is_faulty, Weight(**weight)
    yield "a matrix times a batch of one", check_product, False, True, Weight((1, 32, 48), 2), False


# --- one block -----------------------------------------------------------------------------------------

NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
       0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]


def floats(kind):
    values = np.arange(256 if kind.itemsize == 1 and ml_dtypes.finfo(kind).bits == 8 else 16, dtype=np.uint8)
    values = values.view(kind).astype(np.float32)
    return values[np.isfinite(values)]


# The elements, what they may be, and the formats that such weights are exact in.
ELEMENTS = {
    "nf4": (np.array(NF4, np.float32), ["nf4", "nf4 * f16[block=48] : f32"]),
    "f4e2m1": (floats(np.dtype(ml_dtypes.float4_e2m1fn)), ["mxfp4"]),
    "f8e4m3": (floats(np.dtype(ml_dtypes.float8_e4m3fn)), ["mxfp8", "f8e4m3 * f16[block=32] : f32"]),
    "i4": (np.arange(-7, 8, dtype=np.float32), ["i4 * f16[block=32] : f32"]),
}
# Sums of odd numbers of 4 bits are not stored so: docs/formats/openvino.md.
SHAPES = [(2, 1), (2, 16), (4, 1), (4, 6), (16, 3), (31, 5), (32, 1), (32, 8)]


def check_one_block(element, name, rows, columns):
    values, _ = ELEMENTS[element]
    w = RANDOM.choice(values, (rows, columns))
    w[0] = values.max()
    w *= 2.0**RANDOM.integers(-2, 3, columns).astype(np.float32)
    graph = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [rows, rows])],
                     [info("y", [rows, columns])], {"w": w})
    with scratch() as folder:
        path = written(folder, graph, "--scheme", "weight-only", "--type", name)
        assert np.array_equal(computed(path, np.eye(rows, dtype=np.float32)), w)
        held = [data.attrib for data in (layer.find("data") for layer in layers_of(path)) if data is not None]
    if rows % 2 == 0 or element.startswith("f8"):
        assert {"element_type": element, "shape": f"{rows},{columns}"}.items() <= max(
            held, key=lambda data: data.get("element_type") == element).items(), held


def test_one_block_is_a_column():
    for element, (_, names) in ELEMENTS.items():
        for name in names:
            for rows, columns in SHAPES:
                yield f"{name}, {rows} {columns}", check_one_block, element, name, rows, columns


def check_one_block_fault(element, rows, columns, is_faulty):
    shape = [1, rows, columns]
    codes = RANDOM.choice(ELEMENTS[element][0], shape)
    codes = opset13.constant(codes, dtype=getattr(openvino.Type, element))
    value = opset13.multiply(opset13.convert(codes, "f32"), opset13.constant(np.full([1, 1, columns], 2, np.float32)))
    x = opset13.parameter([2, rows], np.float32)
    made = opset13.matmul(x, opset13.reshape(value, opset13.constant(np.array(shape[1:])), False), False, False)
    try:
        compiled_by_openvino(openvino.Model([made], [x]))
        found = False
    except RuntimeError:
        found = True
    assert found == is_faulty, f"OpenVINO {openvino.__version__}: take the way around away"


def test_one_block_as_an_axis_does_not_compile():
    for element, rows, columns, is_faulty in (("f8e4m3", 16, 3, True), ("nf4", 32, 1, True), ("nf4", 2, 16, True),
                                              ("f4e2m1", 32, 1, True), ("nf4", 32, 8, False)):
        yield f"{element} {rows} {columns}", check_one_block_fault, element, rows, columns, is_faulty


# --- the file ------------------------------------------------------------------------------------------


def short_lookup(w):
    return helper.make_node("Gather", ["w", "x"], ["y"], axis=0), np.arange(w.shape[0]), w


def short_product(w):
    return helper.make_node("MatMul", ["x", "w"], ["y"]), np.eye(w.shape[0], dtype=np.float32), w


def short_convolution(w):
    """Kernels of one pixel, by which channels with one pixel each are multiplied."""
    rows, columns = w.shape
    return helper.make_node("Conv", ["x", "w"], ["y"]), np.eye(columns, dtype=np.float32).reshape(
        columns, columns, 1, 1), w.reshape(rows, columns, 1, 1)


def check_short(make, name, shape):
    """A last block that is cut off leaves codes codes, in the file and in those that are made of it."""
    node, feed, w = make(RANDOM.standard_normal(shape).astype(np.float32))
    element = TensorProto.INT64 if feed.dtype == np.int64 else TensorProto.FLOAT
    graph = model_of([node], [helper.make_tensor_value_info("x", element, feed.shape)], [info("y", None)], {"w": w},
                     21)
    with scratch() as folder:
        path = written(folder, graph, "--scheme", "weight-only", "--type", name)
        done = quadrant("convert", folder / "model.onnx", folder / "q.onnx", "--scheme", "weight-only", "--type", name)
        assert done.returncode == 0, done.stderr
        wanted = run(folder / "q.onnx", {"x": feed})[0]
        assert np.array_equal(computed(path, feed), wanted)
        held = [layer.find("data").attrib for layer in layers_of(path) if layer.get("type") == "Const"]
        assert {"i4", "u4", "i8"} & {data["element_type"] for data in held}, held
        assert max(int(data["size"]) for data in held) <= w.size, held
        done = quadrant("convert", path, folder / "again.onnx")
        assert done.returncode == 0, done.stderr
        assert np.array_equal(run(folder / "again.onnx", {"x": feed})[0], wanted)
        assert (folder / "again.onnx").stat().st_size < 2 * w.size + 2048


def test_short_blocks():
    for name in ("int2", "int3", "int4", "uint2", "uint3", "uint4", "i8 * f32[block=32] : f32",
                 "(u4 - z) * f16[block=32] : f32", "i4 * f32[block=7] : f32"):
        for make, shape in ((short_product, (300, 40)), (short_product, (33, 47)), (short_convolution, (50, 99)),
                            (short_lookup, (40, 75))):
            yield f"{name}, {make.__name__} {shape}", check_short, make, name, shape


def check_bin(options, scale):
    """Codes of blocks are in the file once, and scales as wide as they are."""
    w = RANDOM.standard_normal((256, 64)).astype(np.float32)
    graph = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [1, 256])], [info("y", [1, 64])],
                     {"w": w})
    with scratch() as folder:
        path = written(folder, graph, "--scheme", "weight-only", *options)
        size = path.with_suffix(".bin").stat().st_size
        held = [layer.find("data").attrib for layer in layers_of(path) if layer.get("type") == "Const"]
    assert scale in {data["element_type"] for data in held}, held
    end = 0
    for offset, length in sorted((int(data["offset"]), int(data["size"])) for data in held):
        assert offset - end < 64, "bytes of no constant"
        end = max(end, offset + length)
    assert end == size, f"{size - end} bytes more"


def test_bin_has_what_constants_need():
    for options, scale in ((["--type", "int4"], "f16"), (["--bits", 4, "--block-size", 32], "f32"),
                           (["--bits", 8, "--block-size", 32, "--asymmetric"], "f32"), (["--type", "nf4"], "f32"),
                           (["--bits", 8], "f32"), (["--type", "(u4 - z) * f16[block=32] : f32"], "f16"),
                           (["--type", "lpbq4"], "u8"), (["--type", "nf4", "--scales", "float16"], "f16")):
        yield " ".join(map(str, options)), check_bin, options, scale


run_tests(globals())
