// Conversions that are put into a graph before it is written.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::openvino {

/// `value` as `type`, whose element type ONNX has; a new value.
[[nodiscard]] Value add_cast(Graph& graph, Value value, TensorType type);

}  // namespace quadrant::inline v0::openvino
