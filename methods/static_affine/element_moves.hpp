// Operations that only move elements, or take means of them, and what lies in front of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::static_affine {

/// The constant that the value is, perhaps behind a few operations that only move elements; null
/// for what is computed.
[[nodiscard]] const Constant* constant_behind(const GraphView& graph, Value value);

/// The axis of the constant of which the value is made by moves that has its scales where the value
/// has them along axis `channel`; empty: there is none.
[[nodiscard]] std::optional<std::int64_t> axis_at_constant(const GraphView& graph, Value value,
                                                           std::int64_t channel);

/// The constant, and what moves make of it.
[[nodiscard]] std::vector<Value> moved_values(const GraphView& graph, Value constant);

/// Whether the node's result has elements of operand 0, zeros, and what lies between them, and
/// nothing else: the parameters that fit the operand fit it.
[[nodiscard]] bool is_move(NodeRef node);

/// The same, and each element of the result is one of the operand's, the largest of several or one
/// that is chosen by its place: what limits the result might as well limit the operand.
[[nodiscard]] bool chooses_elements(NodeRef node) noexcept;

}  // namespace quadrant::inline v0::static_affine
