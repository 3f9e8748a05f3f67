"""Writes random graphs of one operation and what onnx's own shape inference says of them, as an array of C++.

    python3 tests/ir/onnx_shapes.py onnx_shapes.inc

The build does it, where there is .venv, whose version of onnx tests/requirements.txt says.
"""
import pathlib
import random
import sys

import numpy
import onnx
from onnx import TensorProto, helper, shape_inference

SEED = 20261120
KINDS = {"add": "Add", "cast": "Cast", "concat": "Concat", "conv": "Conv",
         "conv_transpose": "ConvTranspose", "einsum": "Einsum", "expand": "Expand",
         "flatten": "Flatten", "gather": "Gather", "gemm": "Gemm", "gru": "GRU", "lstm": "LSTM",
         "matmul": "MatMul", "multiply": "Mul", "reshape": "Reshape", "rnn": "RNN",
         "slice": "Slice", "split": "Split", "squeeze": "Squeeze", "transpose": "Transpose",
         "unsqueeze": "Unsqueeze"}
# Those that are carried as ONNX calls them.
CARRIED = ["ArgMax", "AveragePool", "DepthToSpace", "Div", "Equal", "GlobalAveragePool", "GlobalMaxPool",
           "Less", "LpPool", "Max", "MaxPool", "Min", "Pad", "Pow", "ReduceL2", "ReduceMax", "ReduceMean",
           "ReduceSum", "Relu", "Resize", "Shape", "Sigmoid", "Softmax", "SpaceToDepth", "Sub", "Sum",
           "Tile"]
CARRIED += ["BitCast", "CumProd", "CumSum", "SwiGLU", "Swish", "TensorScatter"]
KINDS |= {f"onnx.{name}": name for name in CARRIED}
ELEMENTS = {TensorProto.FLOAT: "f32", TensorProto.UINT8: "u8", TensorProto.INT8: "i8",
            TensorProto.UINT16: "u16", TensorProto.INT16: "i16", TensorProto.INT32: "i32",
            TensorProto.INT64: "i64", TensorProto.BOOL: "i1", TensorProto.FLOAT16: "f16",
            TensorProto.DOUBLE: "f64", TensorProto.UINT32: "u32", TensorProto.UINT64: "u64",
            TensorProto.BFLOAT16: "bf16", TensorProto.UINT4: "u4", TensorProto.INT4: "i4",
            TensorProto.STRING: "opaque", TensorProto.COMPLEX64: "opaque",
            TensorProto.COMPLEX128: "opaque", TensorProto.FLOAT8E4M3FN: "f8e4m3",
            TensorProto.FLOAT8E5M2: "f8e5m2", TensorProto.FLOAT4E2M1: "f4e2m1"}


class Ints:
    """A constant operand: a list of 64-bit integers."""
    def __init__(self, values):
        self.values = values


class Computed:
    """An operand that is an input of 64-bit integers, of that shape."""
    def __init__(self, shape):
        self.shape = shape


ABSENT = "absent"


def text_type(shape, element="f32"):
    if shape is None:
        return f"tensor<*x{element}>"
    return "tensor<" + "".join(f"{'?' if d is None else d}x" for d in shape) + element + ">"


def text_value(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def case(kind, operands, attributes, opset=17, results=1):
    """operands: shapes of float inputs (None: unknown rank), Ints, Computed, ABSENT."""
    lines, inputs, initializers = [], [], []
    names = []
    for i, operand in enumerate(operands):
        name = "abcdefgh"[i]
        if operand == ABSENT:
            names.append("")
            continue
        names.append(name)
        if isinstance(operand, Ints):
            values = operand.values
            lines.append(f"%{name}: tensor<{len(values)}xi64> = constant() {values}")
            initializers.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
            continue
        element, shape = TensorProto.FLOAT, operand
        if isinstance(operand, Computed):
            element, shape = TensorProto.INT64, operand.shape
        lines.append(f"%{name}: {text_type(shape, ELEMENTS[element])} = input()")
        inputs.append(helper.make_tensor_value_info(name, element, shape))
    dictionary = ", ".join(f"{k} = {text_value(v)}" for k, v in attributes.items())
    made = ["y", *(f"y{i}" for i in range(1, results))]
    used = ", ".join("%" + name if name else "_" for name in names)
    lines.append(", ".join(f"%{name}: tensor<*xundefined>" for name in made)
                 + f" = {kind}({used})" + (f" {{{dictionary}}}" if dictionary else ""))
    while names[-1] == "":
        names.pop()
    node = helper.make_node(KINDS[kind], names, made, **attributes)
    graph = helper.make_graph([node], "g", inputs,
                              [helper.make_empty_tensor_value_info(name) for name in made],
                              initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    try:
        inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except shape_inference.InferenceError:
        return "\n".join(lines), "error"
    types = []
    for output in inferred.graph.output:
        type_ = output.type.tensor_type
        extents = None
        if type_.HasField("shape"):
            extents = [d.dim_value if d.HasField("dim_value") else None for d in type_.shape.dim]
            if any(d is not None and d < 0 for d in extents):
                return None
        types.append(text_type(extents, ELEMENTS[type_.elem_type]))
    return "\n".join(lines), "; ".join(types)


def some(rng, extent):
    return None if rng.random() < 0.15 else extent


def conv(rng):
    n = rng.choice([1, 2, 2, 3])
    group = rng.choice([1, 1, 2, 4])
    kernel = [rng.randint(1, 4) for _ in range(n)]
    attributes = {}
    dilations = [1] * n
    if rng.random() < 0.5:
        attributes["strides"] = [rng.randint(1, 3) for _ in range(n)]
    if rng.random() < 0.4:
        dilations = attributes["dilations"] = [rng.randint(1, 3) for _ in range(n)]
    pads = [0] * (2 * n)
    mode = rng.choice(["pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode == "pads":
        pads = attributes["pads"] = [rng.randint(0, 2) for _ in range(2 * n)]
    elif mode != "none":
        attributes["auto_pad"] = mode
    if rng.random() < 0.4:
        attributes["kernel_shape"] = kernel
    if group != 1:
        attributes["group"] = group
    x = [rng.randint(1, 20) for _ in range(n)]
    # A kernel that does not fit: onnx gives an extent of its own, the library an error.
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        if any(x[i] + pads[i] + pads[n + i] <= (kernel[i] - 1) * dilations[i] for i in range(n)):
            return None
    channels = group * rng.randint(1, 3)
    operands = [[some(rng, 2), channels] + [some(rng, d) for d in x],
                [group * rng.randint(1, 3), channels // group] + kernel]
    return case("conv", operands, attributes)


def matmul(rng):
    lead = [rng.randint(2, 4) for _ in range(rng.randint(0, 2))]
    def leading():
        return [1 if rng.random() < 0.2 else d for d in lead[rng.randint(0, len(lead)):]]
    k = rng.randint(1, 5)
    a = leading() + [rng.randint(1, 5), k]
    b = leading() + [k if rng.random() < 0.9 else k + 1, rng.randint(1, 5)]
    if rng.random() < 0.2:
        a = [k]
    if rng.random() < 0.2:
        b = b[-2:-1]
    a = [some(rng, d) for d in a]
    b = [some(rng, d) for d in b]
    if rng.random() < 0.05:
        b = None
    # onnx keeps one unknown extent of two where they broadcast; so does the library only where it
    # follows, and this is checked by hand.
    if b is not None and any(d is None for d in a[:-2] + b[:-2]):
        return None
    # Unknown inner extents match all; onnx 1.19 says nothing of the shape's other parts' sizes then.
    return case("matmul", [a, b], {})


def gemm(rng):
    m, k, n = (rng.randint(1, 5) for _ in range(3))
    attributes = {}
    a, b = [m, k], [k if rng.random() < 0.9 else k + 1, n]
    if rng.random() < 0.5:
        attributes["transA"] = 1
        a.reverse()
    if rng.random() < 0.5:
        attributes["transB"] = 1
        b.reverse()
    if a[0 if "transA" in attributes else 1] != b[1 if "transB" in attributes else 0]:
        return None  # onnx does not look
    operands = [[some(rng, d) for d in a], [some(rng, d) for d in b]]
    if rng.random() < 0.3:
        operands.append([n])
    return case("gemm", operands, attributes)


def reshape(rng):
    data = [rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(1, 4))]
    count = int(numpy.prod(data))
    target, left = [], count
    for i in range(rng.randint(1, 4)):
        if i < len(data) and rng.random() < 0.2 and left % data[i] == 0:
            target.append(0)
            left //= data[i]
            continue
        d = rng.choice([d for d in range(1, 7) if left % d == 0])
        target.append(d)
        left //= d
    roll = rng.random()
    if roll < 0.6:
        target.append(left)
        if rng.random() < 0.5:
            candidates = [i for i, d in enumerate(target) if d != 0]
            target[rng.choice(candidates)] = -1
    elif roll < 0.7:
        target.append(-1)
        data[0] += 1
        if 0 in target[:1]:
            return None
    elif roll < 0.75:
        target += [-1, -1]
    else:
        target.append(left)
        return case("reshape", [[some(rng, d) for d in data], Ints(target)],
                    {}) if 0 not in target else None
    return case("reshape", [data, Ints(target)], {})


def transpose(rng):
    n = rng.randint(1, 4)
    perm = list(range(n))
    rng.shuffle(perm)
    if rng.random() < 0.2:
        perm[0] = rng.randint(0, n)
    attributes = {} if rng.random() < 0.3 else {"perm": perm}
    return case("transpose", [[some(rng, rng.randint(1, 9)) for _ in range(n)]], attributes)


def extents(rng, least, most, largest=6):
    return [rng.randint(1, largest) for _ in range(rng.randint(least, most))]


def partly(rng, shape):
    """The shape with some extents, or all of it, unknown."""
    return None if rng.random() < 0.04 else [some(rng, d) for d in shape]


def signed(rng, axis, rank, opset=11):
    """The axis, sometimes counted from the end and sometimes outside."""
    if rng.random() < 0.05:
        axis = rank + rng.randint(0, 1)
    return axis - rank if opset >= 11 and rng.random() < 0.3 else axis


def listed(rng, opset, since, values, computed=0.08):
    """(operands, attribute): a list as older opsets and as newer ones hold it."""
    if opset < since:
        return [], values
    if rng.random() < computed:
        return [Computed([len(values)])], None
    return [Ints(values)], None


def squeeze(rng):
    opset = rng.choice([7, 11, 13, 21, 23])
    data = [rng.choice([1, 1, 2, 3]) for _ in range(rng.randint(0, 4))]
    ones = [i for i, d in enumerate(data) if d == 1]
    if rng.random() < 0.2 or not ones:
        return case("squeeze", [partly(rng, data)], {}, opset)
    axes = rng.sample(ones, rng.randint(1, len(ones)))
    if rng.random() < 0.1:
        axes[0] = rng.randint(0, len(data) - 1)
    if len(set(axes)) < len(axes):
        return None  # ONNX Runtime takes it
    if opset < 13:
        axes.sort()  # to onnx, they are
    axes = [signed(rng, axis, len(data), opset) for axis in axes]
    operands, attribute = listed(rng, opset, 13, axes)
    return case("squeeze", [partly(rng, data), *operands],
                {} if attribute is None else {"axes": attribute}, opset)


def unsqueeze(rng):
    opset = rng.choice([7, 11, 13, 21, 23])
    data = extents(rng, 0, 3)
    added = rng.randint(1, 3)
    rank = len(data) + added
    axes = rng.sample(range(rank), added)
    if rng.random() < 0.1:
        axes[0] = axes[-1]
    axes = [signed(rng, axis, rank, opset) for axis in axes]
    operands, attribute = listed(rng, opset, 13, axes)
    if opset < 11 and (len({*axes}) < len(axes) or max(axes) >= rank):
        return None  # onnx looks since opset 11
    return case("unsqueeze", [partly(rng, data), *operands],
                {} if attribute is None else {"axes": attribute}, opset)


def flatten(rng):
    opset = rng.choice([7, 9, 11, 13, 21, 23])
    data = extents(rng, 0, 4)
    attributes = {}
    if rng.random() < 0.7:
        attributes["axis"] = rng.randint(-len(data) - 1 if opset >= 11 else 0, len(data) + 1)
    return case("flatten", [partly(rng, data)], attributes, opset)


def cast(rng):
    opset = rng.choice([7, 9, 13, 19, 21, 23])
    made = case("cast", [partly(rng, extents(rng, 0, 3))],
                {"to": rng.choice(list(ELEMENTS))}, opset)
    return None if made and made[1] == "error" else made  # a type that this opset did not have


def expand(rng):
    opset = rng.choice([8, 13])
    data = extents(rng, 0, 3, 3)
    shape = [d if rng.random() < 0.7 else rng.choice([1, d, d, 4]) for d in data]
    data = [d if rng.random() < 0.6 else 1 for d in data]
    shape = extents(rng, 0, 2) + shape if rng.random() < 0.5 else shape[rng.randint(0, len(shape)):]
    operands, _ = listed(rng, opset, 0, shape)
    return case("expand", [partly(rng, data), *operands], {}, opset)


def slice_(rng):
    opset = rng.choice([7, 9, 10, 11, 13])
    data = extents(rng, 1, 4, 9)
    axes = rng.sample(range(len(data)), rng.randint(1, len(data)))
    if rng.random() < 0.3:
        axes.sort()
    named = rng.random() < 0.8
    if not named:
        axes = list(range(len(axes)))
    far = [2**31 - 1, 2**63 - 1, -2**31, -2**63]
    def bound(extent):
        return rng.choice(far) if rng.random() < 0.15 else rng.randint(-extent - 2, extent + 2)
    starts = [bound(data[axis]) for axis in axes]
    ends = [bound(data[axis]) for axis in axes]
    if rng.random() < 0.03:
        ends.append(1)
    steps = None
    if opset >= 10 and named and rng.random() < 0.6:
        steps = [rng.choice([-4, -3, -2, -1, 1, 1, 2, 3, 5, 2**63 - 1, -2**63]) for _ in axes]
        if rng.random() < 0.05:
            steps[0] = 0
    if any(step < 0 and end in (2**31 - 1, 2**63 - 1) for step, end in zip(steps or [], ends)):
        return None  # ONNX Runtime takes all to the front; the library says nothing
    if rng.random() < 0.05:
        axes[0] = axes[-1]
    if opset < 10 and len({*axes}) < len(axes):
        return None  # said by ONNX Runtime, and by onnx since opset 10
    axes = [signed(rng, axis, len(data), opset) for axis in axes]
    if opset < 10 and any(axis >= len(data) for axis in axes):
        return None  # onnx says nothing
    shape = partly(rng, data)
    if opset < 10:
        attributes = {"starts": starts, "ends": ends}
        if named:
            attributes["axes"] = axes
        return case("slice", [shape], attributes, opset)
    operands = [shape, *listed(rng, opset, 10, starts)[0], *listed(rng, opset, 10, ends)[0]]
    if named:
        operands += listed(rng, opset, 10, axes)[0]
    if steps is not None:
        operands += listed(rng, opset, 10, steps)[0]
    # What onnx refuses it looks at only when all is known.
    if any(isinstance(operand, Computed) for operand in operands) or None in (shape or []):
        if 0 in (steps or []) or len(ends) > len(starts) or len({*axes}) < len(axes):
            return None
    return case("slice", operands, {}, opset)


def split(rng):
    opset = rng.choice([7, 11, 13, 18])
    data = extents(rng, 1, 3, 9)
    axis = rng.randint(0, len(data) - 1)
    parts = rng.randint(1, 4)
    attributes = {} if rng.random() < 0.3 else {"axis": signed(rng, axis, len(data), opset)}
    operands = []
    if rng.random() < 0.5:
        sizes = [rng.randint(0, 4) for _ in range(parts)]
        data[axis if attributes else 0] = sum(sizes) if rng.random() < 0.9 else sum(sizes) + 1
        operands, attribute = listed(rng, opset, 13, sizes)
        if attribute is not None:
            attributes["split"] = attribute
    elif opset >= 18:
        attributes["num_outputs"] = parts
    elif rng.random() < 0.8:
        data[axis if attributes else 0] = parts * rng.randint(0, 3)
    return case("split", [partly(rng, data), *operands], attributes, opset, parts)


def concat(rng):
    opset = rng.choice([7, 11, 13])
    data = extents(rng, 1, 4)
    axis = rng.randint(0, len(data) - 1)
    operands = []
    for _ in range(rng.randint(1, 4)):
        shape = list(data)
        shape[axis] = rng.randint(0, 5)
        if rng.random() < 0.04:
            shape[rng.randint(0, len(data) - 1)] += 1
        if rng.random() < 0.02:
            shape.append(1)
        operands.append(partly(rng, shape))
    if None in operands and len({len(shape) for shape in operands if shape is not None}) > 1:
        return None  # onnx gives up at the one that is unknown
    return case("concat", operands, {"axis": signed(rng, axis, len(data), opset)}, opset)


def gather(rng):
    opset = rng.choice([7, 11, 13])
    data = extents(rng, 1, 4)
    axis = rng.randint(0, len(data) - 1)
    indices = Computed(partly(rng, extents(rng, 0, 3)))
    attributes = {} if rng.random() < 0.3 else {"axis": signed(rng, axis, len(data), opset)}
    shape = partly(rng, data)
    if (shape is None or indices.shape is None) and attributes.get("axis", 0) >= len(data):
        return None  # onnx gives up
    return case("gather", [shape, indices], attributes, opset)


def elementwise(rng):
    kind = rng.choice(["add", "multiply"])
    whole = extents(rng, 0, 4)
    def operand():
        shape = whole[rng.randint(0, len(whole)) if rng.random() < 0.3 else 0:]
        return [1 if rng.random() < 0.2 else d + (rng.random() < 0.03) for d in shape]
    a, b = operand(), operand()
    # onnx says nothing of an unknown extent that meets a known one; checked by hand.
    return case(kind, [partly(rng, a) if rng.random() < 0.3 else a, b], {},
                rng.choice([7, 13, 14]))


def einsum(rng):
    labels = rng.sample("abcdefXYZ", 4)
    sizes = {label: rng.randint(2, 5) for label in labels}
    terms = ["".join(rng.sample(labels, rng.randint(0, 3))) for _ in range(rng.randint(1, 3))]
    shapes = [partly(rng, [sizes[label] for label in term]) for term in terms]
    equation = rng.choice([",", " , "]).join(terms)
    if rng.random() < 0.7:
        there = sorted({*"".join(terms)})
        equation += rng.choice(["->", " -> "]) + "".join(
            rng.sample(there, rng.randint(0, len(there))))
    roll = rng.random()
    if roll < 0.05:
        shapes.append([2])
    elif roll < 0.1 and shapes[0] is not None:
        shapes[0].append(2)
    if roll < 0.1 and (None in shapes or not any(terms)):
        return None  # onnx gives up
    return case("einsum", shapes, {"equation": equation}, 12)


def conv_transpose(rng):
    n = rng.choice([1, 2, 2, 3])
    group = rng.choice([1, 1, 2, 4])
    kernel = [rng.randint(1, 4) for _ in range(n)]
    attributes = {}
    if rng.random() < 0.6:
        attributes["strides"] = [rng.randint(1, 3) for _ in range(n)]
    strides = attributes.get("strides", [1] * n)
    if rng.random() < 0.4:
        attributes["dilations"] = [rng.randint(1, 3) for _ in range(n)]
    if rng.random() < 0.3:
        attributes["output_padding"] = [rng.randint(0, stride - 1) for stride in strides]
    x = [rng.randint(1, 9) for _ in range(n)]
    mode = rng.choice(["pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode == "pads":
        attributes["pads"] = [rng.randint(0, 1) for _ in range(2 * n)]
    elif mode != "none":
        attributes["auto_pad"] = mode
    # onnx and ONNX Runtime pad differently there; the library says nothing.
    if mode in ("SAME_UPPER", "SAME_LOWER") and (
            "output_padding" in attributes or any(d % s for d, s in zip(x, strides))):
        return None
    if rng.random() < 0.4:
        attributes["kernel_shape"] = kernel
    if group != 1:
        attributes["group"] = group
    if rng.random() < 0.2:
        attributes["output_shape"] = [d * s + 1 for d, s in zip(x, strides)]
    channels = group * rng.randint(1, 3)
    operands = [[some(rng, 2), channels] + [some(rng, d) for d in x],
                [channels, rng.randint(1, 3)] + kernel]
    made = case("conv_transpose", operands, attributes, rng.choice([7, 11, 22]))
    if made and "0x" in made[1].replace("10x", ""):
        return None  # nothing is left: the library refuses it
    return made


def recurrent(rng):
    kind, gates, most = rng.choice([("rnn", 1, 2), ("gru", 3, 2), ("lstm", 4, 3)])
    opset = rng.choice([7, 14, 22])
    sequence, batch, inputs, hidden = (rng.randint(1, 6) for _ in range(4))
    attributes = {}
    if rng.random() < 0.9:
        attributes["hidden_size"] = hidden
    direction = rng.choice([None, "forward", "reverse", "bidirectional"])
    if direction:
        attributes["direction"] = direction
    directions = 2 if direction == "bidirectional" else 1
    x = [sequence, batch, inputs]
    state = [directions, batch, hidden]
    if opset >= 14 and rng.random() < 0.3:
        attributes["layout"] = 1
        x, state = [batch, sequence, inputs], [batch, directions, hidden]
    if rng.random() < 0.04:
        x.append(1)
    w = [directions, gates * hidden, inputs]
    r = [directions, gates * hidden, hidden]
    operands = [partly(rng, x), partly(rng, w), partly(rng, r)]
    if rng.random() < 0.7:
        operands.append([directions, 2 * gates * hidden])
    if len(operands) == 4 and rng.random() < 0.5:
        operands += [ABSENT, partly(rng, state)]
    return case(kind, operands, attributes, opset, rng.randint(1, most))


# --- operations that are carried as ONNX calls them: what onnx refuses is not looked at --------------


def carried(name, operands, attributes, opset=17):
    made = case(f"onnx.{name}", operands, attributes, opset)
    return None if made is None or made[1] == "error" else made


def pool(rng):
    n = rng.choice([1, 2, 2, 3])
    name = rng.choice(["MaxPool", "AveragePool", "LpPool"])
    kernel = [rng.randint(1, 4) for _ in range(n)]
    attributes = {"kernel_shape": kernel}
    if rng.random() < 0.6:
        attributes["strides"] = [rng.randint(1, 3) for _ in range(n)]
    if rng.random() < 0.3 and name == "MaxPool":
        attributes["dilations"] = [rng.randint(1, 2) for _ in range(n)]
    mode = rng.choice(["pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode == "pads":
        attributes["pads"] = [rng.randint(0, k - 1) for k in kernel * 2]
    elif mode != "none":
        attributes["auto_pad"] = mode
    if mode == "none" and rng.random() < 0.3 and name != "LpPool":
        attributes["ceil_mode"] = 1
        # onnx counts windows that begin behind the data.
        attributes["strides"] = [rng.randint(1, k) for k in kernel]
    x = [rng.randint(1, 3), rng.randint(1, 4), *(rng.randint(6, 15) for _ in range(n))]
    return carried(name, [partly(rng, x)], attributes, 19)


def pool_whole(rng):
    x = extents(rng, 3, 5)
    return carried(rng.choice(["GlobalAveragePool", "GlobalMaxPool"]), [partly(rng, x)], {})


def reduction(rng):
    x = extents(rng, 1, 4)
    name = rng.choice(["ReduceL2", "ReduceMax", "ReduceMean", "ReduceSum"])
    attributes = {} if rng.random() < 0.5 else {"keepdims": rng.randint(0, 1)}
    operands = [partly(rng, x)]
    if rng.random() < 0.8:
        axes = [signed(rng, axis, len(x)) for axis in
                rng.sample(range(len(x)), rng.randint(1, len(x)))]
        operands.append(Ints(axes))
    elif rng.random() < 0.5:
        attributes["noop_with_empty_axes"] = 1
    return carried(name, operands, attributes, 18)


def place(rng):
    x = extents(rng, 1, 4)
    return carried("ArgMax", [partly(rng, x)],
                   {"axis": signed(rng, rng.randrange(len(x)), len(x)), "keepdims": rng.randint(0, 1)})


def same(rng):
    return carried(rng.choice(["Relu", "Sigmoid", "Softmax"]), [partly(rng, extents(rng, 1, 4))], {})


def stretched(rng):
    whole = extents(rng, 0, 4)
    name = rng.choice(["Div", "Equal", "Less", "Max", "Min", "Pow", "Sub", "Sum"])
    count = rng.randint(2, 3) if name in ("Max", "Min", "Sum") else 2
    def operand():
        shape = whole[rng.randint(0, len(whole)) if rng.random() < 0.3 else 0:]
        return [1 if rng.random() < 0.2 else d for d in shape]
    return carried(name, [operand() for _ in range(count)], {})


def rearranged(rng):
    name = rng.choice(["DepthToSpace", "SpaceToDepth"])
    block = rng.randint(1, 3)
    x = [rng.randint(1, 3), 4 * 9, 6 * rng.randint(1, 3), 6 * rng.randint(1, 3)]
    return carried(name, [partly(rng, x)], {"blocksize": block})


def padded(rng):
    x = extents(rng, 1, 4)
    return carried("Pad", [partly(rng, x), Ints([rng.randint(-1, 3) for _ in range(2 * len(x))])], {})


def tiled(rng):
    x = extents(rng, 1, 4)
    return carried("Tile", [partly(rng, x), Ints([rng.randint(0, 3) for _ in x])], {})


def shape_of(rng):
    attributes = {}
    if rng.random() < 0.5:
        attributes["start"] = rng.randint(-3, 3)
    if rng.random() < 0.5:
        attributes["end"] = rng.randint(-3, 4)
    return carried("Shape", [extents(rng, 0, 4)], attributes)


def resized(rng):
    x = extents(rng, 1, 4)
    return carried("Resize", [partly(rng, x), ABSENT, ABSENT, Ints([rng.randint(1, 9) for _ in x])], {})


def newer(rng):
    """Of opset 24 and later, and CumSum, whose rule is that of CumProd."""
    name = rng.choice(["BitCast", "CumProd", "CumSum", "SwiGLU", "Swish", "TensorScatter"])
    x = extents(rng, 2, 4)
    operands, attributes = [partly(rng, x)], {}
    if name == "BitCast":
        attributes["to"] = rng.choice([TensorProto.INT32, TensorProto.UINT32, TensorProto.FLOAT])
    elif name == "SwiGLU":
        operands.append(operands[0])
    elif name == "TensorScatter":
        operands.append([*x[:-2], 1, x[-1]])
    elif name != "Swish":
        operands.append(Computed([]))
    return carried(name, operands, attributes, 28)


def main():
    rng = random.Random(SEED)
    lines = [f"// Made by onnx_shapes.py with onnx {onnx.__version__}."]
    for make, count in ((conv, 70), (matmul, 50), (gemm, 20), (reshape, 60), (transpose, 25),
                        (squeeze, 50), (unsqueeze, 50), (flatten, 40), (cast, 40), (expand, 50),
                        (slice_, 120), (split, 80), (concat, 60), (gather, 60), (elementwise, 60),
                        (einsum, 60), (conv_transpose, 60), (recurrent, 80), (pool, 90),
                        (pool_whole, 15), (reduction, 60), (place, 25), (same, 20), (stretched, 40),
                        (rearranged, 25), (padded, 30), (tiled, 20), (shape_of, 25), (resized, 20),
                        (newer, 40)):
        seen = set()
        while len(seen) < count:
            made = make(rng)
            if made and made not in seen:
                seen.add(made)
                lines.append(f'{{R"({made[0]})", "{made[1]}"}},')
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
