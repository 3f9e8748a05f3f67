// The part of a value's numbers that is left where it is read.
#pragma once

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// What a value is limited to, where the one who reads it limits it, behind moves and poolings
/// perhaps: what a Relu or a Clip takes away, codes may leave out. The value itself where nothing
/// limits it. Walks a few steps.
[[nodiscard]] Value behind_limits(const GraphView& graph, Value value);

}  // namespace quadrant::inline v0
