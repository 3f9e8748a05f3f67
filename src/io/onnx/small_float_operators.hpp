// Codes of float8 as DequantizeLinear and QuantizeLinear, in the opset that they need. What was
// read as such (small_floats.hpp) comes back by restore_linear.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Constants of codes that a DequantizeLinear reads become elements of their type in the file.
void store_codes_as_elements(Graph& graph);

/// Makes the operators of codes with one level of scales that are stored as floats, converting the
/// graph to opset 21 where it is older than they need: 19, and 21 for blocks, and for what is made
/// where there are limits (`has_limits`). Those that a Gather reads stay, whose rows alone are
/// worth computing, and, without `has_weights`, constants. Where the graph cannot be converted,
/// `why_not` says why, and nothing changes. Returns how many.
std::int64_t lower_small_floats(Graph& graph, std::string& why_not, bool has_weights);

/// `impossible`, by node, where codes that are no integers are made by what no operator does.
void refuse_other_makers(const Graph& graph, std::string_view why_not);

}  // namespace quadrant::inline v0::onnx
