// Values of float8, which DequantizeLinear reads and QuantizeLinear makes, as codes of a number
// format, and back; and weights of 2 bits, which come back as other integers do.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Turns each DequantizeLinear of an initializer of float8 (e4m3fn, e5m2), float4 or 2 bits, with a
/// constant scale for all, for each index of an axis or for blocks, into a `dequantize` of codes in
/// that format; of other integers, too, where scales are powers of two (float8e8m0). Zero points of
/// floats have to be zeros. Codes that mean several things become several constants. Each
/// QuantizeLinear to float8 becomes a `quantize`, where all who read it are DequantizeLinear with
/// the same scales. `restore_linear` makes the operators again; others stay as they are, with what
/// they read. Reads scales and zero points.
void raise_small_floats(Graph& graph);

/// What the operator that a raised node remembers says of its codes; none where that is no format.
[[nodiscard]] Quantization remembered_format(const Graph& graph, NodeId node);

/// Constants of codes that a DequantizeLinear reads become elements of their type in the file.
void store_codes_as_elements(Graph& graph);

/// Forgets the codes of initializers that stayed as they are.
void forget_small_floats(Graph& graph);

/// The inverse, of codes in such a format with one level of scales that are stored as floats,
/// converting the graph to opset 21 where it is older than they need: 19, and 21 for blocks, and
/// for what is made where there are limits (`has_limits`). Those that a Gather reads stay, whose
/// rows alone are worth computing, and, without `has_weights`, constants. Where the graph cannot be
/// converted, `why_not` says why, and nothing changes. Returns how many.
std::int64_t lower_small_floats(Graph& graph, std::string& why_not, bool has_weights);

/// `impossible`, by node, where codes that are no integers are made by what no operator does.
void refuse_other_makers(const Graph& graph, std::string_view why_not);

}  // namespace quadrant::inline v0::onnx
