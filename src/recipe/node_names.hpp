// The names by which people call the nodes of a graph.
#pragma once

#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// A node that computes or holds something, with its own name and those of its values.
struct NamedNode {
  NodeId id;
  std::vector<std::string_view> names;
};

/// Neither inputs nor outputs of the graph, about which nothing is decided. Valid until the graph
/// is edited.
[[nodiscard]] std::vector<NamedNode> named_nodes(const GraphView& graph);

/// All their names.
[[nodiscard]] std::vector<std::string_view> all_names(const GraphView& graph);

}  // namespace quadrant::inline v0
