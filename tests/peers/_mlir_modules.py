"""Modules of MLIR, written together with what they compute: small networks of linalg on tensors."""

import itertools

import numpy as np


def type_of(array):
    kinds = {"float32": "f32", "int8": "i8", "int32": "i32"}
    return "tensor<" + "".join(f"{extent}x" for extent in array.shape) + kinds[array.dtype.name] + ">"


def dense(array):
    """The contents, bit by bit."""
    return 'dense<"0x' + np.ascontiguousarray(array).tobytes().hex().upper() + f'"> : {type_of(array)}'


def windows(image, kernel_shape, strides, dilations):
    """(position, patch [N, KH, KW, C]) for each position of a kernel on an image [N, H, W, C]."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations)]
    extents = [(image.shape[1 + i] - reach[i]) // strides[i] + 1 for i in range(2)]
    for y, x in itertools.product(*map(range, extents)):
        top, left = y * strides[0], x * strides[1]
        yield (y, x), image[:, top:top + reach[0]:dilations[0], left:left + reach[1]:dilations[1], :]


def convolve(image, kernel, strides, dilations, depthwise=False):
    """image [N, H, W, C], kernel [KH, KW, C, O], or [KH, KW, C] depthwise; in float64."""
    image, kernel = image.astype(np.float64), kernel.astype(np.float64)
    found = {}
    for position, patch in windows(image, kernel.shape[:2], strides, dilations):
        found[position] = (np.einsum("nhwc,hwc->nc", patch, kernel) if depthwise
                           else np.einsum("nhwc,hwco->no", patch, kernel))
    height, width = (max(p[i] for p in found) + 1 for i in range(2))
    return np.stack([np.stack([found[y, x] for x in range(width)], 1) for y in range(height)], 1)


class Module:
    """One function @f. Each method adds an operation and returns its value's name."""

    def __init__(self, seed, has_stats=False):
        self.random = np.random.default_rng(seed)
        self.has_stats = has_stats
        self.inputs, self.lines, self.values, self.weights = [], [], {}, {}
        self.result = None

    # --- values -------------------------------------------------------------------------------

    def fresh(self, value):
        name = f"%v{len(self.values)}"
        self.values[name] = np.asarray(value, np.float32)
        return name

    def stats(self, name):
        """The attribute, for any place of a dictionary."""
        if not self.has_stats:
            return ""
        value = self.values[name]
        return (f"quadrant.stats = dense<[{float(value.min()):.9e}, {float(value.max()):.9e}]>"
                " : tensor<2xf32>")

    def input(self, *shape):
        self.inputs.append(self.fresh(self.random.standard_normal(shape)))
        return self.inputs[-1]

    def weight(self, *shape):
        name = self.fresh(self.random.standard_normal(shape))
        self.weights[name] = self.values[name]
        self.lines.append(f"{name} = arith.constant {dense(self.values[name])}")
        return name

    def type(self, name):
        return type_of(self.values[name])

    # --- operations ---------------------------------------------------------------------------

    def destination(self, value, fill=0.0):
        index = len(self.lines)
        shape = type_of(np.asarray(value, np.float32))
        self.lines += [
            f"%e{index} = tensor.empty() : {shape}",
            f"%z{index} = arith.constant {fill:e} : f32",
            f"%d{index} = linalg.fill ins(%z{index} : f32) outs(%e{index} : {shape}) -> {shape}"]
        return f"%d{index}", shape

    def stretched(self, value, axis):
        """A destination with a number for each index of `axis`."""
        bias = self.random.standard_normal(value.shape[axis]).astype(np.float32)
        into, shape = self.destination(value)
        others = [i for i in range(value.ndim) if i != axis]
        name = f"%b{len(self.lines)}"
        self.lines += [
            f"{name} = arith.constant {dense(bias)}",
            f"{name}s = linalg.broadcast ins({name} : {type_of(bias)}) outs({into} : {shape}) "
            f"dimensions = {others}"]
        return f"{name}s", shape, bias.reshape([-1 if i == axis else 1 for i in range(value.ndim)])

    def linalg(self, op, operands, value, attributes="", fill=0.0, bias_axis=None):
        if bias_axis is None:
            into, shape = self.destination(value, fill)
        else:
            into, shape, fill = self.stretched(value, bias_axis)
        name = self.fresh(value + fill)
        held = ", ".join(part for part in (attributes, self.stats(name)) if part)
        types = ", ".join(map(self.type, operands))
        self.lines.append(f"{name} = linalg.{op} {{{held}}} ins({', '.join(operands)} : {types}) "
                          f"outs({into} : {shape}) -> {shape}")
        return name

    def real(self, name):
        return self.values[name].astype(np.float64)

    def matmul(self, a, b, fill=0.0):
        return self.linalg("matmul", (a, b), self.real(a) @ self.real(b), fill=fill)

    def matmul_transpose_b(self, a, b):
        return self.linalg("matmul_transpose_b", (a, b), self.real(a) @ self.real(b).T)

    def batch_matmul(self, a, b):
        return self.linalg("batch_matmul", (a, b), self.real(a) @ self.real(b))

    def conv(self, layout, image, kernel, strides=(1, 1), dilations=(1, 1),
             has_bias=False):
        x, w = self.real(image), self.real(kernel)
        depthwise = layout == "nhwc_hwc"
        if layout == "nchw_fchw":
            x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
        elif layout == "nhwc_fhwc":
            w = w.transpose(1, 2, 3, 0)
        y = convolve(x, w, strides, dilations, depthwise)
        if layout == "nchw_fchw":
            y = y.transpose(0, 3, 1, 2)
        pair = "dense<[{}, {}]> : tensor<2xi64>"
        attributes = f"strides = {pair.format(*strides)}, dilations = {pair.format(*dilations)}"
        op = f"depthwise_conv_2d_{layout}" if depthwise else f"conv_2d_{layout}"
        channels = (1 if layout == "nchw_fchw" else 3) if has_bias else None
        return self.linalg(op, (image, kernel), y, attributes, bias_axis=channels)

    def transpose(self, a, *perm):
        value = self.values[a].transpose(perm)
        into, shape = self.destination(value)
        name = self.fresh(value)
        self.lines.append(f"{name} = linalg.transpose ins({a} : {self.type(a)}) outs({into} : {shape}) "
                          f"permutation = {list(perm)}")
        return name

    def collapse(self, a, groups):
        """`groups`: the operand's axes, those of each axis of the result."""
        extents = self.values[a].shape
        name = self.fresh(self.values[a].reshape(
            [int(np.prod([extents[axis] for axis in group])) for group in groups]))
        self.lines.append(f"{name} = tensor.collapse_shape {a} {groups} : {self.type(a)} into "
                          f"{self.type(name)}")
        return name

    def add(self, a, b):
        name = self.fresh(self.real(a) + self.real(b))
        self.lines.append(f"{name} = arith.addf {a}, {b} {{{self.stats(name)}}} : {self.type(a)}")
        return name

    def add_into(self, a, b, place):
        """linalg.add, which puts its result where `place` is."""
        name = self.fresh(self.real(a) + self.real(b))
        shape = self.type(a)
        self.lines.append(f"{name} = linalg.add {{{self.stats(name)}}} ins({a}, {b} : {shape}, {shape}) "
                          f"outs({place} : {shape}) -> {shape}")
        return name

    def transpose_into(self, a, place):
        name = self.fresh(self.values[a].T)
        shape = self.type(place)
        self.lines.append(f"{name} = linalg.transpose ins({a} : {self.type(a)}) outs({place} : {shape}) "
                          "permutation = [1, 0]")
        return name

    def tanh(self, a):
        name = self.fresh(np.tanh(self.real(a)))
        self.lines.append(f"{name} = math.tanh {a} {{{self.stats(name)}}} : {self.type(a)}")
        return name

    def softmax(self, a):
        """Over the last axis."""
        powers = np.exp(self.real(a))
        value = powers / powers.sum(-1, keepdims=True)
        rank, rows = value.ndim, self.type(a)
        sums = "tensor<" + "".join(f"{extent}x" for extent in value.shape[:-1]) + "f32>"
        axes = [f"d{i}" for i in range(rank)]
        every, kept = ", ".join(axes), ", ".join(axes[:-1])
        element, row = (f"affine_map<({every}) -> ({to})>" for to in (every, kept))
        loops = ", ".join(['"parallel"'] * rank)
        summing = ", ".join(['"parallel"'] * (rank - 1) + ['"reduction"'])
        index = len(self.lines)
        name = self.fresh(value)
        self.lines += [
            f"%p{index} = math.exp {a} : {rows}",
            f"%i{index} = arith.constant dense<0.0> : {sums}",
            f"%s{index} = linalg.generic {{indexing_maps = [{element}, {row}], iterator_types = "
            f"[{summing}]}} ins(%p{index} : {rows}) outs(%i{index} : {sums}) "
            "{ ^bb0(%p: f32, %s: f32): %t = arith.addf %p, %s : f32 linalg.yield %t : f32 } -> " + sums,
            f"%e{index} = tensor.empty() : {rows}",
            f"{name} = linalg.generic {{indexing_maps = [{element}, {row}, {element}], iterator_types = "
            f"[{loops}]}} ins(%p{index}, %s{index} : {rows}, {sums}) "
            f"outs(%e{index} : {rows}) attrs = {{{self.stats(name)}}} "
            "{ ^bb0(%p: f32, %s: f32, %o: f32): %q = arith.divf %p, %s : f32 linalg.yield %q : f32 } -> "
            + rows]
        return name

    def output(self, name):
        self.result = name
        return self

    # --- text ---------------------------------------------------------------------------------

    def function(self):
        held = [f"{name}: {self.type(name)}" +
                (f" {{{self.stats(name)}}}" if self.has_stats else "") for name in self.inputs]
        shape = self.type(self.result)
        body = "\n  ".join(self.lines + [f"return {self.result} : {shape}"])
        return f"func.func @f({', '.join(held)}) -> {shape} {{\n  {body}\n}}\n"

    def program(self):
        """With a `main` that prints the bits of what the inputs give."""
        names = [f"%in{i}" for i in range(len(self.inputs))]
        lines = [f"{name} = arith.constant {dense(self.values[value])}"
                 for name, value in zip(names, self.inputs)]
        result = self.values[self.result]
        shape, bits = type_of(result), type_of(result.astype(np.int32))
        unranked = "tensor<*xi32>"
        lines += [
            f"%out = call @f({', '.join(names)}) : ({', '.join(map(self.type, self.inputs))}) -> {shape}",
            f"%bits = arith.bitcast %out : {shape} to {bits}",
            f"%any = tensor.cast %bits : {bits} to {unranked}",
            f"call @printMemrefI32(%any) : ({unranked}) -> ()", "return"]
        return (f"func.func private @printMemrefI32({unranked}) "
                "attributes {llvm.emit_c_interface}\n" + self.function() +
                "func.func @main() {\n  " + "\n  ".join(lines) + "\n}\n")

    def parse(self, printed):
        """The result that the program printed."""
        numbers = printed.split("data =", 1)[1].replace("[", " ").replace("]", " ").replace(",", " ")
        bits = np.array([int(number) for number in numbers.split()], np.int64)
        return bits.astype(np.int32).view(np.float32).reshape(self.values[self.result].shape)


# --- networks -----------------------------------------------------------------------------------


def networks(**options):
    """(name, module) for each way in which weights and activations are read."""
    m = Module(1, **options)
    yield "matmul", m.output(m.matmul(m.input(3, 16), m.weight(16, 5)))

    m = Module(2, **options)
    hidden = m.tanh(m.matmul(m.input(3, 16), m.weight(16, 8), fill=0.25))
    yield "two matmuls", m.output(m.matmul(hidden, m.weight(8, 4)))

    m = Module(3, **options)
    yield "weight on the left", m.output(m.matmul(m.weight(5, 16), m.input(16, 3)))

    m = Module(4, **options)
    yield "transposed", m.output(m.matmul_transpose_b(m.input(3, 16), m.weight(5, 16)))

    m = Module(5, **options)
    weight = m.transpose(m.weight(5, 16), 1, 0)
    yield "transpose of a weight", m.output(m.matmul(m.input(3, 16), weight))

    m = Module(6, **options)
    yield "batch", m.output(m.batch_matmul(m.input(2, 3, 8), m.weight(2, 8, 4)))

    m = Module(7, **options)
    weight = m.collapse(m.weight(2, 8, 5), [[0, 1], [2]])
    yield "reshaped weight", m.output(m.matmul(m.input(3, 16), weight))

    m = Module(8, **options)
    yield "conv nhwc_hwcf", m.output(m.conv("nhwc_hwcf", m.input(1, 7, 7, 3), m.weight(3, 3, 3, 4),
                                            strides=(2, 2)))
    m = Module(9, **options)
    yield "conv nhwc_fhwc", m.output(m.conv("nhwc_fhwc", m.input(1, 7, 6, 3), m.weight(4, 3, 2, 3),
                                            dilations=(2, 1)))
    m = Module(10, **options)
    yield "conv nchw_fchw", m.output(m.conv("nchw_fchw", m.input(1, 3, 7, 6), m.weight(4, 3, 3, 3)))

    m = Module(11, **options)
    yield "depthwise", m.output(m.conv("nhwc_hwc", m.input(1, 6, 6, 4), m.weight(3, 3, 4)))

    shapes = {"nhwc_hwcf": (3, 3, 3, 4), "nhwc_fhwc": (4, 3, 3, 3), "nchw_fchw": (4, 6, 3, 3),
              "nhwc_hwc": (3, 3, 3)}
    for seed, (layout, shape) in enumerate(shapes.items(), 15):
        m = Module(seed, **options)
        yield f"conv {layout} with a bias", m.output(
            m.conv(layout, m.input(1, 6, 6, 3), m.weight(*shape), has_bias=True))

    m = Module(12, **options)
    x = m.input(4, 8)
    left, right = m.matmul(x, m.weight(8, 8)), m.matmul(x, m.weight(8, 8))
    yield "two branches", m.output(m.matmul(m.add(left, right), m.weight(8, 3)))

    m = Module(13, **options)
    x, weight = m.input(4, 8), m.weight(8, 8)
    yield "shared weight", m.output(m.matmul(m.matmul(x, weight), weight))

    m = Module(19, **options)
    x, weight, other = m.input(8, 8), m.weight(8, 8), m.weight(8, 8)
    product = m.matmul(x, weight)
    total = m.add_into(product, m.matmul(product, other), product)
    total = m.transpose_into(m.add_into(total, x, weight), product)
    yield "values as destinations", m.output(m.matmul(total, m.transpose_into(weight, other)))

    m = Module(14, **options)
    x = m.input(6, 8)
    scores = m.matmul_transpose_b(m.matmul(x, m.weight(8, 8)), m.matmul(x, m.weight(8, 8)))
    yield "two computed factors", m.output(m.matmul(scores, m.matmul(x, m.weight(8, 8))))
