"""static_affine against ONNX Runtime's quantize_static, on the same models and samples: int8
activations with a zero point, int8 weights with a scale for each channel, the smallest and the largest
value.

The two observe values in different runtimes, whose sums of floats round differently. So their tool
quantizes each model twice: with the ranges that it measures, where scales may be off by as much as the
ranges are, and with the ranges that `quadrant calibrate` measured, where nothing may be off.

For every model in examples/models/ and, where that is there, ../shared/models/.
"""

import _peers

import collections
import json
import logging
import sys
from unittest import mock

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationMethod
from onnxruntime.quantization.calibrate import TensorsData

from _command import COMMAND, ROOT, quadrant, run_tests, scratch
from _models import SHARED, real_models

sys.path.insert(0, str(ROOT / "scripts"))
import accuracy_table as tables
import static_affine
import static_affine_table as comparison

logging.disable(logging.WARNING)

INPUTS = SHARED / "inputs" if SHARED.is_dir() else None
CALIBRATION, EVALUATION = 8, 16  # samples
LOSS = 0.1      # dB, at most, behind their tool
APART = 2e-5    # how far scales may be apart that come from both runtimes' ranges, relatively
MOST = 0.55     # of the activations that either quantizes, over all models: quantized by both
TOO_WIDE = 0.5  # step of what Softmax reads

MOVES = ("Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Slice",
         "Split", "Gather", "MaxPool", "AveragePool", "Pad", "Resize", "DepthToSpace", "SpaceToDepth")
FIXED = {"Sigmoid": (0, 1), "Softmax": (0, 1), "HardSigmoid": (0, 1), "Tanh": (-1, 1)}
# Their tool quantizes positions too, which become indices that the table has not.
WRONG = {"tashkeel_transformer_gru": "indices element out of data bounds"}


class Given:
    """Instead of a calibrator of theirs: ranges that were measured already."""

    def __init__(self, ranges):
        self.ranges = ranges

    def __call__(self, *_, **__):
        return self

    def collect_data(self, reader):
        pass

    def compute_data(self):
        return TensorsData(CalibrationMethod.MinMax, {
            name: tuple(np.array(end, np.float32) for end in ends)
            for name, ends in self.ranges.items()})


# --- what a file says ------------------------------------------------------------------------------


class Encoding(collections.namedtuple("Encoding", "scale zero_point codes", defaults=[None])):
    """`codes`: of a constant."""

    def is_same(self, other):
        # With nothing but zeros, any zero point will do.
        if self.is_zeros() and other.is_zeros():
            return np.array_equal(self.scale, other.scale)
        return all(np.array_equal(np.ravel(a), np.ravel(b)) for a, b in zip(self, other))

    def is_zeros(self):
        return self.codes is not None and np.all(self.codes == self.zero_point.ravel()[0])


class Written:
    """Encodings of activations and of constants, by the names that their values have in float."""

    SUFFIXES = ("_QuantizeLinear_Input", "_unquantized", "_QuantizeLinear_Output", "_quantized")

    def __init__(self, path):
        graph = onnx.load(path).graph
        arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self.activations, self.constants = {}, {}
        # What moves make of floats: quantized there, by its own range. Behind what is quantized it has the
        # parameters of that.
        self.own = set()
        makers = {name: node for node in graph.node for name in node.output}
        codes = {}
        for node in graph.node:
            if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
                scale, *zero_point = (arrays[name] for name in node.input[1:])
                encoding = Encoding(scale, *(zero_point or [np.zeros_like(scale, np.int32)]))
            if node.op_type == "QuantizeLinear":
                codes[node.output[0]] = encoding
                self.activations[self.plain(node.input[0])] = encoding
                maker = makers.get(node.input[0])
                if maker is not None and maker.op_type in MOVES and (
                        maker.input[0] not in makers or makers[maker.input[0]].op_type != "DequantizeLinear"):
                    self.own.add(self.plain(node.input[0]))
            elif node.op_type == "DequantizeLinear" and node.input[0] in arrays:
                encoding = encoding._replace(codes=arrays[node.input[0]].astype(np.int64))
                self.constants[self.plain(node.input[0])] = encoding
            elif node.op_type in MOVES and node.input[0] in codes:
                for name in node.output:
                    self.activations[self.plain(name)] = codes[name] = codes[node.input[0]]

    def plain(self, name):
        for suffix in self.SUFFIXES:
            name = name.removesuffix(suffix)
        return name


# --- what is different, and why --------------------------------------------------------------------


class Reasons:
    """Why one of the two leaves in float what the other quantizes, from the float model."""

    def __init__(self, model, ranges):
        self.ranges = ranges
        self.makers = {name: node for node in model.graph.node for name in node.output}
        self.readers = collections.defaultdict(list)
        for node in model.graph.node:
            for name in node.input:
                self.readers[name].append(node)
        self.constants = {tensor.name for tensor in model.graph.initializer}
        self.exact = {value.name for value in model.graph.input
                      if value.type.tensor_type.elem_type != onnx.TensorProto.FLOAT}
        for node in model.graph.node:
            read = {name for name in node.input if name and name not in self.constants}
            # What is looked up in a table is no longer the number that it was looked up by.
            is_lookup = node.op_type == "Gather" and node.input[0] in self.constants and read
            if node.op_type == "Shape" or (read <= self.exact and not is_lookup):
                self.exact.update(node.output)

    def of_theirs(self, name):
        """Why theirs alone quantizes a value; None: there is no reason."""
        maker, readers = self.makers.get(name), [node.op_type for node in self.readers[name]]
        if name in self.exact:
            return "it is a mask or a position"
        if "Softmax" in readers and self.step(name) > TOO_WIDE:
            return "Softmax reads it, and steps would be too large"
        if any(op in comparison.PRODUCTS for op in [*readers, *([maker.op_type] if maker else [])]):
            return None
        return "no product makes or reads it: conversions cost more than is gained"

    def of_ours(self, name, theirs):
        if any(value in theirs.activations for value in self.moved([name])):
            return "codes are moved that theirs makes behind the moves"
        return None

    def of_constant(self, name):
        """Why theirs alone quantizes a constant."""
        readers = self.readers[name]
        if any(node.op_type in comparison.PRODUCTS for node in readers):
            return None
        return "no product reads it"

    def step(self, name):
        low, high = self.ranges[name]
        return (max(high, 0) - min(low, 0)) / 2**8

    def moved(self, names):
        """What the elements of these values become, by moves and Concat."""
        reached = list(names)
        for value in reached:  # grows while it is walked
            for node in self.readers[value]:
                if node.op_type in (*MOVES, "Concat"):
                    reached.extend(name for name in node.output if name not in reached)
        return set(reached) - set(names)


def check_reasons(what, found):
    counts = collections.Counter(found.values())
    unexplained = sorted(value for value, reason in found.items() if reason is None)
    assert not unexplained, f"{what} alone quantizes {unexplained}"
    for reason, count in sorted(counts.items()):
        print(f"  {what} alone: {count} because {reason}")


# --- equal numbers ---------------------------------------------------------------------------------


def check_equal(ours, theirs):
    """Of both, with the same ranges."""
    for what in ("activations", "constants"):
        a, b = getattr(ours, what), getattr(theirs, what)
        both = sorted((a.keys() & b.keys()) - (ours.own ^ theirs.own))
        other = [(name, a[name], b[name]) for name in both if not a[name].is_same(b[name])]
        assert both, f"no {what}"
        assert not other, f"{len(other)} of {len(both)} {what} differ, such as {other[0]}"
        print(f"  {len(both)} {what} of both are equal")


def check_near(ours, theirs, fixed):
    """Of both, where each found ranges on its own. `fixed`: values whose range is no measured one."""
    both = sorted((ours.activations.keys() & theirs.activations.keys()) - fixed
                  - (ours.own ^ theirs.own))
    pairs = [(ours.activations[name], theirs.activations[name]) for name in both]
    apart = [abs(a.scale / b.scale - 1) for a, b in pairs]
    steps = [abs(int(a.scale.view(np.int32)) - int(b.scale.view(np.int32))) for a, b in pairs]
    print(f"  with ranges of their own: {sum(n <= 2 for n in steps)} of {len(both)} scales within 2 "
          f"units in the last place, the farthest {max(steps, default=0)}")
    assert max(apart, default=0) <= APART, both[np.argmax(apart)]
    for name, (a, b) in zip(both, pairs):
        assert a.zero_point == b.zero_point, (name, a, b)


# --- the test --------------------------------------------------------------------------------------


class Case:
    """A model, quantized by ours, by theirs, and by theirs with ranges that ours measured."""

    def __init__(self, path, folder):
        self.source = folder / "model.onnx"
        self.ours, self.theirs, self.given = (folder / f"{name}.onnx" for name in
                                              ("ours", "theirs", "given"))
        # Nothing is left in it that one of the two would have to do itself.
        self.model = comparison.preprocessed(path, self.source)
        session = tables.session_of(self.source)
        samples = tables.samples_of(path, session, INPUTS, static_affine.WINDOWS)
        feeds = static_affine.halves(list(static_affine.one_by_one(session, samples.feeds)))
        self.calibration, self.evaluation = feeds[0][:CALIBRATION], feeds[1][:EVALUATION]
        self.ranges = self.measured(folder)
        self.reasons = Reasons(self.model, self.ranges)
        makers = self.reasons.makers
        fixed = {name: FIXED[makers[name].op_type] for name in self.ranges
                 if name in makers and makers[name].op_type in FIXED}
        self.fixed = self.reasons.moved(fixed) | fixed.keys()
        static_affine.by_quadrant(COMMAND, self.source, self.ours, folder / "statistics.json",
                                  "--saturation", "allow")
        self.refusal = self.quantize_theirs(self.theirs)
        given = Given({**self.ranges, **fixed})
        with mock.patch("onnxruntime.quantization.quantize.create_calibrator", given):
            self.quantize_theirs(self.given)

    def quantize_theirs(self, target):
        return comparison.by_onnxruntime(self.source, target, self.calibration)

    def measured(self, folder):
        """What `quadrant calibrate` saves."""
        (folder / "data").mkdir()
        for i, feed in enumerate(self.calibration):
            np.savez(folder / "data" / f"{i}.npz", **feed)
        done = quadrant("calibrate", self.source, "--data", folder / "data", "-o",
                        folder / "statistics.json")
        assert done.returncode == 0, done.stderr
        saved = json.loads((folder / "statistics.json").read_text())["values"]
        return {value["value"]: (value["min"], value["max"]) for value in saved}


def check_model(path, totals):
    print(path.stem)
    with scratch() as folder:
        case = Case(path, folder)
        ours, given = Written(case.ours), Written(case.given)
        check_equal(ours, given)
        check_decisions(case, ours, given, totals)
        if path.stem in WRONG:
            assert WRONG[path.stem] in (case.refusal or ""), case.refusal
            return
        assert case.refusal is None, case.refusal
        check_near(ours, Written(case.theirs), case.fixed)
        check_accuracy(case)


def check_decisions(case, ours, theirs, totals):
    a, b, reasons = ours.activations, theirs.activations, case.reasons
    totals.update(both=len(a.keys() & b.keys()), either=len(a.keys() | b.keys()))
    check_reasons("theirs", {name: reasons.of_theirs(name) for name in b.keys() - a.keys()})
    check_reasons("ours", {name: reasons.of_ours(name, theirs) for name in a.keys() - b.keys()})
    check_reasons("theirs", {name: reasons.of_constant(name)
                             for name in theirs.constants.keys() - ours.constants.keys()})
    alone = ours.constants.keys() - theirs.constants.keys()
    assert not alone, f"ours alone quantizes {sorted(alone)}"


def check_accuracy(case):
    floats = tables.run(tables.session_of(case.source), case.evaluation)
    noise, share = zip(*(
        (tables.sqnr(floats, tables.run(tables.session_of(path), case.evaluation)),
         comparison.integer_share(path, case.evaluation[0])) for path in (case.ours, case.theirs)))
    print(f"  SQNR {noise[0]:.2f} dB, theirs {noise[1]:.2f} dB; products in integers {share[0]:.1%}, "
          f"theirs {share[1]:.1%}")
    assert noise[0] >= noise[1] - LOSS, "more noise than theirs"
    assert share[0] >= share[1], "fewer products in integers than theirs"


def check_totals(totals):
    share = totals["both"] / totals["either"]
    print(f"{totals['both']} of {totals['either']} activations are quantized by both")
    assert share >= MOST, f"{share:.1%}"


def test_model():
    totals = collections.Counter()
    for path in real_models():
        yield path.stem, check_model, path, totals
    if len(sys.argv) == 1:
        yield "all", check_totals, totals


if __name__ == "__main__":
    run_tests(globals())
