// Values of float8, which DequantizeLinear reads and QuantizeLinear makes, read as codes of a
// number format; and weights of 2 bits. small_float_operators.hpp makes such operators.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Turns each DequantizeLinear of an initializer of float8 (e4m3fn, e5m2), float4 or 2 bits, with a
/// constant scale for all, for each index of an axis or for blocks, into a `dequantize` of codes in
/// that format; of other integers, too, where scales are powers of two (float8e8m0) or behind a
/// Cast. Zero points of floats have to be zeros. Codes that mean several things become several
/// constants. Each QuantizeLinear to float8 becomes a `quantize`, where all who read it are
/// DequantizeLinear with the same scales. `restore_linear` makes the operators again; others stay
/// as they are, with what they read. Reads scales and zero points.
void raise_small_floats(Graph& graph);

/// What the operator that a raised node remembers says of its codes; none where that is no format.
[[nodiscard]] Quantization remembered_format(const Graph& graph, NodeId node);

/// Forgets the codes of initializers that stayed as they are.
void forget_small_floats(Graph& graph);

/// Of those that DequantizeLinear reads and QuantizeLinear makes as values.
[[nodiscard]] bool is_small_float(ElementType element) noexcept;
/// Whether the node is a `quantize`.
[[nodiscard]] bool makes_codes(const Graph& graph, NodeId node);

}  // namespace quadrant::inline v0::onnx
