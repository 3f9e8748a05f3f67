"""Networks of tosa, as version 19 and as version 22 of MLIR write them, together with what they compute."""

import itertools

import numpy as np

from _mlir_modules import Module, convolve, dense, type_of

# tosa to linalg on tensors, as MLIR's own pipeline does it.
TO_LINALG = "func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-arith,tosa-to-tensor)"


def depthwise(image, kernel, strides, dilations):
    """kernel [KH, KW, C, M]: channel c * M + m is that of kernel m on channel c."""
    parts = [convolve(image, kernel[..., m], strides, dilations, depthwise=True)
             for m in range(kernel.shape[3])]
    made = np.stack(parts, -1)
    return made.reshape(*made.shape[:3], -1)


def conv2d(image, kernel, strides, dilations):
    """kernel [O, KH, KW, C]."""
    return convolve(image, kernel.transpose(1, 2, 3, 0), strides, dilations)


def conv3d(image, kernel, strides, dilations):
    """image [N, D, H, W, C], kernel [O, KD, KH, KW, C]: a sum of those of two dimensions."""
    reach = (kernel.shape[1] - 1) * dilations[0] + 1
    layers = range(0, image.shape[1] - reach + 1, strides[0])
    return np.stack([sum(conv2d(image[:, at + d * dilations[0]], kernel[:, d], strides[1:], dilations[1:])
                         for d in range(kernel.shape[1])) for at in layers], 1)


WINDOWS = {"conv2d": conv2d, "conv3d": conv3d, "depthwise_conv2d": depthwise}


def transposed(image, kernel, pad, strides):
    """Each element of the image, times the kernel [O, KH, KW, C], is added where it lies in the result. `pad`: how
    much more of that there is, or less."""
    count, height, width, _ = image.shape
    places = [(extent - 1) * stride + kernel.shape[1 + i] for i, (extent, stride) in enumerate(zip((height, width), strides))]
    made = np.zeros((count, *places, kernel.shape[0]))
    for y, x in itertools.product(range(height), range(width)):
        top, left = y * strides[0], x * strides[1]
        made[:, top:top + kernel.shape[1], left:left + kernel.shape[2]] += np.einsum("nc,oyxc->nyxo", image[:, y, x], kernel)
    grown = bordered(made, [max(number, 0) for number in pad])
    top, bottom, left, right = (max(-number, 0) for number in pad)
    return grown[:, top:grown.shape[1] - bottom, left:grown.shape[2] - right]


def bordered(image, pad, value=0):
    """`pad`: two numbers for each axis: top, bottom, left, right."""
    return np.pad(image, ((0, 0), *zip(pad[::2], pad[1::2]), (0, 0)), constant_values=value)


class Tosa(Module):
    """As `Module`; each method adds an operation of tosa."""

    def __init__(self, version, seed, has_stats=False):
        super().__init__(seed, has_stats)
        self.version = version

    def input_of(self, value):
        self.inputs.append(self.fresh(value))
        return self.inputs[-1]

    def constant(self, value):
        name = self.fresh(value)
        attribute = "value" if self.version == 19 else "values"
        to = self.type(name)
        self.lines.append(f'{name} = "tosa.const"() <{{{attribute} = {dense(self.values[name])}}}> : () -> {to}')
        return name

    def zero_points(self, count):
        """Operands of version 22."""
        if self.version == 19:
            return ()
        return tuple(self.constant(np.zeros(1)) for _ in range(count))

    def operation(self, op, operands, value, *attributes):
        name = self.fresh(value)
        held = ", ".join(part for part in (*attributes, self.stats(name)) if part)
        types = ", ".join(map(self.type, operands))
        self.lines.append(f"{name} = tosa.{op} {', '.join(operands)} {{{held}}} : ({types}) -> {self.type(name)}")
        return name

    def window(self, op, image, kernel, bias, pad=None, strides=None, dilations=None):
        axes = self.values[image].ndim - 2
        pad, strides, dilations = pad or (0, 0) * axes, strides or (1,) * axes, dilations or (1,) * axes
        value = WINDOWS[op](bordered(self.real(image), pad), self.real(kernel), strides, dilations) + self.real(bias)
        return self.moved(op, (image, kernel, bias), value, pad=pad, stride=strides, dilation=dilations)

    def transposed(self, image, kernel, bias, pad, strides):
        value = transposed(self.real(image), self.real(kernel), pad, strides) + self.real(bias)
        more = {"out_shape": value.shape} if self.version == 19 else {}
        return self.moved("transpose_conv2d", (image, kernel, bias), value, out_pad=pad, stride=strides, **more)

    def moved(self, op, operands, value, **numbers):
        """An operation with a window."""
        attributes = [f"{name} = array<i64: {', '.join(map(str, of))}>" for name, of in numbers.items()]
        if self.version > 19:
            attributes.append("acc_type = f32")
        return self.operation(op, (*operands, *self.zero_points(2)), value, *attributes)

    def fully_connected(self, rows, weight, bias):
        """In version 19 alone. weight [O, C]."""
        return self.operation("fully_connected", (rows, weight, bias),
                              self.real(rows) @ self.real(weight).T + self.real(bias))

    def batches(self, a, b):
        return self.operation("matmul", (a, b, *self.zero_points(2)), self.real(a) @ self.real(b))

    def sum_of(self, a, b):
        return self.operation("add", (a, b), self.real(a) + self.real(b))

    def clamp(self, a, low, high):
        if self.version == 19:
            attributes = (f"min_int = {low} : i64", f"max_int = {high} : i64", f"min_fp = {low:e} : f32",
                          f"max_fp = {high:e} : f32")
        else:
            attributes = f"min_val = {low:e} : f32", f"max_val = {high:e} : f32"
        return self.operation("clamp", (a,), np.clip(self.real(a), low, high), *attributes)

    def average(self, image):
        """Of each channel, over the whole image."""
        _, height, width, _ = self.values[image].shape
        return self.operation(
            "avg_pool2d", (image, *self.zero_points(2)), self.real(image).mean((1, 2), keepdims=True),
            f"kernel = array<i64: {height}, {width}>", "pad = array<i64: 0, 0, 0, 0>", "stride = array<i64: 1, 1>",
            "acc_type = f32")

    def reshape(self, a, *extents):
        if self.version == 19:
            return self.operation("reshape", (a,), self.real(a).reshape(extents),
                                  f"new_shape = array<i64: {', '.join(map(str, extents))}>")
        name = self.fresh(self.real(a).reshape(extents))
        rank = len(extents)
        self.lines += [
            f"%s{name[1:]} = tosa.const_shape {{values = dense<{list(extents)}> : tensor<{rank}xindex>}} : () -> "
            f"!tosa.shape<{rank}>",
            f"{name} = tosa.reshape {a}, %s{name[1:]} {{{self.stats(name)}}} : ({self.type(a)}, !tosa.shape<{rank}>) -> "
            f"{self.type(name)}"]
        return name
