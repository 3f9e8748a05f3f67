// Operations that only move elements, or take means of them, and what lies in front of them.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::static_affine {

/// The constant that the value is, perhaps behind a few operations that only move elements; null
/// for what is computed.
[[nodiscard]] const Constant* constant_behind(const GraphView& graph, Value value) noexcept;

/// Whether a scale for each index of axis `channel` of the value, which is a constant behind moves,
/// is one for each index of an axis of that constant.
[[nodiscard]] bool reaches_constant(const GraphView& graph, Value value, std::int64_t channel);

/// Whether the node's result has elements of operand 0, zeros, and what lies between them, and
/// nothing else: the parameters that fit the operand fit it.
[[nodiscard]] bool is_move(NodeRef node) noexcept;

/// The same, and each element of the result is one of the operand's, the largest of several or one
/// that is chosen by its place: what limits the result might as well limit the operand.
[[nodiscard]] bool chooses_elements(NodeRef node) noexcept;

}  // namespace quadrant::inline v0::static_affine
