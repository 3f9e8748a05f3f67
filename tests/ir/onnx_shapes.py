"""Writes onnx_shapes.inc: random graphs of one operation and what onnx's own shape inference says.

    python3 tests/ir/onnx_shapes.py > tests/ir/onnx_shapes.inc

The file in the repository is from onnx 1.19.1.
"""
import random

import numpy
import onnx
from onnx import TensorProto, helper, shape_inference

SEED = 20261120
KINDS = {"conv": "Conv", "matmul": "MatMul", "gemm": "Gemm", "reshape": "Reshape",
         "transpose": "Transpose"}


def text_type(shape, element="f32"):
    return "tensor<" + "".join(f"{'?' if d is None else d}x" for d in shape) + element + ">"


def text_value(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def case(kind, operands, attributes, constant=None):
    """operands: shapes; constant: contents of a second operand (reshape)."""
    lines, inputs, initializers = [], [], []
    names = []
    for i, shape in enumerate(operands):
        name = "abc"[i]
        names.append(name)
        if shape is None:
            lines.append(f"%{name}: tensor<*xf32> = input()")
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        else:
            lines.append(f"%{name}: {text_type(shape)} = input()")
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    if constant is not None:
        names.append("s")
        lines.append(f"%s: tensor<{len(constant)}xi64> = constant() {constant}")
        initializers.append(helper.make_tensor("s", TensorProto.INT64, [len(constant)], constant))
    dictionary = ", ".join(f"{k} = {text_value(v)}" for k, v in attributes.items())
    lines.append(f"%y: tensor<*xundefined> = {kind}({', '.join('%' + n for n in names)})"
                 + (f" {{{dictionary}}}" if dictionary else ""))
    node = helper.make_node(KINDS[kind], names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs,
                              [helper.make_empty_tensor_value_info("y")], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    try:
        inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except shape_inference.InferenceError:
        return "\n".join(lines), "error"
    type_ = inferred.graph.output[0].type.tensor_type
    if not type_.HasField("shape"):
        return "\n".join(lines), "tensor<*xf32>"
    extents = [d.dim_value if d.HasField("dim_value") else None for d in type_.shape.dim]
    if any(d is not None and d < 0 for d in extents):
        return None
    return "\n".join(lines), text_type(extents)


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
        return case("reshape", [[some(rng, d) for d in data]], {},
                    target) if 0 not in target else None
    return case("reshape", [data], {}, target)


def transpose(rng):
    n = rng.randint(1, 4)
    perm = list(range(n))
    rng.shuffle(perm)
    if rng.random() < 0.2:
        perm[0] = rng.randint(0, n)
    attributes = {} if rng.random() < 0.3 else {"perm": perm}
    return case("transpose", [[some(rng, rng.randint(1, 9)) for _ in range(n)]], attributes)


def main():
    rng = random.Random(SEED)
    print(f"// Made by onnx_shapes.py with onnx {onnx.__version__}. Do not edit.")
    for make, count in ((conv, 70), (matmul, 50), (gemm, 20), (reshape, 60), (transpose, 25)):
        seen = set()
        while len(seen) < count:
            made = make(rng)
            if made and made not in seen:
                seen.add(made)
                print(f'{{R"({made[0]})", "{made[1]}"}},')


main()
