// The order in which a graph can be computed, and what needs no input for that.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// All nodes, producers before users. Linear, without recursion. A cycle is an error that names a
/// node on it.
[[nodiscard]] Expected<std::vector<NodeId>> topological_order(const GraphView& graph);

/// The same in the order in which they were added, but each node after what it needs: new nodes
/// come just before their first users.
[[nodiscard]] Expected<std::vector<NodeId>> order_of_making(const GraphView& graph);

/// By index of the node, 1 for constants and what is computed of constants alone. `order` is a
/// topological order of `graph`. Linear.
[[nodiscard]] std::vector<std::uint8_t> of_constants_alone(const GraphView& graph,
                                                           const std::vector<NodeId>& order);

}  // namespace quadrant::inline v0
