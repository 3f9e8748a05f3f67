// Which version of an operator set a graph's operations follow.
#pragma once

#include <cstdint>
#include <string_view>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

/// Names of the graph's attributes that list operator sets, domains and versions alike: readers of
/// formats that have such set them.
inline constexpr std::string_view opset_domains_key = "onnx.opset_domains";
inline constexpr std::string_view opset_versions_key = "onnx.opset_versions";

/// The version of ONNX's own operators in a graph that says nothing of it.
inline constexpr std::int64_t default_opset = 17;

/// Version of ONNX's own operators (domain "", or "ai.onnx"), which the kinds of ir/ops.hpp and
/// `onnx.<type>` mean. They change with it: Softmax, for example, at 13.
[[nodiscard]] std::int64_t opset_version(const Graph& graph);

}  // namespace quadrant::inline v0
