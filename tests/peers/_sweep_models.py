"""Random whole models, by their seeds: what they are fed, and what they then give."""

import _peers

import copy

import numpy as np
import onnx
import onnxruntime

from _models import session_of
from _sweep_builder import Builder, Refused, check_useful, info_of, names_read
from _sweep_nodes import Nodes
from _sweep_operations import OPERATIONS

onnxruntime.set_default_logger_severity(4)  # models that are refused are no news

OPSETS = range(11, _peers.NEWEST_OPSET + 1)
ODD_NAMES = ("a/{}:0", "x {}", "ä{}", "{}", "l.{}.w", "<{}>&\"'", "%{}", "a,{}", "StatefulPartitionedCall/m_{}",
             "__{}", "@{}", "{}[0]", "::{}", "Ω/{};y")
SAMPLES = 4
OTHER_EXTENTS = ({0: 3, 2: 14, 3: 13}, {0: 0})  # of open axes
# ONNX Runtime joins what is empty to anything, and gives what was in memory where there is no last step. What
# reductions make of nothing is not defined.
LAX = {"Concat", "LSTM", "GRU", "RNN"}
NUDGES = 3  # runs that find what rounding does to a model
ROUNDING = {np.dtype(np.float32): 2e-6, np.dtype(np.float16): 1e-3}  # of inputs, relative
LAST_BIT = {np.dtype(np.float32): 1.2e-7, np.dtype(np.float16): 5e-4}  # of results, relative
# ONNX Runtime limits what these compute from, so that their smallest results are all alike.
LIMITED = {"Erf", "Gelu", "Mish", "Sigmoid", "Swish", "Tanh"}
# Operations whose results are their operands' numbers, or what all runtimes make of them.
EXACT = set("""Abs ArgMax ArgMin Cast Ceil Clip Concat Constant DepthToSpace Dropout Expand Flatten Floor Gather
    GatherElements GlobalMaxPool Identity If Loop Max MaxPool Min Neg OneHot Pad ReduceMax ReduceMin Relu Reshape
    ReverseSequence Round ScatterND Shape Sign Slice SpaceToDepth Split Squeeze Tile TopK Transpose Trilu Unsqueeze
    Where""".split())
TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 2e-2}  # of models that have such values
MORE = 20   # an output may differ by that many times what it does when inputs are rounded
SMALLEST = 1e-20  # what an output's largest element is at least taken for: runtimes flush and clamp what is smaller


class Made:
    """`feeds` are the samples, `truths` what ONNX Runtime gives for each without optimizations, `tolerances`
    how far another runtime may be from it, relative to the largest element, by output; None for what rounding
    may change altogether. `others` are feeds of other extents."""

    def __init__(self, seed):
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.builder = Builder(
            rng, int(rng.choice(OPSETS)), np.float16 if rng.random() < 0.12 else np.float32,
            str(rng.choice(ODD_NAMES)) if rng.random() < 0.2 else "v{}", float(rng.choice([0, 0, 0.3, 1])),
            rng.random() < 0.3, rng.random() < 0.6)
        self.draw_inputs()
        self.draw_operations(int(rng.integers(3, 13)))
        self.model = self.finished()
        self.session = self.made_session()
        self.nodes = Nodes(self.builder, self.model.graph)
        self.feeds = [self.feed(sample) for sample in range(SAMPLES)]
        self.truths = [self.truth(feed) for feed in self.feeds]
        self.tolerances = self.found_tolerances()
        self.others = list(self.other_feeds())

    @property
    def is_half(self):
        return self.builder.dtype == np.float16

    def operators(self):
        return sorted({node.op_type for node in self.model.graph.node} - {"Constant"})

    # --- the model ---

    def draw_inputs(self):
        b = self.builder
        for _ in range(b.choice([1, 1, 1, 2])):
            n = b.choice([1, 1, 2])
            shape = b.choice([
                lambda: (n, b.choice([1, 2, 3, 4, 6, 8]), b.integer(5, 12), b.integer(5, 12)),
                lambda: (n, b.choice([1, 3, 4, 8]), b.integer(5, 12), b.integer(5, 12)),
                lambda: (n, b.integer(2, 8), b.integer(4, 12)),
                lambda: (b.integer(1, 6), b.integer(2, 24)),
            ])()
            self.float_input(shape, *b.choice([(1, 0)] * 6 + [(1e-2, 0), (30, 0), (1, 3)]))

    def float_input(self, shape, scale, offset):
        """A batch may be open, and an image's height and width."""
        b = self.builder

        def draw(rng, shape):
            return rng.standard_normal(shape) * scale + offset

        axes = ()
        if b.opens:
            axes = b.choice([[0], [0, 2, 3], [2, 3]]) if len(shape) == 4 else [0]
        b.input(np.asarray(draw(b.rng, shape), b.dtype), draw, axes)

    def draw_operations(self, count):
        weights = np.array([common if self.builder.is_common else weight for weight, common, _ in OPERATIONS])
        for _ in range(5 * count):
            before = {name: copy.copy(part) for name, part in vars(self.builder).items() if name != "rng"}
            try:
                OPERATIONS[self.builder.rng.choice(len(OPERATIONS), p=weights / weights.sum())][-1](self.builder)
                count -= 1
            except Refused:
                vars(self.builder).update(before)
            if not count:
                return

    def finished(self):
        """All values that nobody reads are outputs, and some that are read."""
        b = self.builder
        read = {name for node in b.nodes for name in names_read(node)}
        given = {value.name for value in b.inputs}
        made = [value for value in b.values if value.name not in given]
        outputs = [value for value in made if value.name not in read or b.chance(0.1)]
        if not outputs:
            raise Refused("no output")
        b.rng.shuffle(outputs)
        inputs = [value for value in b.inputs if value.name in read or b.chance(0.1)]
        self.inputs = inputs or b.inputs[:1]
        infos = [info_of(value.name, value.dtype, None if b.opens else value.shape) for value in outputs]
        model = b.model(b.nodes, [value.info() for value in self.inputs], infos, b.weights)
        if b.chance(0.4):
            try:
                inferred = onnx.shape_inference.infer_shapes(model)
                return model if self.contradicts(inferred) else inferred
            except Exception:  # operations that it does not know
                pass
        return model

    def contradicts(self, model):
        """Whether it states shapes that values have not: onnx's rules and ONNX Runtime differ where windows leave
        the padding."""
        stated = {value.name: value.type.tensor_type.shape.dim for value in model.graph.value_info
                  if value.type.tensor_type.HasField("shape")}
        return any(name in self.builder.known and (
            len(dims) != self.builder.known[name].ndim or
            any(dim.HasField("dim_value") and dim.dim_value != extent
                for dim, extent in zip(dims, self.builder.known[name].shape))) for name, dims in stated.items())

    # --- its numbers ---

    def made_session(self):
        try:
            return session_of(self.model)
        except Exception as problem:
            raise Refused(f"ONNX Runtime: {problem}") from None

    def feed(self, sample, extents=None):
        rng = np.random.default_rng([self.seed, sample])
        return {value.name: value.data(rng, extents) for value in self.inputs}

    def outputs(self, feed):
        """By name. Copies: what ONNX Runtime gives may lie in memory that its next run writes to."""
        try:
            found = self.session.run(None, feed)
        except Exception as problem:
            raise Refused(f"ONNX Runtime: {problem}") from None
        return {value.name: array.copy() for value, array in zip(self.session.get_outputs(), found)}

    def truth(self, feed):
        found = self.outputs(feed)
        for array in found.values():
            check_useful(array)
        return found

    def runs(self, feed):
        try:
            return bool(self.outputs(feed))
        except Refused:
            return False

    def other_feeds(self):
        """Of other extents, where those are open."""
        if not self.builder.opens:
            return
        for extents in OTHER_EXTENTS:
            is_lax = any(op in LAX or op.startswith("Reduce") for op in self.operators()) or self.crops()
            feed = self.feed(0, extents)
            if self.runs(feed) and not (is_lax and 0 in extents.values()):
                yield feed

    def crops(self):
        """Whether a Pad takes something away, which an empty axis has not."""
        lists = [self.builder.known[node.input[1]] for node in self.model.graph.node if node.op_type == "Pad"]
        return any((pads < 0).any() for pads in lists)

    def found_tolerances(self):
        floats = {array.dtype for array in self.builder.known.values() if array.dtype in TOLERANCE}
        found = {name: max(TOLERANCE[dtype] for dtype in floats) for name in self.truths[0]}
        if self.is_half:  # which of two numbers is the larger is often a matter of rounding
            found |= {name: None for name, array in self.truths[0].items() if array.dtype.kind != "f"}
        for nudge in range(NUDGES):
            for feed, truth in zip(self.feeds, self.truths):
                rng = np.random.default_rng([self.seed, nudge, 1])
                nudged = {name: self.nudged(rng, array) for name, array in feed.items()}
                for name, array in self.nudged_outputs(rng, nudged).items():
                    if array.shape != truth[name].shape or found[name] is None:
                        found[name] = None
                    elif array.dtype.kind == "f":
                        found[name] = max(found[name], MORE * distance(array, truth[name]))
                    elif not np.array_equal(array, truth[name]):
                        found[name] = None
        return found

    def nudged_outputs(self, rng, feed):
        """Results that are rounded are so otherwise: which of two that should be equal is the larger, too, is a matter
        of rounding."""
        def changed(node, name, array):
            if node.op_type in LIMITED and array.dtype in LAST_BIT:
                most = LAST_BIT[array.dtype] * np.abs(array).max(initial=0)
                return np.asarray(array + rng.uniform(-1, 1, array.shape) * most, array.dtype)
            return array if node.op_type in EXACT else self.nudged(rng, array, LAST_BIT)

        try:
            values = self.nodes.values(feed, changed)
        except Exception as problem:
            raise Refused(f"ONNX Runtime: {problem}") from None
        return {name: values[name] for name in self.truths[0]}

    def nudged(self, rng, array, most=ROUNDING):
        if array.dtype not in most:
            return array
        return np.asarray(array * (1 + rng.uniform(-1, 1, array.shape) * most[array.dtype]), array.dtype)


def distance(found, wanted):
    """The largest difference, relative to the largest magnitude."""
    if not wanted.size:
        return 0.0
    wide = wanted.astype(np.float64)
    off = np.abs(found.astype(np.float64) - wide).max()
    return 0.0 if off == 0 else float(off / max(np.abs(wide).max(), SMALLEST))


def sweep_model(seed):
    """The model of a seed, or None where it is none that ONNX Runtime runs."""
    try:
        return Made(seed)
    except Refused:
        return None
