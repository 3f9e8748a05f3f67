"""ONNX models as bytes, without the onnx package: what no writer would write."""


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def header(field, size):
    """What stands in front of the `size` bytes of a field."""
    return varint(field << 3 | 2) + varint(size)


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return header(number, len(content)) + content


# Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
FLOAT, INT64 = 1, 7


def node(op, inputs, outputs, *attributes, name=""):
    return field(1, b"".join([*(field(1, i) for i in inputs), *(field(2, o) for o in outputs),
                              field(3, name), field(4, op), *(field(5, a) for a in attributes)]))


def graph_attribute(name, graph):
    return field(1, name) + field(6, graph) + number(20, 5)


def tensor_header(name, dims, kind=FLOAT):
    return b"".join(number(1, d) for d in dims) + number(2, kind) + field(8, name)


def tensor(name, dims, raw=b"", kind=FLOAT):
    return tensor_header(name, dims, kind) + (field(9, raw) if raw else b"")


def external_tensor(name, dims, **entries):
    pairs = b"".join(field(13, field(1, k) + field(2, str(v))) for k, v in entries.items())
    return tensor_header(name, dims) + pairs + number(14, 1)


def value(name, dims, kind=FLOAT):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, number(1, kind) + field(2, shape)))


def graph(*nodes, inputs=(), outputs=(), tensors=(), name="g"):
    return b"".join([*nodes, field(2, name), *(field(5, t) for t in tensors),
                     *(field(11, i) for i in inputs), *(field(12, o) for o in outputs)])


def model(graph, opset=17, ir_version=8):
    return model_start(opset, ir_version) + field(7, graph)


def model_start(opset=17, ir_version=8):
    return number(1, ir_version) + field(8, number(2, opset))


def nested(levels, wrap, core):
    """`core` inside `levels` layers; `wrap(size)` gives what stands before and after a layer's content
    of `size` bytes. Linear, unlike a loop that concatenates."""
    before, after, size = [], [], len(core)
    for _ in range(levels):
        start, end = wrap(size)
        before.append(start)
        after.append(end)
        size += len(start) + len(end)
    return b"".join([*before[::-1], core, *after])
