// Operations that limit their operand.
#pragma once

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::static_affine {

/// Whether the node limits its operand, element by element: Relu, Clip, Min with a constant.
[[nodiscard]] bool is_clamp(NodeRef node) noexcept;

/// The same, and nothing else reads the operand, nor what was moved to become it: what it was
/// before does not matter then, and the limited values are those that parameters are found from.
[[nodiscard]] bool is_only_clamp(NodeRef node) noexcept;

}  // namespace quadrant::inline v0::static_affine
