// Whether handles belong to a graph as it is now.
#pragma once

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] inline bool exists(const GraphView& graph, NodeId node) noexcept {
  return node.index < graph.index_bound() && graph.node_at(node.index) == node;
}
/// False for the absent value.
[[nodiscard]] inline bool exists(const GraphView& graph, Value value) noexcept {
  return exists(graph, value.node) && value.result < graph.result_count(value.node);
}

}  // namespace quadrant::inline v0
