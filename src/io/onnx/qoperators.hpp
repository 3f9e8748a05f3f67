// Operations on codes as ONNX's operators on codes: QLinearConv and its like.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

struct UsedQOperators {
  std::int64_t made = 0;
  std::string why_not;  ///< why the opset cannot be converted; empty where it could, or need not
};

/// Turns each node that computes on codes, by its types, into the operator that OnnxWriteOptions::
/// qoperators names, where its parameters can be said there; every other one stays. The graph is
/// converted to opset 13 first; where that cannot be, nothing is turned. Linear.
UsedQOperators use_qoperators(Graph& graph);

}  // namespace quadrant::inline v0::onnx
