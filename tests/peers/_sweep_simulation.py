"""What codes of 8 bits cost a model, simulated: each node is run alone in ONNX Runtime, and what goes from one
to the next is rounded in numpy. Nothing here is the product's."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from _models import session_of
from _sweep_builder import info_of, names_read

LEVELS = 255
WIDER = (1, 1.1, 1.25)  # ranges that are simulated: which codes are near by chance, and which ranges kernels want
FIXED = {"Sigmoid": (0, 1), "Softmax": (0, 1), "Tanh": (-1, 1)}  # kernels have these ranges, whatever occurs
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
        self.graph = made.model.graph
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}
        self.sessions = {}
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

    def values(self, feed, weights=None, wider=None):
        """All values by name. With `weights`, these instead of the constants; with `wider`, inputs, results and
        other constants are rounded, too."""
        weights = weights or {}
        known = {**self.constants, **weights, **feed}
        self.fixed = set(self.constants)
        if wider:
            known |= {name: rounded(array, *self.ranges[name], wider) for name, array in feed.items()
                      if name in self.ranges}
            known |= {name: rounded(array, *self.range_of([array]), wider) for name, array in self.constants.items()
                      if array.dtype.kind == "f" and array.size > 1 and self.is_data(name) and name not in weights}
        for node in self.graph.node:
            is_fixed = all(read in self.fixed for read in names_read(node))
            for name, array in zip(node.output, self.run(node, known), strict=True):
                if is_fixed:
                    self.fixed.add(name)
                elif wider and name in self.ranges:
                    array = rounded(array, *FIXED.get(node.op_type, self.ranges[name]), wider)
                known[name] = weights.get(name, array)
        return known

    def is_data(self, name):
        return not any(name in [node.input[i] for i in REAL.get(node.op_type, ()) if i < len(node.input)]
                       for node in self.graph.node)

    def run(self, node, known):
        used = {name: known[name] for name in names_read(node)}
        key = node.output[0], tuple(array.shape for array in used.values())
        if key not in self.sessions:
            infos = [info_of(name, array.dtype, array.shape) for name, array in used.items()]
            outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
            self.sessions[key] = session_of(self.made.builder.model([node], infos, outputs, {}))
        return self.sessions[key].run(None, used)

    def outputs(self, everything):
        """Of each sample, for each width of ranges; with constants of 8 bits, or with everything."""
        return [[{name: values[name] for name in self.made.truths[0]}
                 for feed in self.made.feeds
                 for values in [self.values(feed, self.weights(wider), wider if everything else None)]]
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
