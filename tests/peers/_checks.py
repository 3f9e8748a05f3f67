"""Everything that has to hold for a model and what `quantize --scheme weight-only` makes of it."""

import copy

import numpy as np
import onnx
from onnx import numpy_helper

from _models import quantize, random_feeds, run, session_of
from _oracle import GraphReader, dequantized, find_weights, stored_for, symmetric_int8


class Quantized:
    """A model before and after, with what the command said about it."""

    def __init__(self, source, target, *options):
        self.source, self.target = source, target
        self.document = quantize(source, target, *options)
        self.before, self.after = onnx.load(source), onnx.load(target)
        self.reader = GraphReader(self.before)
        self.written = GraphReader(self.after)
        self.weights = find_weights(self.reader)
        self.axis_of = {}  # of the weights that are stored as codes

    def left_in_float(self):
        return {left["name"]: left["reason"]
                for left in self.document["summary"]["left_in_float"]}


def check_valid(result):
    """The checker says nothing about the result that it does not say about the original."""
    for full in (False, True):
        try:
            onnx.checker.check_model(str(result.source), full_check=full)
        except Exception:
            return
        onnx.checker.check_model(str(result.target), full_check=full)


def check_weights(result):
    """Each weight of a product is stored as the oracle's codes and scales, along an axis that a reader
    keeps, and reaches each reader as these real values; or it is listed, with a reason."""
    left = result.left_in_float()
    for name, weight in result.weights.items():
        stored = [(use, stored_for(result.written, operand_of(result, use)))
                  for use in weight.uses]
        if any(codes is None for _, codes in stored):
            assert all(codes is None for _, codes in stored), f"{name} is stored twice"
            assert left.get(name), f"{name} is left in float, and nothing says why"
            continue
        assert name not in left, f"{name} is quantized, and listed as left in float"
        result.axis_of[name] = matching_axis(weight, stored[0][1])
        codes, scales = symmetric_int8(weight.array, result.axis_of[name])
        real = dequantized(codes, scales, result.axis_of[name], weight.array.dtype)
        for (node, operand, moves), found in stored:
            assert np.array_equal(found.codes, codes), f"{name}: other codes for {node.name}"
            assert np.array_equal(found.values, result.reader.apply(moves, real)), (
                f"{name}: operand {operand} of {node.name} ({node.op_type}) has other values")


def operand_of(result, use):
    """The name, in the written model, of the operand of a use in the original."""
    node, operand, _ = use
    output = next(name for name in node.output if name)
    twin = result.written.producers[output]
    assert twin.op_type == node.op_type, f"{output} is made by {twin.op_type}"
    return twin.input[operand]


def matching_axis(weight, stored):
    assert weight.axes, f"{weight.name} is quantized, but no axis of it is kept"
    for axis in sorted(weight.axes):
        codes, scales = symmetric_int8(weight.array, axis)
        if np.array_equal(stored.scales, scales) and np.array_equal(stored.codes, codes):
            return axis
    codes, scales = symmetric_int8(weight.array, min(weight.axes))
    raise AssertionError(
        f"{weight.name} {weight.array.shape}: not what the definition gives along {weight.axes}: "
        f"codes {stored.codes.shape} {stored.codes.ravel()[:8]}, expected {codes.ravel()[:8]}; "
        f"scales {stored.scales.shape} {stored.scales.ravel()[:4]}, expected {scales[:4]}")


def check_nothing_else_is_quantized(result):
    """No int8 tensor is there that is neither an original one, nor codes or zero points of a weight."""
    expected = {symmetric_int8(result.weights[name].array, axis)[0].tobytes()
                for name, axis in result.axis_of.items()}
    for name, tensor in result.written.tensors.items():
        if tensor.data_type != onnx.TensorProto.INT8 or name in result.reader.tensors:
            continue
        data = result.written.array(name)
        assert not data.any() or data.tobytes() in expected, f"what is {name}?"


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
    """Inputs and outputs keep their names, order and types; a quantized weight is no input any more."""
    def described(values, without=()):
        return [(v.name, v.type.SerializeToString()) for v in values if v.name not in without]

    before, after = result.before.graph, result.after.graph
    assert described(before.output) == described(after.output), "other outputs"
    assert described(before.input, result.axis_of) == described(after.input), "other inputs"


def simulated(result):
    """The original model with its weights replaced by scale * codes."""
    model = copy.deepcopy(result.before)
    reader = GraphReader(model)
    for name, axis in result.axis_of.items():
        weight = result.weights[name].array
        real = dequantized(*symmetric_int8(weight, axis), axis, weight.dtype)
        reader.tensors[name].CopyFrom(numpy_helper.from_array(real, reader.tensors[name].name))
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
