"""Numbers for `fake_quantize`, many to a model, and what the interpreter makes of them."""

import numpy as np

from _command import quadrant, scratch

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

    def feeds(self):
        """The five operands, by name."""
        names = [f"{self.name}_{part}" for part in ("x", "il", "ih", "ol", "oh")]
        return dict(zip(names, (self.x, *self.bounds)))

    def text(self, element, constant_bounds=False):
        def typed(array):
            return "tensor<" + "".join(f"{n}x" for n in array.shape) + element + ">"

        def source(array):
            if array is self.x or not constant_bounds:
                return "input()"
            return f"constant() [{', '.join(str(float(n)) for n in array.ravel())}]"

        feeds = self.feeds()
        lines = [f"%{name}: {typed(array)} = {source(array)}" for name, array in feeds.items()]
        lines.append(f"%{self.name}: {typed(self.x)} = fake_quantize(%{', %'.join(feeds)}) "
                     f'{{auto_broadcast = "{self.broadcast}", levels = {self.levels}}}')
        return "\n".join([*lines, f'output(%{self.name}) {{name = "{self.name}"}}'])


def nodes(kind=np.float32):
    rng = np.random.default_rng(20)
    shapes = [s for s in SHAPES for _ in LEVELS]
    return [Node(rng, i, *shape, LEVELS[i % len(LEVELS)], kind) for i, shape in enumerate(shapes)]


def write_text(path, all_nodes, element="f32", constant_bounds=False):
    path.write_text("\n".join(node.text(element, constant_bounds) for node in all_nodes) + "\n")


def interpreted(all_nodes, element="f32"):
    with scratch() as folder:
        write_text(folder / "model.qd", all_nodes, element)
        return run_model(folder, "model.qd", all_nodes)


def run_model(folder, model, all_nodes, *options):
    """A model in the folder whose inputs and outputs are called as the nodes call them."""
    (folder / "data").mkdir()
    feeds = {name: array for node in all_nodes for name, array in node.feeds().items()}
    np.savez(folder / "data" / "sample.npz", **feeds)
    done = quadrant("run", folder / model, "--data", folder / "data", "-o", folder / "out",
                    "--allow-non-finite", *options)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "out" / "sample.npz") as arrays:
        return [arrays[node.name] for node in all_nodes]


def bits(array):
    return array.view(f"u{array.itemsize}")


class Differences:
    """From the definition's numbers: a level lies within `last_bits` of float32's, at the larger output
    bound, and only next to the middle of two levels the one beside it is right as well."""

    def __init__(self, last_bits):
        self.last_bits = last_bits
        self.count = self.equal = self.beside = 0

    def check(self, node, found, wanted, where=True):
        """`where`: which numbers count."""
        where = np.broadcast_to(where, node.x.shape)
        low, high = (np.broadcast_to(bound, node.x.shape)[where] for bound in node.aligned()[:2])
        x, step = node.x[where].astype(np.float64), node.step()[where]
        rounding = self.last_bits * 2**-23 * node.largest()[where]
        difference = np.abs(found[where].astype(np.float64) - wanted[where])
        beside = difference > rounding
        self.count += x.size
        self.equal += int(np.count_nonzero(difference == 0))
        self.beside += int(np.count_nonzero(beside))
        assert (difference <= beside * step + rounding).all(), node.name
        # By how much float32 may be off: two last bits, where the numbers from end to end are.
        low, high, x, step = (array[beside] for array in (low, high, x, step))
        position = (x - low) / (high - low) * (node.levels - 1)
        off_middle = np.abs(position - np.floor(position) - 0.5)
        allowed = 2 * 2**-23 * node.levels * np.maximum(np.abs(low), np.abs(high)) / np.abs(high - low)
        assert (off_middle <= allowed).all(), node.name

    def __str__(self):
        rounded = self.count - self.equal - self.beside
        return (f"of {self.count} numbers, {self.equal} are equal, {rounded} differ by at most "
                f"{self.last_bits} last bits, {self.beside} lie in the middle of two levels and go to the "
                "other one")
