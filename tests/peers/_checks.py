"""Everything that has to hold for a model and what `quantize --scheme weight-only` makes of it."""

import copy

import numpy as np
import onnx
from onnx import numpy_helper

from _fold import CODES, GraphReader, MOVES
from _models import quantize, random_feeds, run, session_of
from _oracle import find_weights, found_for


class Quantized:
    """A model before and after, with what the command said about it."""

    def __init__(self, source, target, *options):
        self.source, self.target = source, target
        self.document = quantize(source, target, *options)
        self.before, self.after = onnx.load(source), onnx.load(target)
        self.reader = GraphReader(self.before, MOVES)
        self.written = GraphReader(self.after)
        self.weights = find_weights(self.reader)
        self.axis_of = {}  # of the weights that are stored as codes; None behind a reshape
        self.rounded = {}  # their real values
        self.ranks = ranks_of(self.before)

    def left_in_float(self):
        return {left["name"]: left["reason"]
                for left in self.document["summary"]["left_in_float"]}

    def found(self, weight):
        """(use, what the written model computes for it) for each use of a weight."""
        return [(use, found_for(self.written, use, self.index_rank(use))) for use in weight.uses]

    def index_rank(self, use):
        is_lookup = use.node is not None and use.node.op_type == "Gather"
        return self.ranks.get(use.node.input[1], 1) if is_lookup else 1


def ranks_of(model):
    """The ranks of values, by name, as far as ONNX's shape inference knows them."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # models with types that it does not know
        graph = model.graph
    ranks = {value.name: len(value.type.tensor_type.shape.dim)
             for value in (*graph.input, *graph.value_info)
             if value.type.tensor_type.HasField("shape")}
    return ranks | {tensor.name: len(tensor.dims) for tensor in graph.initializer}


def check_valid(result):
    """The checker says nothing about the result that it does not say about the original."""
    for full in (False, True):
        try:
            onnx.checker.check_model(str(result.source), full_check=full)
        except Exception:
            return
        onnx.checker.check_model(str(result.target), full_check=full)


def check_weights(result):
    """Each weight is stored as the oracle's codes and scales, along an axis that a reader keeps, and
    reaches each reader as these real values; or it is listed, with a reason."""
    left = result.left_in_float()
    for name, weight in result.weights.items():
        found = result.found(weight)
        assert all(arrays for _, arrays in found), f"{name} is not where it is read"
        if any("step" not in arrays for _, arrays in found):
            assert all("step" not in arrays for _, arrays in found), f"{name} is stored twice"
            assert left.get(name), f"{name} is left in float, and nothing says why"
            continue
        assert name not in left, f"{name} is quantized, and listed as left in float"
        candidates = list(weight.candidates())
        assert candidates, f"{name} is quantized, but no axis of it is kept"
        axis, codes, real = next((c for c in candidates if has_codes(weight, found, c[1])),
                                 candidates[0])
        result.axis_of[name], result.rounded[name] = axis, real
        for use, arrays in found:
            places, elements = weight.places(use)
            for what, expected in (("codes", codes), ("values", real)):
                a = expected.ravel()[elements].astype(arrays[what].dtype)
                b = arrays[what].ravel()[places]
                assert np.array_equal(a, b), (
                    f"{name} {weight.array.shape}: other {what} for {use} than the definition gives "
                    f"along axis {axis} of {[c[0] for c in candidates]}: {b[:8]}, expected {a[:8]}")


def has_codes(weight, found, codes):
    """The written model has these codes for each of the uses."""
    for use, arrays in found:
        places, elements = weight.places(use)
        if not np.array_equal(arrays["codes"].ravel()[places], codes.ravel()[elements]):
            return False
    return True


def check_nothing_else_is_quantized(result):
    """No tensor of codes is there that is neither an original one, nor made the values of a weight."""
    for name, tensor in result.written.tensors.items():
        if tensor.data_type in CODES and name not in result.reader.tensors:
            assert name in result.written.reached, f"what is {name}?"


def check_counts(result):
    """The command counts what there is to quantize, and what it did, as the oracle does."""
    summary = result.document["summary"]
    for key, names in (("eligible", result.weights), ("eligible_quantized", result.axis_of)):
        sizes = [result.weights[name].array.nbytes for name in names]
        counted = summary[key]["count"], summary[key]["bytes"]
        assert counted == (len(sizes), sum(sizes)), f"{key}: {counted}, {len(sizes), sum(sizes)}"


def check_opset(result):
    written, opset = result.document["written"], default_opset(result.before)
    kinds = {node.op_type for node in result.after.graph.node}
    assert written["opset_read"] == opset, written
    assert written["opset_written"] == default_opset(result.after), written
    if opset >= 13 or not result.axis_of:
        assert written["opset_written"] == opset and not written["fallback_reason"], written
    elif written["fallback_reason"]:
        assert written["opset_written"] == opset and "DequantizeLinear" not in kinds, written
    else:
        assert written["opset_written"] == 13 and "DequantizeLinear" in kinds, written


def default_opset(model):
    return next(i.version for i in model.opset_import if i.domain in ("", "ai.onnx"))


def check_interface(result):
    """Inputs and outputs keep their names, order and types; a constant that is quantized, or multiplied
    by scales, is no input any more."""
    def described(values, without=()):
        return [(v.name, v.type.SerializeToString()) for v in values if v.name not in without]

    before, after = result.before.graph, result.after.graph
    assert described(before.output) == described(after.output), "other outputs"
    listed = {value.name for value in before.input} & set(result.reader.tensors)
    gone = listed - {value.name for value in after.input}
    kept = gone & set(result.written.tensors) - set(result.axis_of)
    assert not kept, f"no inputs any more: {kept}"
    assert described(before.input, gone) == described(after.input), "other inputs"
    assert gone.issuperset(listed & set(result.axis_of)), "a quantized weight is an input"


def simulated(result):
    """The original model with its weights replaced by what the codes stand for."""
    model = copy.deepcopy(result.before)
    reader = GraphReader(model)
    for name, real in result.rounded.items():
        rounded = real.astype(result.weights[name].array.dtype)
        reader.tensors[name].CopyFrom(numpy_helper.from_array(rounded, reader.tensors[name].name))
    return model


def check_outputs(result, feeds=None, tolerance=1e-5, run_model=run):
    """The quantized model computes what the original computes with rounded weights."""
    expected_model = simulated(result)
    if feeds is None:
        feeds = random_feeds(session_of(result.target))
    expected, found = run_model(expected_model, feeds), run_model(result.target, feeds)
    for name, a, b in zip([o.name for o in result.before.graph.output], expected, found):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{name}: {a.shape} became {b.shape}"
        if a.size == 0 or np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            continue
        wide = a.astype(np.float64)
        error = np.abs(wide - b.astype(np.float64)).max() / np.abs(wide).max()
        assert error <= tolerance, f"{name} is off by {error:.2e} of its largest value"


def check_all(source, target, feeds=None, tolerance=1e-5, run_model=run, options=()):
    result = Quantized(source, target, *options)
    check_weights(result)
    check_nothing_else_is_quantized(result)
    check_opset(result)
    check_interface(result)
    check_valid(result)
    check_outputs(result, feeds, tolerance, run_model)
    return result
