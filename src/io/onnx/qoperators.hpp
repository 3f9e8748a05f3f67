// Operations on codes as ONNX's operators on codes: QLinearConv and its like.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Turns each node that computes on codes, by its types, into the operator that OnnxWriteOptions::
/// qoperators names, where its parameters can be said there; every other one stays. Returns how
/// many were turned. Linear.
std::int64_t use_qoperators(Graph& graph);

}  // namespace quadrant::inline v0::onnx
