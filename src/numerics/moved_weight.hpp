// Weights that reach their product through moves which nothing else reads.
#pragma once

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The constant in front of `node` and of the moves, transposes and casts to wider floats before
/// it; `node` itself where it is none of these.
[[nodiscard]] NodeRef moved_from(NodeRef node);

/// Whether elements come out of `node` in the order that they have there.
[[nodiscard]] bool keeps_order(NodeRef node);

/// The float weight there, if each of these has one reader and keeps all elements; null for others.
[[nodiscard]] const Constant* own_weight(NodeRef node);

/// `contents`, of the shape of that weight, as they come out of `node`. Reads them where their
/// order or their type changes.
[[nodiscard]] Expected<Constant> moved_weight(NodeRef node, Constant contents);

}  // namespace quadrant::inline v0
