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


class Tensor(typing.NamedTuple):
    """Of a file of one operator: its contents, or their type and shape; and its parameters."""
    values: np.ndarray
    constant: bool = False
    scale: float = 0
    zero: int = 0
    signature: tuple = ()  # with -1 for an extent that is open


def file_of(operator, inputs, outputs, options=None, **fields):
    """`outputs`: one or several. `options`: the name of the operator's table, with `fields`. Tensors
    are called t0, t1, ..."""
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
    for number, given in enumerate([*inputs, *outputs]):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer = f"t{number}", list(given.values.shape), 0
        if given.signature:
            tensor.shapeSignature = list(given.signature)
        tensor.type = getattr(schema.TensorType, str(given.values.dtype).upper())
        if given.scale:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = [given.scale]
            tensor.quantization.zeroPoint = [given.zero]
        if given.constant:
            contents = schema.BufferT()
            contents.data = list(given.values.tobytes())
            tensor.buffer = len(model.buffers)
            model.buffers.append(contents)
        graph.tensors.append(tensor)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
