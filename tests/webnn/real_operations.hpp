// Which nodes of a graph compute on real numbers.
#pragma once

#include <set>
#include <string>

#include "quadrant/ir/graph.hpp"

namespace quadrant::webnn {

/// The names of the nodes that read a real value that is no constant, or make one: a value of float
/// type that is not quantized. Those that say what is quantized (`quantize`, `dequantize`) are
/// none, and neither are inputs, outputs and constants.
[[nodiscard]] std::set<std::string> real_operations(const Graph& graph);

}  // namespace quadrant::webnn
