"""TFLite files of one operator, in forms that are not written here. Ends a test with status 77,
skipped, where what it takes is missing."""

import sys
import typing

import numpy as np

try:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)


class Blocks(typing.NamedTuple):
    """Of codes in blocks along the last axis: the numbers of the tensors of their scales and zero points."""
    scales: int
    size: int
    zero_points: int = -1
    shape: tuple = ()


class Tensor(typing.NamedTuple):
    """Of a file of one operator: its contents, or their type and shape; and its parameters."""
    values: np.ndarray
    constant: bool = False
    scale: float | np.ndarray = 0  # or one for each index along `axis`
    zero: int = 0
    signature: tuple = ()  # with -1 for an extent that is open
    axis: int = 0
    blocks: Blocks | None = None


# Of types that share bytes, the first in the lowest bits.
BITS = {"int2": 2, "int4": 4, "uint4": 4}


def contents_of(values):
    bits = BITS.get(str(values.dtype))
    if bits is None:
        return values.tobytes()
    codes = values.astype(np.int8).astype(np.uint8).reshape(-1) & (2**bits - 1)
    each = 8 // bits
    codes = np.append(codes, np.zeros(-len(codes) % each, np.uint8)).reshape(-1, each)
    return (codes << np.arange(0, 8, bits, dtype=np.uint8)).sum(1).astype(np.uint8).tobytes()


def tensors_of(path):
    """By name: the type's name, shape, contents as bytes, scales, zero points and their axis, of a file's tensors."""
    model = schema.Model.GetRootAs(path.read_bytes())
    graph = model.Subgraphs(0)
    names = {number: name for name, number in vars(schema.TensorType).items() if isinstance(number, int)}
    found = {}
    for tensor in map(graph.Tensors, range(graph.TensorsLength())):
        data, quantization = model.Buffers(tensor.Buffer()).DataAsNumpy(), tensor.Quantization()
        found[tensor.Name().decode()] = (names[tensor.Type()], tuple(tensor.ShapeAsNumpy()),
                                         b"" if isinstance(data, int) else data.tobytes())
        if quantization and quantization.ScaleLength():
            found[tensor.Name().decode()] += (quantization.ScaleAsNumpy(), quantization.ZeroPointAsNumpy(),
                                              quantization.QuantizedDimension())
    return found


def weights_in_blocks(path):
    """By name: the codes in blocks of a file, their scales as the file has them, and the blocks' size."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes()))
    found = {}
    for tensor in model.subgraphs[0].tensors:
        details = tensor.quantization and tensor.quantization.details
        if not isinstance(details, schema.BlockwiseQuantizationT):
            continue
        assert tensor.type == schema.TensorType.INT4 and details.zeroPoints == -1
        halves = np.frombuffer(bytes(model.buffers[tensor.buffer].data), np.uint8)[:, None] >> [0, 4] & 15
        codes = halves.reshape(-1)[:np.prod(tensor.shape)].reshape(tensor.shape).astype(np.int8)
        scales = model.subgraphs[0].tensors[details.scales]
        types = {schema.TensorType.FLOAT16: np.float16, schema.TensorType.FLOAT32: np.float32}
        numbers = np.frombuffer(bytes(model.buffers[scales.buffer].data), types[scales.type])
        found[tensor.name.decode()] = (np.where(codes > 7, codes - 16, codes).astype(np.int8),
                                       numbers.reshape(scales.shape), details.blockSize)
    return found


def file_of(operator, inputs, outputs, options=None, others=(), **fields):
    """`outputs`: one or several. `options`: the name of the operator's table, with `fields`. `others`: tensors
    that no operator reads. Tensors are called t0, t1, ..., in that order."""
    outputs = [outputs] if isinstance(outputs, Tensor) else outputs
    model, graph, made = schema.ModelT(), schema.SubGraphT(), schema.OperatorT()
    kind = schema.OperatorCodeT()
    kind.builtinCode = getattr(schema.BuiltinOperator, operator)
    kind.deprecatedBuiltinCode = min(kind.builtinCode, 127)
    kind.version = fields.pop("version", 1)
    model.version, model.operatorCodes, model.subgraphs = 3, [kind], [graph]
    model.buffers = [schema.BufferT()]
    graph.tensors, graph.operators = [], [made]
    made.inputs = list(range(len(inputs)))
    made.outputs = list(range(len(inputs), len(inputs) + len(outputs)))
    graph.inputs = [i for i, tensor in enumerate(inputs) if not tensor.constant]
    graph.outputs = made.outputs
    if options:
        made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        made.builtinOptions = getattr(schema, f"{options}T")()
        for name, value in fields.items():
            assert hasattr(made.builtinOptions, name), name
            setattr(made.builtinOptions, name, value)
    for number, given in enumerate([*inputs, *outputs, *others]):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer = f"t{number}", list(given.values.shape), 0
        if given.signature:
            tensor.shapeSignature = list(given.signature)
        tensor.type = getattr(schema.TensorType, str(given.values.dtype).upper())
        if np.all(given.scale):
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = np.atleast_1d(given.scale).astype(np.float32)
            tensor.quantization.zeroPoint = [given.zero] * np.size(given.scale)
            tensor.quantization.quantizedDimension = given.axis
        if given.blocks:
            details = schema.BlockwiseQuantizationT()
            details.scales, details.blockSize, details.zeroPoints, shape = given.blocks
            details.blockShape = list(shape) or None
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.quantizedDimension = given.axis
            tensor.quantization.detailsType = schema.QuantizationDetails.BlockwiseQuantization
            tensor.quantization.details = details
        if given.constant:
            contents = schema.BufferT()
            contents.data = list(contents_of(given.values))
            tensor.buffer = len(model.buffers)
            model.buffers.append(contents)
        graph.tensors.append(tensor)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
