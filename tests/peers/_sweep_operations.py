"""Operations that random models are made of: functions that draw operands and attributes, and add a node or a
few to a `Builder`."""

import numpy as np
from onnx import TensorProto, helper

from _sweep_builder import Refused, info_of, type_of

OPERATIONS = []  # (weight, weight in models of common operations alone, function)


def operation(weight, rare=False):
    def register(function):
        OPERATIONS.append((weight, 0 if rare else weight, function))
        return function

    return register


def spatial(value):
    return value.rank - 2


def paddings(b, extents, kernel, most=2):
    """`auto_pad` or `pads`, or neither."""
    how = b.integer(0, 5)
    if how == 0:
        return {"auto_pad": b.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}
    if how < 4:
        half = [min(most, k - 1, n - 1) for k, n in zip(kernel, extents)] * 2
        return {"pads": [b.integer(0, max(0, most)) for most in half]}
    return {}


def windows(b, value, largest=3, dilations=True):
    """Attributes of a convolution or pooling over a value's pixels."""
    extents = value.shape[2:]
    kernel = [b.integer(1, min(largest, n)) for n in extents]
    found = {"kernel_shape": kernel, **paddings(b, extents, kernel)}
    if b.chance(0.4):
        found["strides"] = b.integers(1, 3 if b.chance(0.2) else 2, len(kernel))
    if dilations and b.chance(0.2):
        found["dilations"] = b.integers(1, 2, len(kernel))
        if any((k - 1) * step >= n for k, step, n in zip(kernel, found["dilations"], extents)):
            raise Refused("a window beyond the image, of which ONNX Runtime makes one all the same")
    return found


# --- products --------------------------------------------------------------------------------------


@operation(10)
def conv(b):
    x = b.pick(3, 4, 4, 5)
    channels = x.shape[1]
    group = b.choice([1, 1, channels, b.choice(g for g in range(1, channels + 1) if channels % g == 0)])
    features = group * b.integer(1, 8 if group == 1 else 2)
    attributes = windows(b, x, 3 if b.chance(0.8) else 5)
    fan_in = channels // group * int(np.prod(attributes["kernel_shape"]))
    w = b.normal(features, channels // group, *attributes["kernel_shape"], scale=fan_in ** -0.5)
    if b.chance(0.3):
        del attributes["kernel_shape"]
    bias = b.weight(b.normal(features, scale=0.3)) if b.chance(0.6) else None
    b.add("Conv", x, b.weight(w), bias, group=group if group > 1 or b.chance(0.3) else None, **attributes)


@operation(3, rare=True)
def conv_transpose(b):
    x = b.pick(3, 4, 4)
    channels = x.shape[1]
    group = b.choice([1, 1, 1, channels])
    features = b.integer(1, 5 if group == 1 else 2)
    attributes = windows(b, x, 4)
    strides = attributes.get("strides", [1] * spatial(x))
    if b.chance(0.2):
        attributes["output_padding"] = [b.integer(0, stride - 1) for stride in strides]
    elif b.chance(0.2):
        attributes["output_shape"] = [n * stride + b.integer(-1, 1) for n, stride in zip(x.shape[2:], strides)]
    w = b.normal(channels, features, *attributes["kernel_shape"], scale=channels ** -0.5)
    bias = b.weight(b.normal(features * group)) if b.chance(0.5) else None
    b.add("ConvTranspose", x, b.weight(w), bias, group=group if group > 1 else None, **attributes)


@operation(8)
def matmul(b):
    x = b.pick(1, 2, 2, 3, 3, 4)
    depth, columns = x.shape[-1], b.integer(1, 12)
    how = b.integer(0, 9)
    if how < 6:
        b.add("MatMul", x, b.weight(b.normal(depth, columns, scale=depth ** -0.5)))
    elif how == 6 and x.rank > 2:  # a weight for each of the batch
        lead = x.shape[1:-2] if x.rank == 4 else x.shape[:-2]
        b.add("MatMul", x, b.weight(b.normal(*lead, depth, columns, scale=depth ** -0.5)))
    elif how == 7 and x.rank > 1:  # the weight on the left
        rows = x.shape[-2]
        b.add("MatMul", b.weight(b.normal(columns, rows, scale=rows ** -0.5)), x)
    elif how == 8:
        b.add("MatMul", x, b.weight(b.normal(depth, scale=depth ** -0.5)))
    elif x.rank > 1:
        other = b.pick(x.rank, fits=lambda y: y.shape[:-2] == x.shape[:-2] and y.shape[-1] == depth)
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        (turned,) = b.add("Transpose", other, perm=perm)
        (scaled,) = b.add("Mul", turned, b.constant(np.asarray(depth ** -0.5, b.dtype)))
        b.add("MatMul", x, scaled)


@operation(5)
def gemm(b):
    x = b.pick(2)
    turned_x, turned_w = int(b.chance(0.2)), int(b.chance(0.5))
    rows, depth = x.shape[::-1] if turned_x else x.shape
    columns = b.integer(1, 12)
    w = b.normal(depth, columns, scale=depth ** -0.5)
    shape = b.choice([(columns,), (columns,), (1, columns), (), (rows, 1), (rows, columns)])
    c = b.weight(b.normal(*shape, scale=0.5)) if b.chance(0.7) else None
    b.add("Gemm", x, b.weight(w.T if turned_w else w), c, transA=turned_x or None, transB=turned_w or None,
          alpha=b.choice([None, None, 0.5, 2.0]), beta=b.choice([None, None, 0.5]))


@operation(1, rare=True)
def einsum(b):
    x = b.pick(2, 3)
    letters = "abc"[:x.rank]
    w = b.weight(b.normal(x.shape[-1], 4, scale=x.shape[-1] ** -0.5))
    b.add("Einsum", x, w, equation=f"{letters},{letters[-1]}d->{letters[:-1]}d")


# --- poolings --------------------------------------------------------------------------------------


@operation(6)
def pool(b):
    x = b.pick(3, 4, 4, 5)
    op = b.choice(["MaxPool", "AveragePool", "MaxPool", "AveragePool", "LpPool"])
    attributes = windows(b, x, 4, dilations=b.opset >= {"MaxPool": 0, "LpPool": 18, "AveragePool": 19}[op])
    if "auto_pad" in attributes:  # ONNX Runtime passes over one of the two
        attributes.pop("dilations", None)
    if op == "LpPool":  # ONNX's rules of shapes count windows that ONNX Runtime leaves out, rounding up
        attributes["p"] = b.choice([None, 1, 3])
    elif b.chance(0.35):
        attributes["ceil_mode"] = 1
    # Before opset 19, releases of ONNX Runtime differ in what counts where windows leave the padding.
    if op == "AveragePool" and b.chance(0.5) and (b.opset >= 19 or "ceil_mode" not in attributes):
        attributes["count_include_pad"] = 1
    b.add(op, x, outputs=2 if op == "MaxPool" and b.chance(0.05) else 1, **attributes)


@operation(2)
def global_pool(b):
    b.add(b.choice(["GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool"]), b.pick(3, 4, 4))


# --- element by element ----------------------------------------------------------------------------


def broadcast_shape(b, shape):
    """Of an operand that broadcasts to `shape`."""
    kept = [n if b.chance(0.5) else 1 for n in shape]
    return b.choice([(), (1,), shape, kept, kept[b.integer(0, len(kept)):]])


def channel_shape(x):
    return (x.shape[1],) + (1,) * spatial(x) if x.rank > 2 else x.shape[-1:]


@operation(12)
def binary(b):
    op = b.choice(["Add", "Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min", "Pow", "PRelu"])
    x = b.pick()
    shape = b.choice([channel_shape(x), broadcast_shape(b, x.shape)])
    if op in ("Add", "Sub", "Mul", "Max", "Min") and b.chance(0.5):
        def fits(y):
            return y.rank <= 5 and all(n == m or 1 in (n, m) for n, m in zip(x.shape[::-1], y.shape[::-1]))

        b.add(op, *b.choice([lambda: (x, b.pick(fits=fits)), lambda: (b.pick(fits=fits), x)])())
    elif op == "Pow":
        b.add(op, b.add("Abs", x)[0], b.constant(np.asarray(b.choice([2, 0.5, 3, 1.5]), b.dtype)))
    elif op == "Div":
        w = b.weight(b.positive(*shape))
        b.add(op, x, w) if b.chance(0.8) else b.add(op, w, b.add("Exp", b.add("Tanh", x)[0])[0])
    elif op == "PRelu":
        b.add(op, x, b.weight(b.normal(*channel_shape(x) if b.chance(0.7) else shape, scale=0.3)))
    else:
        operands = [x, b.weight(b.normal(*shape))]
        b.add(op, *operands if b.chance(0.7) else operands[::-1])


@operation(1, rare=True)
def many(b):
    x = b.pick()
    others = [b.pick(fits=lambda y: y.shape == x.shape) for _ in range(b.integer(0, 2))]
    b.add(b.choice(["Sum", "Mean", "Max", "Min"]), x, *others)


COMMON = ("Relu", "Relu", "Relu", "LeakyRelu", "Sigmoid", "Sigmoid", "Tanh", "Tanh", "Elu", "HardSigmoid", "HardSwish",
          "Gelu", "Abs", "Neg", "Erf", "Softplus", "Identity", "Dropout")
UNARY = (*COMMON, "Selu", "Celu", "Softsign", "ThresholdedRelu", "Mish", "Sin", "Cos", "Tan", "Atan", "Sinh", "Asinh", "Sign",
         "Floor", "Ceil", "Round", "Shrink", "Swish")
ATTRIBUTES = {
    "LeakyRelu": ("alpha", (None, 0.1, 0.3)), "Elu": ("alpha", (None, 0.5)), "Celu": ("alpha", (None, 2.0)),
    "HardSigmoid": ("alpha", (None, 0.3)), "ThresholdedRelu": ("alpha", (None, 0.3)), "Shrink": ("bias", (None, 0.2)),
}


@operation(12)
def unary(b):
    op = b.choice(COMMON if b.is_common else UNARY)
    key, values = ATTRIBUTES.get(op, ("", (None,)))
    attributes = {key: b.choice(values)} if key else {}
    if op == "Gelu" and b.opset < 20:
        return b.add("Gelu", b.pick(), domain="com.microsoft")
    if op == "Gelu":
        attributes = {"approximate": b.choice([None, "tanh"])}
    return b.add(op, b.pick(), **attributes)


@operation(2)
def guarded(b):
    """Functions of numbers of one sign."""
    x = b.pick()
    (magnitude,) = b.add("Abs", x)
    (away,) = b.add("Add", magnitude, b.constant(np.asarray(0.5, b.dtype)))
    b.add(b.choice(["Sqrt", "Log", "Reciprocal"]), away)


@operation(1)
def exponential(b):
    b.add("Exp", b.pick(fits=lambda x: x.array.max() < 4))


@operation(4)
def clip(b):
    low, high = (None if b.chance(0.2) else b.constant(np.asarray(limit, b.dtype))
                 for limit in (b.choice([0, -1, -0.5, 0.1]), b.choice([6, 1, 0.9])))
    b.add("Clip", b.pick(), low, high)


@operation(1)
def swish(b):
    x = b.pick()
    b.add("Mul", x, b.add("Sigmoid", x)[0])


# --- moves -----------------------------------------------------------------------------------------


@operation(6)
def reshape(b):
    x = b.pick()
    extents = list(x.shape)
    if b.chance(0.7) and len(extents) > 1:  # two axes become one, or the other way
        axis = b.integer(0, len(extents) - 2)
        extents[axis:axis + 2] = [extents[axis] * extents[axis + 1]]
    else:
        axis = b.integer(0, len(extents) - 1)
        divisor = b.choice(d for d in range(1, extents[axis] + 1) if extents[axis] % d == 0)
        extents[axis:axis + 1] = [divisor, extents[axis] // divisor]
    same = 0
    while same < min(x.rank, len(extents)) and x.shape[same] == extents[same]:
        same += 1
    target = [0 if i < same and b.chance(0.7) else n for i, n in enumerate(extents)]
    if b.opens and axis not in range(same) or b.chance(0.5):
        target[axis if axis >= same else -1] = -1
    b.add("Reshape", x, b.ints(*target))


@operation(1)
def flatten(b):
    x = b.pick()
    b.add("Flatten", x, axis=b.choice([None, b.integer(-x.rank, x.rank)]))


@operation(2)
def computed_reshape(b):
    """The batch, and the others together: by Shape."""
    x = b.pick(2, 3, 4)
    (shape,) = b.make("Shape", x)
    if b.chance(0.5):
        (batch,) = b.make("Gather", shape, b.constant(0, np.int64), axis=0)
        (first,) = unsqueezed(b, batch)
    else:
        (first,) = b.make("Slice", shape, b.ints(0), b.ints(1), b.ints(0))
    (target,) = b.make("Concat", first, b.ints(-1), axis=0)
    b.add("Reshape", x, target)


def unsqueezed(b, value, axes=(0,), add=False):
    by = b.add if add else b.make
    return by("Unsqueeze", value, axes=axes) if b.opset < 13 else by("Unsqueeze", value, b.ints(*axes))


@operation(6)
def transpose(b):
    x = b.pick(2, 3, 4, 5)
    last = x.rank - 1
    order = b.choice([b.rng.permutation(x.rank), [0, *range(2, x.rank), 1], [0, last, *range(1, last)]])
    b.add("Transpose", x, perm=None if b.chance(0.1) else [int(axis) for axis in order])


@operation(4)
def slice_(b):
    x = b.pick()
    axes = sorted(int(a) for a in b.rng.permutation(x.rank)[:b.integer(1, 2)])
    starts, ends, steps = [], [], []
    for axis in axes:
        extent, step = x.shape[axis], b.choice([1, 1, 1, 2, -1, -2])
        first = b.integer(0, max(0, extent - 2))
        last = b.choice([b.integer(first + 1, extent), 2**31 - 1, 2**63 - 1, -1 if first < extent - 1 else extent])
        if step < 0:
            first, last = b.choice([-1, extent - 1, 2**31 - 1]), b.choice([-2**31, -2**63, b.integer(0, extent - 2)])
        starts.append(first)
        ends.append(last)
        steps.append(step)
    axes = [axis - x.rank if b.chance(0.3) else axis for axis in axes]
    has_steps = any(step != 1 for step in steps) or b.chance(0.3)
    b.add("Slice", x, b.ints(*starts), b.ints(*ends), b.ints(*axes), b.ints(*steps) if has_steps else None)


@operation(4)
def pad(b):
    x = b.pick()
    modes = ["constant", "constant", "edge", "reflect"] + (["wrap"] if b.opset >= 19 else [])
    mode = b.choice(modes)
    least = -1 if mode == "constant" and b.chance(0.1) else 0
    pads = [b.integer(least, min(2, n - 1)) if b.chance(0.6) else 0 for n in x.shape * 2]
    value = b.constant(np.asarray(b.choice([0, 1, -2.5]), b.dtype)) if mode == "constant" and b.chance(0.6) else None
    axes = None
    if b.opset >= 18 and b.chance(0.3):
        axis = b.integer(0, x.rank - 1)
        pads, axes = [pads[axis], pads[axis + x.rank]], b.ints(axis if b.chance(0.5) else axis - x.rank)
    b.add("Pad", x, b.ints(*pads), value, axes, mode=mode if mode != "constant" or b.chance(0.5) else None)


@operation(5)
def concat(b):
    x = b.pick()
    axis = b.integer(0, x.rank - 1)

    def fits(y):
        return all(n == m or i == axis for i, (n, m) in enumerate(zip(x.shape, y.shape)))

    others = [b.pick(x.rank, fits=fits) for _ in range(b.integer(0, 2))]
    if b.chance(0.2):
        others.append(b.weight(b.normal(*x.shape[:axis], b.integer(1, 2), *x.shape[axis + 1:])))
    b.add("Concat", x, *others, axis=axis if b.chance(0.7) else axis - x.rank)


@operation(3)
def split(b):
    x = b.pick(fits=lambda x: max(x.shape, default=0) > 1)
    axis = b.choice(axis for axis, extent in enumerate(x.shape) if extent > 1)
    extent = x.shape[axis]
    count = b.integer(2, min(3, extent))
    cuts = sorted(int(c) for c in b.rng.permutation(range(1, extent))[:count - 1])
    parts = [int(n) for n in np.diff([0, *cuts, extent])]
    axis = axis if b.chance(0.7) else axis - x.rank
    if b.chance(0.4) and (extent % count == 0 or b.opset >= 18):
        b.add("Split", x, axis=axis, outputs=count, num_outputs=count if b.opset >= 18 else None)
    elif b.opset < 13:
        b.add("Split", x, axis=axis, split=parts, outputs=count)
    else:
        b.add("Split", x, b.ints(*parts), axis=axis, outputs=count)


@operation(2)
def squeeze(b):
    x = b.pick(fits=lambda x: 1 in x.shape)
    axes = [axis for axis, extent in enumerate(x.shape) if extent == 1 and (axis or not b.opens)]
    if b.chance(0.3):
        axes = None
    elif b.chance(0.5) or not axes:
        axes = [b.choice(axes) - x.rank * b.integer(0, 1)]
    if axes is None or b.opset >= 13:
        b.add("Squeeze", x, axes and b.ints(*axes))
    else:
        b.add("Squeeze", x, axes=axes)


@operation(2)
def unsqueeze(b):
    x = b.pick(1, 2, 3)
    unsqueezed(b, x, b.choice([[0], [-1], [b.integer(0, x.rank)], [0, 2], [1, -1]]), add=True)


@operation(2)
def expand(b):
    x = b.pick(1, 2, 3, 4)
    shape = [b.integer(2, 3) if n == 1 and b.chance(0.7) else b.choice([n, 1]) for n in x.shape]
    b.add("Expand", x, b.ints(*([2] if b.chance(0.2) and x.rank < 4 else []), *shape))


@operation(2)
def tile(b):
    x = b.pick(1, 2, 3, 4)
    b.add("Tile", x, b.ints(*(2 if b.chance(0.4) else 1 for _ in x.shape)))


@operation(4)
def gather(b):
    x = b.pick()
    axis = b.axis(x)
    extent = x.shape[axis]
    shape = b.choice([(), (1,), (3,), (2, 2)])
    indices = b.constant(b.rng.integers(-extent if b.chance(0.3) else 0, extent, shape), b.choice([np.int64, np.int32]))
    b.add("Gather", x, indices, axis=axis)


@operation(3)
def lookup(b):
    """A table of weights, read by an input of indices."""
    rows, columns, shape = b.integer(3, 12), b.integer(2, 8), b.choice([(4,), (2, 3), (1, 5)])

    def draw(rng, shape):
        return rng.integers(0, rows, shape)

    indices = b.input(draw(b.rng, shape).astype(b.choice([np.int64, np.int32])), draw, [0] if b.opens else ())
    b.add("Gather", b.weight(b.normal(rows, columns)), indices)


@operation(1, rare=True)
def gather_elements(b):
    x = b.pick(1, 2, 3)
    axis = b.axis(x)
    extents = [b.integer(1, n) if b.chance(0.5) else n for n in x.shape]
    b.add("GatherElements", x, b.constant(b.rng.integers(0, x.shape[axis], extents), np.int64), axis=axis)


@operation(1, rare=True)
def scatter(b):
    x = b.pick(1, 2, 3)
    rows = b.rng.permutation(x.shape[0])[:b.integer(1, 2)].reshape(-1, 1)
    b.add("ScatterND", x, b.constant(rows, np.int64), b.weight(b.normal(len(rows), *x.shape[1:])))


@operation(2)
def depth_and_space(b):
    if b.chance(0.5):
        x = b.pick(4, fits=lambda x: x.shape[1] % 4 == 0)
        b.add("DepthToSpace", x, blocksize=2, mode=b.choice([None, "DCR", "CRD"]))
    else:
        b.add("SpaceToDepth", b.pick(4, fits=lambda x: x.shape[2] % 2 == x.shape[3] % 2 == 0), blocksize=2)


@operation(1, rare=True)
def triangle(b):
    b.add("Trilu", b.pick(2, 3), b.choice([None, b.constant(b.integer(-1, 1), np.int64)]), upper=b.integer(0, 1))


def has_ties(extent, size, coordinates, nearest):
    """Whether a place is halfway between two elements, or on one, so that the last bits of fractions, which runtimes
    compute in their own ways, decide between two. Scales that are integers are exact in all."""
    if size % extent == 0 or extent % size == 0:
        return False
    places = {"asymmetric": np.arange(size) * extent / size,
              "align_corners": np.arange(size) * (extent - 1) / max(1, size - 1),
              }.get(coordinates, (np.arange(size) + 0.5) * extent / size - 0.5)
    edge = 0 if nearest in ("floor", "ceil") else 0.5
    return bool((np.abs((places[places != 0] - edge + 0.5) % 1 - 0.5) < 1e-4).any())


@operation(5)
def resize(b):
    x = b.pick(3, 4, 4, 4)
    mode = b.choice(["nearest", "nearest", "linear", "linear", "cubic"])
    modes = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    attributes = {"mode": mode, "coordinate_transformation_mode": b.choice([None, *modes])}
    if mode == "nearest":
        attributes["nearest_mode"] = b.choice([None, "floor", "ceil", "round_prefer_ceil", "round_prefer_floor"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = b.choice([None, -0.5])
        attributes["exclude_outside"] = b.choice([None, 1])
    if b.opset >= 18 and b.chance(0.1):
        attributes["antialias"] = 1
    no_roi = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else None
    how = b.integer(0, 4)
    if how < 2:
        scales = [1, 1, *(b.choice([2, 2, 1.5, 0.5, 0.7, 3]) for _ in x.shape[2:])]
        b.add("Resize", x, no_roi, b.constant(np.array(scales, np.float32)), **attributes)
        return
    no_scales = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else None
    sizes = [*x.shape[:2], *(b.choice([2 * n, n + 1, max(1, n // 2), n]) for n in x.shape[2:])]
    how_nearest = attributes["coordinate_transformation_mode"], attributes.get("nearest_mode")
    if mode == "nearest" and any(has_ties(n, size, *how_nearest) for n, size in zip(x.shape, sizes)):
        sizes = [*x.shape[:2], *(2 * n for n in x.shape[2:])]
    if how < 4 and not b.opens:
        b.add("Resize", x, no_roi, no_scales, b.ints(*sizes), **attributes)
        return
    if b.opset >= 18 and b.chance(0.4):
        axes = list(range(2, x.rank))
        b.add("Resize", x, no_roi, no_scales, b.ints(*sizes[2:]), axes=axes, **attributes)
        return
    (shape,) = b.make("Shape", x)
    (first,) = b.make("Slice", shape, b.ints(0), b.ints(2), b.ints(0))
    (rest,) = b.make("Slice", shape, b.ints(2), b.ints(x.rank), b.ints(0))
    (rest,) = b.make("Mul", rest, b.ints(*[2] * spatial(x)))
    (sizes,) = b.make("Concat", first, rest, axis=0)
    b.add("Resize", x, no_roi, no_scales, sizes, **attributes)


# --- over axes -------------------------------------------------------------------------------------


@operation(5)
def reduce(b):
    op = b.choice(["ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                   "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"])
    x = b.pick()
    axes = None
    if x.rank and b.chance(0.9):
        axes = [int(a) for a in b.rng.permutation(x.rank)[:b.integer(1, min(2, x.rank))]]
        axes = [axis - x.rank if b.chance(0.3) else axis for axis in axes]
    keep = b.choice([None, 0, 1])
    if b.opset >= (13 if op == "ReduceSum" else 18):
        b.add(op, x, axes and b.ints(*axes), keepdims=keep)
    else:
        b.add(op, x, axes=axes, keepdims=keep)


@operation(4)
def softmax(b):
    x = b.pick(1, 2, 3, 4)
    b.add(b.choice(["Softmax", "Softmax", "LogSoftmax"]), x, axis=b.choice([None, -1, b.axis(x)]))


@operation(3)
def batch_normalization(b):
    x = b.pick(2, 3, 4, 4)
    n = x.shape[1]
    b.add("BatchNormalization", x, b.weight(b.positive(n)), b.weight(b.normal(n)), b.weight(b.normal(n)),
          b.weight(b.positive(n)), epsilon=b.choice([None, 1e-3]))


@operation(3)
def normalization(b):
    op = b.choice(["LayerNormalization", "LayerNormalization", "InstanceNormalization"] + ([] if b.is_common else [
        "LRN", "LpNormalization", "MeanVarianceNormalization", "GroupNormalization", "RMSNormalization"]))
    if op in ("LayerNormalization", "RMSNormalization"):
        x = b.pick(2, 3, 4)
        axis = -1 if b.chance(0.8) else b.axis(x)
        shape = x.shape[axis % x.rank:]
        bias = [b.weight(b.normal(*shape))] if op == "LayerNormalization" and b.chance(0.8) else []
        b.add(op, x, b.weight(b.positive(*shape)), *bias, axis=axis)
    elif op in ("InstanceNormalization", "GroupNormalization"):
        x = b.pick(3, 4)
        n = x.shape[1]
        groups = None if op[0] == "I" else b.choice(g for g in range(1, n + 1) if n % g == 0)
        b.add(op, x, b.weight(b.positive(n)), b.weight(b.normal(n)), num_groups=groups)
    elif op == "LpNormalization":
        x = b.pick(2, 3, 4)
        b.add(op, x, axis=b.axis(x), p=b.choice([None, 1]))
    else:
        b.add(op, b.pick(4), size=b.choice([1, 3]) if op == "LRN" else None)


@operation(1, rare=True)
def cumulative_sum(b):
    x = b.pick(1, 2, 3)
    axis = b.constant(b.axis(x), b.choice([np.int32, np.int64]))
    b.add("CumSum", x, axis, exclusive=b.choice([None, 1]), reverse=b.choice([None, 1]))


@operation(1, rare=True)
def reverse_sequence(b):
    x = b.pick(2, 3)
    lengths = b.constant(b.rng.integers(1, x.shape[1] + 1, x.shape[0]), np.int64)
    b.add("ReverseSequence", x, lengths, batch_axis=0, time_axis=1)


# --- other types than floats -----------------------------------------------------------------------


def as_floats(b, value):
    return b.add("Cast", value, to=type_of(b.dtype))


@operation(2)
def arg(b):
    x = b.pick()
    (found,) = b.add(b.choice(["ArgMax", "ArgMin"]), x, axis=b.axis(x), keepdims=b.choice([None, 0]))
    if b.chance(0.4):
        as_floats(b, found)


@operation(1, rare=True)
def top(b):
    x = b.pick(1, 2, 3)
    axis = b.axis(x)
    k = b.ints(b.integer(1, x.shape[axis]))
    b.add("TopK", x, k, axis=axis, largest=b.choice([None, 0]), outputs=2)


COMPARISONS = ("Greater", "Less", "GreaterOrEqual", "LessOrEqual")


@operation(3)
def where(b):
    x = b.pick()
    (condition,) = b.add(b.choice(COMPARISONS), x, b.weight(b.normal(*broadcast_shape(b, x.shape), scale=0.5)))
    if b.chance(0.3):
        (other,) = b.add(b.choice(COMPARISONS), x, b.constant(np.asarray(0.3, b.dtype)))
        (condition,) = b.add(b.choice(["And", "Or", "Xor"]), condition, other)
    if b.chance(0.2):
        (condition,) = b.add("Not", condition)
    if b.chance(0.2):
        as_floats(b, condition)
    else:
        operands = [x, b.choice([lambda: b.weight(b.normal(*broadcast_shape(b, x.shape))),
                                 lambda: b.pick(fits=lambda y: y.shape == x.shape)])()]
        b.add("Where", condition, *operands if b.chance(0.7) else operands[::-1])


@operation(1, rare=True)
def mask(b):
    """An input of Booleans that chooses."""
    x = b.pick(2, 3, 4)

    def draw(rng, shape):
        return rng.random(shape) > 0.5

    shape = (1,) * (x.rank - 1) + x.shape[-1:]
    given = b.input(draw(b.rng, shape), draw)
    b.add("Where", given, x, b.constant(np.asarray(b.choice([0, -5, -1000]), b.dtype)))


@operation(1)
def cast(b):
    kinds = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64
    (there,) = b.add("Cast", b.pick(), to=b.choice(kinds))
    if there.dtype != b.dtype:
        as_floats(b, there)


@operation(1, rare=True)
def one_hot(b):
    depth = b.integer(2, 5)
    indices = b.choice([v for v in b.values if v.dtype == np.int64])
    values = b.constant(np.array([0, 1], b.dtype))
    b.add("OneHot", indices, b.constant(depth, np.int64), values, axis=b.choice([None, -1, 0]))


@operation(1, rare=True)
def integers(b):
    """Arithmetic of shapes that are an output."""
    (shape,) = b.make("Shape", b.pick(2, 3, 4))
    (found,) = b.add(b.choice(["Add", "Mul", "Sub"]), shape, b.ints(b.integer(1, 3)))
    if b.chance(0.4):
        as_floats(b, found)


# --- recurrences and control flow ------------------------------------------------------------------


@operation(2, rare=True)
def recurrence(b):
    x = b.pick(3)
    op, gates = b.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    hidden, direction = b.integer(2, 5), b.choice(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    steps, batch, inputs = x.shape
    w = b.weight(b.normal(ways, gates * hidden, inputs, scale=0.5))
    r = b.weight(b.normal(ways, gates * hidden, hidden, scale=0.5))
    bias = b.weight(b.normal(ways, 2 * gates * hidden, scale=0.3)) if b.chance(0.7) else None
    initial = b.weight(b.normal(ways, batch, hidden)) if b.chance(0.3) else None
    b.add(op, x, w, r, bias, None, initial, hidden_size=hidden, direction=direction,
          outputs=b.integer(1, 3 if op == "LSTM" else 2),
          linear_before_reset=b.choice([None, 1]) if op == "GRU" else None)


@operation(0.4, rare=True)
def branch(b):
    x = b.pick()
    (mean,) = b.make("ReduceMean", x, keepdims=0)
    (condition,) = b.make("Greater", mean, b.constant(np.asarray(0, b.dtype)))
    graphs = []
    for op in ("Relu", "Neg"):
        result = b.name()
        graphs.append(helper.make_graph([helper.make_node(op, [x.name], [result])], op, [],
                                        [info_of(result, x.dtype, None)]))
    b.add("If", condition, then_branch=graphs[0], else_branch=graphs[1])


@operation(0.3, rare=True)
def loop(b):
    x = b.pick()
    step, keep_in, keep_out, before, after = (b.name() for _ in range(5))
    body = helper.make_graph(
        [helper.make_node("Identity", [keep_in], [keep_out]), helper.make_node("Tanh", [before], [after])], "body",
        [info_of(step, np.int64, []), info_of(keep_in, bool, []), info_of(before, x.dtype, x.shape)],
        [info_of(keep_out, bool, []), info_of(after, x.dtype, x.shape)])
    b.add("Loop", b.constant(b.integer(1, 3), np.int64), b.constant(True), x, body=body)
