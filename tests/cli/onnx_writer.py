"""Just enough of ONNX's wire format to make small models without any package.

https://github.com/onnx/onnx/blob/main/onnx/onnx.proto has the numbers.
"""

import struct

FLOAT = 1
INT64 = 7


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field: integers as varints, text, bytes and messages with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, values):
    return (
        b"".join(field(1, dim) for dim in dims)
        + field(2, FLOAT)
        + field(8, name)
        + field(9, struct.pack(f"<{len(values)}f", *values))
    )


def value_info(name, dims, element=FLOAT):
    """`dims`: integers, or text for what is not known."""
    shape = b"".join(field(1, field(2 if isinstance(dim, str) else 1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, element) + field(2, shape)))


def node(op_type, inputs, outputs, name=""):
    return (
        b"".join(field(1, value) for value in inputs)
        + b"".join(field(2, value) for value in outputs)
        + field(3, name)
        + field(4, op_type)
    )


def model(nodes, initializers, inputs, outputs, opset=17):
    graph = (
        b"".join(field(1, entry) for entry in nodes)
        + field(2, "test")
        + b"".join(field(5, entry) for entry in initializers)
        + b"".join(field(11, entry) for entry in inputs)
        + b"".join(field(12, entry) for entry in outputs)
    )
    return field(1, 8) + field(2, "cli_test") + field(7, graph) + field(8, field(2, opset))


def external_tensor(name, dims, location, offset=0):
    """One whose floats are in a file beside the model."""
    entries = {"location": location, "offset": str(offset)}
    return (
        b"".join(field(1, dim) for dim in dims)
        + field(2, FLOAT)
        + field(8, name)
        + b"".join(field(13, field(1, key) + field(2, value)) for key, value in entries.items())
        + field(14, 1)
    )
