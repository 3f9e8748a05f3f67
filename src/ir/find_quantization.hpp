// Whether a model is quantized already.
#pragma once

#include <optional>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// A node that shows that a model is quantized already, whichever way its format says so: by the
/// types of values, by operators that make, read or compute on codes, by fake quantization. Empty
/// where none does: what is quantized then is so for the first time. Linear.
[[nodiscard]] std::optional<NodeId> find_quantization(const GraphView& graph);

}  // namespace quadrant::inline v0
