"""What codes of 8 bits cost a model, simulated: each node is run alone in ONNX Runtime, and what goes from one
to the next is rounded in numpy. Nothing here is the product's."""

import numpy as np
from onnx import TensorProto

from _sweep_builder import names_read

LEVELS = 255
WIDER = (1, 1.1, 1.25)  # ranges that are simulated: which codes are near by chance, and which ranges kernels want
FIXED = {"Sigmoid": (0, 1), "Softmax": (0, 1), "Tanh": (-1, 1)}  # kernels have these ranges, whatever occurs
# Results that have their operand's range: kernels, or the scheme, have one for both. In LiteRT, bounds other than those
# of its own operators, too.
KEEPING = {"AveragePool"}
KEEPING_IN_LITERT = {"AveragePool", "Clip"}
# Operands that are not rounded to 8 bits: biases and parameters of normalizations.
REAL = {"Conv": (2,), "ConvTranspose": (2,), "Gemm": (2,), "BatchNormalization": (1, 2, 3, 4),
        "InstanceNormalization": (1, 2), "LayerNormalization": (1, 2), "GroupNormalization": (1, 2),
        "RMSNormalization": (1,), "Resize": (1, 2), "LSTM": (3, 5, 6), "GRU": (3, 5), "RNN": (3, 5)}
# Small changes of operands change results a lot.
STEPS = {"ArgMax", "ArgMin", "TopK", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", "Sign", "Floor",
         "Ceil", "Round", "OneHot", "If", "ThresholdedRelu", "Shrink"}


def is_step(node):
    to = next((a.i for a in node.attribute if a.name == "to"), TensorProto.FLOAT)
    return node.op_type in STEPS or to not in (TensorProto.FLOAT, TensorProto.FLOAT16)


class Simulation:
    """`real`: all values for each sample, by name."""

    def __init__(self, made):
        self.made = made
        self.graph, self.constants = made.nodes.graph, made.nodes.constants
        self.real = [self.values(feed) for feed in made.feeds]
        self.ranges = {name: self.range_of([values[name] for values in self.real])
                       for name in self.real[0] if self.real[0][name].dtype.kind == "f"}

    def range_of(self, arrays):
        """From the smallest to the largest, and zero."""
        return min(float(a.min(initial=0)) for a in arrays), max(float(a.max(initial=0)) for a in arrays)

    def weights(self, wider):
        """Constants of floats of two axes and more, or what nodes make of them, rounded."""
        return {name: rounded(array, *both_signs(array), wider) for name, array in self.real[0].items()
                if name in self.fixed and array.dtype.kind == "f" and array.ndim > 1}

    def values(self, feed, weights=None, wider=None, keeping=KEEPING):
        """All values by name. With `weights`, these instead of the constants; with `wider`, inputs, results and
        other constants are rounded, too; what is `keeping` has the range of what it reads."""
        weights = weights or {}
        known = {**weights, **feed}
        self.fixed = set(self.constants)
        if wider:
            known |= {name: rounded(array, *self.ranges[name], wider) for name, array in feed.items()
                      if name in self.ranges}
            known |= {name: rounded(array, *self.range_of([array]), wider) for name, array in self.constants.items()
                      if array.dtype.kind == "f" and array.size > 1 and self.is_data(name) and name not in weights}

        def changed(node, name, array):
            if all(read in self.fixed for read in names_read(node)):
                self.fixed.add(name)
            elif wider and name in self.ranges:
                own = node.input[0] if node.op_type in keeping and node.input[0] in self.ranges else name
                array = rounded(array, *FIXED.get(node.op_type, self.ranges[own]), wider)
            return weights.get(name, array)

        return self.made.nodes.values(known, changed)

    def is_data(self, name):
        return not any(name in [node.input[i] for i in REAL.get(node.op_type, ()) if i < len(node.input)]
                       for node in self.graph.node)

    def outputs(self, everything, keeping=KEEPING):
        """Of each sample, for each width of ranges; with constants of 8 bits, or with everything."""
        return [[{name: values[name] for name in self.made.truths[0]}
                 for feed in self.made.feeds
                 for values in [self.values(feed, self.weights(wider), wider if everything else None, keeping)]]
                for wider in WIDER]

    def behind_steps(self):
        """Values of which a small error may become a large one."""
        found = set()
        for node in self.graph.node:
            if is_step(node) or any(name in found for name in names_read(node)):
                found.update(node.output)
        return found


def both_signs(array):
    largest = float(np.abs(array).max(initial=0))
    return -largest, largest


def rounded(array, low, high, wider):
    """To one of 256 levels, 0 among them."""
    scale = (high - low) * wider / LEVELS
    if not scale:
        return array
    zero = np.rint(-low / scale)
    codes = np.clip(np.rint(array.astype(np.float64) / scale) + zero, 0, LEVELS)
    return np.asarray((codes - zero) * scale, array.dtype)


def decibels(wanted, found):
    """Signal to noise over all samples of an output."""
    signal = sum(np.sum(a.astype(np.float64) ** 2) for a in wanted)
    noise = sum(np.sum((a.astype(np.float64) - b.astype(np.float64)) ** 2) for a, b in zip(wanted, found))
    return 10 * np.log10(max(signal, 1e-30) / max(noise, 1e-30))
