"""`fake_quantize` in the interpreter, against OpenVINO's own FakeQuantize on the same 10^5 numbers.

OpenVINO has two: the definition, which its core evaluates and which the interpreter is to meet bit by
bit, and its CPU plugin, which multiplies by reciprocals (`x * scale + shift`) and so may round a number
near the middle of two levels to the other one. The first is compared exactly, the second is bounded.
"""

import _peers

import sys

import numpy as np

from _command import quadrant, run_tests, scratch

try:
    import openvino as ov
    from openvino import opset13
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)

LEVELS = (2, 3, 4, 5, 15, 16, 17, 127, 128, 255, 256, 257, 1000, 4096, 32767, 65535, 65536)

# The shape of X, those of the four bounds, and how they are stretched. OpenVINO aligns the bounds of
# `pdpd` as those of `numpy`, so these have the axes of X.
SHAPES = (
    ((1200,), [()] * 4, "numpy"),
    ((1200,), [(1200,)] * 4, "none"),
    ((4, 6, 50), [(1,)] * 4, "numpy"),
    ((4, 6, 50), [(6, 1)] * 4, "numpy"),
    ((4, 6, 50), [(4, 1, 1)] * 4, "numpy"),
    ((4, 6, 50), [(50,), (6, 1), (1,), (4, 1, 50)], "numpy"),
    ((4, 6, 50), [(4, 1, 1)] * 4, "pdpd"),
    ((24, 50), [(1, 1, 24, 50)] * 4, "numpy"),
    ((2, 3, 10, 20), [(1, 3, 1, 1), (1, 3, 1, 1), (1,), (1,)], "numpy"),
)

# From the low end to the high end of the input, and of the output.
SPANS = ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (1, 0), (1e-3, 1e3), (1e4, 1e-2))


class Node:
    def __init__(self, rng, index, shape, bounds, broadcast, levels, kind=np.float32):
        self.name, self.levels, self.broadcast = f"n{index}", levels, broadcast
        span_in, span_out = SPANS[index % len(SPANS)]
        low_in, low_out = (rng.uniform(-2, 0.5, bounds[i]) for i in (0, 2))
        high_in = rng.uniform(0.5, 2, bounds[1]) * span_in
        high_out = rng.uniform(0.5, 2, bounds[3]) * span_out
        if span_in < 0:
            low_in = -low_in
        if span_in == 0:
            high_in, low_in = (np.full(bounds[i], 0.5) for i in (1, 0))
        self.bounds = [np.asarray(b, kind) for b in (low_in, high_in, low_out, high_out)]
        self.x = self.numbers(rng, shape).astype(kind)

    def aligned(self):
        x_rank = max(1, len(self.x_shape))
        return [b.reshape(b.shape[max(0, b.ndim - x_rank):]).astype(np.float64) for b in self.bounds]

    def numbers(self, rng, shape):
        """Anywhere in and about the interval, and, every other one, as near as can be to the middle of
        two levels."""
        self.x_shape = shape
        low, high = self.aligned()[:2]
        anywhere = low + rng.uniform(-0.25, 1.25, shape) * (high - low) + rng.normal(0, 0.01, shape)
        between = rng.integers(0, self.levels - 1, shape) + 0.5
        middle = low + between / (self.levels - 1) * (high - low)
        return np.where(np.arange(anywhere.size).reshape(shape) % 2 == 0, anywhere, middle)

    def step(self):
        """How far two levels are apart in the result."""
        low, high = self.aligned()[2:]
        return np.broadcast_to(np.abs(high - low) / (self.levels - 1), self.x.shape)

    def largest(self):
        return np.broadcast_to(np.maximum(*map(np.abs, self.aligned()[2:])), self.x.shape)

    def text(self, element):
        def typed(array):
            return "tensor<" + "".join(f"{n}x" for n in array.shape) + element + ">"

        names = [f"{self.name}_{part}" for part in ("x", "il", "ih", "ol", "oh")]
        lines = [f"%{name}: {typed(array)} = input()"
                 for name, array in zip(names, (self.x, *self.bounds))]
        lines.append(f"%{self.name}: {typed(self.x)} = fake_quantize(%{', %'.join(names)}) "
                     f'{{auto_broadcast = "{self.broadcast}", levels = {self.levels}}}')
        return "\n".join([*lines, f'output(%{self.name}) {{name = "{self.name}"}}'])

    def feeds(self):
        names = [f"{self.name}_{part}" for part in ("x", "il", "ih", "ol", "oh")]
        return dict(zip(names, (self.x, *self.bounds)))


def nodes(kind=np.float32):
    rng = np.random.default_rng(20)
    shapes = [s for s in SHAPES for _ in LEVELS]
    return [Node(rng, i, *shape, LEVELS[i % len(LEVELS)], kind) for i, shape in enumerate(shapes)]


def interpreted(all_nodes, element="f32"):
    with scratch() as folder:
        text = "\n".join(node.text(element) for node in all_nodes)
        (folder / "model.qd").write_text(text + "\n")
        (folder / "data").mkdir()
        feeds = {name: array for node in all_nodes for name, array in node.feeds().items()}
        np.savez(folder / "data" / "sample.npz", **feeds)
        done = quadrant("run", folder / "model.qd", "--data", folder / "data", "-o", folder / "out",
                        "--allow-non-finite")
        assert done.returncode == 0, done.stderr
        with np.load(folder / "out" / "sample.npz") as arrays:
            return [arrays[node.name] for node in all_nodes]


def openvino_model(all_nodes, constant_bounds, element=ov.Type.f32):
    """A model with a result for each node; inputs are X, and the bounds where they are not constant."""
    inputs, results = [], []
    for node in all_nodes:
        operands = [opset13.parameter(list(node.x.shape), element)]
        inputs.append(operands[0])
        for bound in node.bounds:
            if constant_bounds:
                operands.append(opset13.constant(bound))
            else:
                operands.append(opset13.parameter(list(bound.shape), element))
                inputs.append(operands[-1])
        # The plugin fails on `none`: it makes scalars of output bounds.
        broadcast = "numpy" if constant_bounds else node.broadcast
        results.append(opset13.fake_quantize(*operands, levels=node.levels, auto_broadcast=broadcast))
    return ov.Model(results, inputs, "cases")


def defined(all_nodes, element=ov.Type.f32):
    """What OpenVINO's core evaluates."""
    model = openvino_model(all_nodes, False, element)
    arrays = [np.array(array, order="C") for node in all_nodes for array in node.feeds().values()]
    results = [ov.Tensor(np.zeros_like(node.x)) for node in all_nodes]
    assert model.evaluate(results, [ov.Tensor(array) for array in arrays])
    return [result.data.copy() for result in results]


def on_cpu(all_nodes):
    model = ov.Core().compile_model(openvino_model(all_nodes, True), "CPU",
                                    {"INFERENCE_PRECISION_HINT": "f32"})
    results = model([node.x for node in all_nodes])
    return [results[i] for i in range(len(all_nodes))]


def bits(array):
    return array.view(f"u{array.itemsize}")


def test_definition():
    """Every bit, in all ranges: forwards, reversed, without length."""
    cases = nodes()
    different = sum(int(np.count_nonzero(bits(found) != bits(wanted)))
                    for found, wanted in zip(interpreted(cases), defined(cases)))
    count = sum(node.x.size for node in cases)
    print(f"of {count} numbers, {count - different} are the definition's, bit by bit")
    assert count >= 10**5 and different == 0, different


def test_ends_infinities_and_nan():
    cases = nodes()
    for node in cases:
        low, high = (np.broadcast_to(np.float32(bound), node.x.shape) for bound in node.aligned()[:2])
        few = np.arange(node.x.size).reshape(node.x.shape) % 8
        node.x = np.select(
            [few == i for i in range(7)],
            [low, high, np.nextafter(low, np.float32(9)), np.nextafter(high, np.float32(9)),
             np.float32(np.nan), np.float32(np.inf), np.float32(-np.inf)], np.float32(-0.0))
    for node, found, wanted in zip(cases, interpreted(cases), defined(cases)):
        assert np.array_equal(found, wanted, equal_nan=True), (node.name, node.levels)


def test_float16():
    """Computed in float32 and rounded once, by both."""
    cases = nodes(np.float16)
    for node, found, wanted in zip(cases, interpreted(cases, "f16"), defined(cases, ov.Type.f16)):
        assert np.array_equal(bits(found), bits(wanted)), (node.name, node.levels)


def difference_allowed(node, low, high):
    """By which a number may be off the middle of two levels and still be rounded to the other one: two
    of the last bits that float32 has where the numbers from one bound to the other are."""
    return 2 * 2**-23 * node.levels * np.maximum(np.abs(low), np.abs(high)) / (high - low)


def test_cpu_plugin():
    """It computes something else where input bounds are reversed, and where the four bounds have
    different axes; and it gives results the rank of the bounds, where that is larger. The rest is the
    definition's level, or, next to the middle of two, the one beside it."""
    cases = [node for node in nodes()
             if len({bound.shape for bound in node.bounds}) < 4 and node.bounds[0].ndim <= node.x.ndim]
    count = equal = beside = 0
    for node, ours, plugin in zip(cases, interpreted(cases), on_cpu(cases)):
        low, high = (np.broadcast_to(bound, node.x.shape) for bound in node.aligned()[:2])
        forward = low < high
        low, high, x = low[forward], high[forward], node.x[forward].astype(np.float64)
        difference = np.abs(ours.astype(np.float64) - plugin)[forward]
        step, rounding = node.step()[forward], 2 * 2**-23 * node.largest()[forward]
        other = difference > step / 2
        count, equal = count + x.size, equal + int(np.count_nonzero(ours[forward] == plugin[forward]))
        beside += int(np.count_nonzero(other))
        assert (difference[~other] <= rounding[~other]).all(), node.name
        assert (difference[other] <= (step + rounding)[other]).all(), node.name
        position = (x - low) / (high - low) * (node.levels - 1)
        off_middle = np.abs(position - np.floor(position) - 0.5)
        assert (off_middle[other] <= difference_allowed(node, low, high)[other]).all(), node.name
    print(f"of {count} numbers, {equal} are the CPU plugin's, {count - equal - beside} differ by "
          f"rounding, {beside} lie in the middle of two levels and go to the other one")


if __name__ == "__main__":
    run_tests(globals())
