// A model ready to be fused.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// `graph` with `quantize` and `dequantize` where types alone said what is quantized, and with
/// codes for constants behind a `quantize`. Linear.
[[nodiscard]] Expected<Graph> explicit_model(const Graph& graph);

}  // namespace quadrant::inline v0::qdq_fusion
