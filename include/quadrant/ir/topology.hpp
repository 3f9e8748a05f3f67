// The order in which a graph can be computed.
#pragma once

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

}  // namespace quadrant::inline v0
