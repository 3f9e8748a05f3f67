"""Weight-only quantization with a scale for each channel, written as a scheme of Python.

    python examples/python/weight_only_channel_wise.py MODEL.onnx SMALL.onnx

Weights become int8, codes and scales computed by numpy; products ask for a scale along the axis that their sum keeps,
and what only moves elements hands codes on. On models of these operations it writes what the library's own scheme
`weight-only` writes, byte by byte: tests/python/scheme_test.py.
"""

import math
import sys

import numpy as np

from quadrant.scheme import (
    AnyQuantizable,
    AnyState,
    AnyUnquantized,
    Consumer,
    Quantizable,
    Quantization,
    QuantizationConstraint,
    QuantizationMethod,
    Quantized,
    QuantizedType,
    Unquantized,
    or_absent,
    quantise_graph,
    register_parameterized,
    register_quantizer,
    requires_parents,
    variadic,
)


class WeightOnlyChannelWise(Quantization):
    """int8 from -127 to 127, a float32 scale for each channel: its largest magnitude / 127."""


class ChannelWiseQuantizationConstraint(QuantizationConstraint):
    """A scale for each index of `axis`."""

    def __init__(self, axis: int, gain: int = 1):
        self.axis = axis
        self.gain = gain

    def check(self, other):
        return other.axis == self.axis

    def hash(self):
        return self.axis


# --- roots ---------------------------------------------------------------------------------------


@register_quantizer(quantization=WeightOnlyChannelWise, op_type="constant")
class ParameterQuantizationMethod(QuantizationMethod):
    """Parameters take any axis. Inputs of the model have no method, and so stay float."""

    def check_eligibility(self, node, context):
        if node.dtype != "float32" or not node.shape or not math.prod(node.shape):
            return Unquantized("it has no channels of float32")
        return Quantizable()

    def callback(self, constraint, node, context):
        return constraint if constraint.axis < len(node.shape) else None

    def storage(self, constraint, node):
        elements = math.prod(node.shape)
        return 4 * elements, elements + 5 * node.shape[constraint.axis]  # codes; scales and zero points

    def examine(self, constraint, node, context):
        if not np.isfinite(node.value).all():
            context.refuse("it holds NaN or infinity")

    def rewriter(self, node, context):
        axis, weights = context.selected().axis, node.value
        largest = np.abs(weights).max(axis=tuple(i for i in range(weights.ndim) if i != axis))
        scales = largest / np.float32(127)
        scales[scales < np.finfo(np.float32).tiny] = 1  # a channel of zeros
        along = [-1 if i == axis else 1 for i in range(weights.ndim)]
        codes = np.rint(weights / scales.reshape(along)).clip(-127, 127).astype(np.int8)
        context.set_weight(node, codes, QuantizedType("int8", scales, axis=axis, range=(-127, 127)))


# --- what moves elements -------------------------------------------------------------------------


class TransparentQuantizationMethod(QuantizationMethod):
    """Derived classes say which axis of the parent becomes `axis` of the result; None: none does."""

    def parent_axis(self, axis, node):
        raise NotImplementedError

    def callback(self, constraint, node, context):
        axis = self.parent_axis(constraint.axis, node)
        if axis is None:
            context.refuse("the axis does not survive")
            return None
        parent = context.quantization_table[0]
        return constraint if parent.propagate_constraint(ChannelWiseQuantizationConstraint(axis)) else None

    def rewriter(self, node, context):
        constraint = context.selected()
        moved = node.parents[0].type.along(constraint.axis)
        context.quantization_table[node.name] = Quantized(constraint, moved)


@register_quantizer(quantization=WeightOnlyChannelWise, op_type="transpose")
@requires_parents(AnyQuantizable)
class PermuteQuantizationMethod(TransparentQuantizationMethod):
    def parent_axis(self, axis, node):
        order = node.attributes.get("perm", list(reversed(range(len(node.shape)))))
        return order[axis]


@register_parameterized(
    quantization=WeightOnlyChannelWise,
    params=[(kind, {}) for kind in ("reshape", "flatten", "squeeze", "unsqueeze", "identity")],
)
@requires_parents(AnyQuantizable, variadic(or_absent(AnyState)))
class ViewQuantizationMethod(TransparentQuantizationMethod):
    """An axis survives as one of the same size and stride. Then the same elements share a scale."""

    def parent_axis(self, axis, node):
        before, after = node.parents[0].shape, node.shape
        if before is None or after is None or None in (*before, *after):
            return None

        def place(shape, i):
            return shape[i], math.prod(shape[i + 1 :])

        found = [i for i in range(len(before)) if place(before, i) == place(after, axis)]
        return found[0] if found and after[axis] > 1 else None


# --- consumers -----------------------------------------------------------------------------------


class ProductQuantizationMethod(QuantizationMethod):
    """Asks for the axes that its sum keeps. It reads floats, behind a dequantize."""

    state = Consumer

    def kept_axes(self, node):
        """Of each factor."""
        raise NotImplementedError

    def request(self, node, context):
        for operand, axis in self.kept_axes(node):
            context.quantization_table[operand].propagate_constraint(ChannelWiseQuantizationConstraint(axis))


@register_parameterized(quantization=WeightOnlyChannelWise, params=[("matmul", {}), ("gemm", {})])
@requires_parents(AnyQuantizable, AnyQuantizable, or_absent(AnyState))
@requires_parents(AnyQuantizable, AnyUnquantized, or_absent(AnyState))
@requires_parents(AnyUnquantized, AnyQuantizable, or_absent(AnyState))
class MatmulQuantizationMethod(ProductQuantizationMethod):
    def kept_axes(self, node):
        flipped = [node.attributes.get(name, 0) for name in ("transA", "transB")]
        for i, parent in enumerate(node.parents[:2]):
            rank = len(parent.shape or ())
            if rank >= 2:
                yield i, rank - 2 if i == flipped[i] else rank - 1


@register_quantizer(quantization=WeightOnlyChannelWise, op_type="conv")
@requires_parents(AnyState, AnyQuantizable, or_absent(AnyState))
class ConvolutionQuantizationMethod(ProductQuantizationMethod):
    def kept_axes(self, node):
        return [(1, 0)]


@register_quantizer(quantization=WeightOnlyChannelWise, op_type="gather")
@requires_parents(AnyQuantizable, AnyState)
class LookupQuantizationMethod(ProductQuantizationMethod):
    """A scale for each row of an embedding."""

    def kept_axes(self, node):
        rank = len(node.parents[0].shape)
        return [(0, node.attributes.get("axis", 0) % rank)] if rank >= 2 else []


def quantize_weight_only(graph, **kwargs):
    return quantise_graph(graph=graph, quantization=WeightOnlyChannelWise(), gain="bytes", **kwargs)


if __name__ == "__main__":
    quantize_weight_only(sys.argv[1]).save(sys.argv[2])
