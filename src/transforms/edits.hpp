// Edits of a graph that the transformations share.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

/// The use of a value that nothing else reads, no other result of its node included; else who does.
[[nodiscard]] OrReason<Use> only_use(const Graph& graph, Value value);

/// Gives operand `operand` of `user`, a constant, other contents. Other readers keep theirs.
void set_own_constant(Graph& graph, NodeId user, std::uint32_t operand, Constant constant);

/// A node as `node`, which goes, with `operand` as operand `index`; its result has the same name.
NodeId with_operand(Graph& graph, NodeId node, std::size_t index, Value operand);

/// An addition of `constant` behind `value`, a product, whose name and readers it gets.
NodeId add_behind(Graph& graph, Value value, Constant constant);

/// Every use of `from` becomes one of `to`, which also gets its name, and its type if that is
/// known; the node of `from` goes, and with it the constants that only it has read.
void take_over(Graph& graph, Value from, Value to);

}  // namespace quadrant::inline v0
