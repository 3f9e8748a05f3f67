// An order of nodes that does not depend on how the graph was built.
#pragma once

#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// The nodes of `order`, any topological order of `graph`, in the one that follows from the graph
/// alone: by the longest way from a source, then by name. Linear in nodes, edges and letters.
[[nodiscard]] std::vector<NodeId> canonical_order(const GraphView& graph,
                                                  const std::vector<NodeId>& order);

}  // namespace quadrant::inline v0
