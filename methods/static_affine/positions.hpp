// Values that have to be exact.
#pragma once

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::static_affine {

/// Whether the value is computed from integers of more than 8 bits, or Booleans, and constants
/// alone, by no layer: a position, a mask. These are
/// small numbers that must be exact, or large ones that stand for infinity. False where that takes
/// long to find out.
[[nodiscard]] bool is_computed_from_integers(const GraphView& graph, Value value);

}  // namespace quadrant::inline v0::static_affine
