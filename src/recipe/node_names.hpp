// The names by which people call the nodes of a graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"
#include "recipe/name_pattern.hpp"

namespace quadrant::inline v0 {

/// A node that computes or holds something, with its own name and those of its values.
struct NamedNode {
  NodeId id;
  std::string_view own;                 ///< empty: it has none
  std::vector<std::string_view> names;  ///< its own, if it has one, and those of its values
};

/// Neither inputs nor outputs of the graph, about which nothing is decided. Valid until the graph
/// is edited.
[[nodiscard]] std::vector<NamedNode> named_nodes(const GraphView& graph);

/// The values of the node that `pattern` means: those whose names match where the node's own does
/// not. Files name values after operations, and who names an operation does not mean them.
[[nodiscard]] std::vector<Value> values_named(const GraphView& graph, const NamedNode& node,
                                              const NamePattern& pattern);

/// What nodes of that name, which need not be unique, make, and the value of that name; one at
/// least. A node that makes nothing has value 0 all the same. `usage`, with near names, where there
/// is none, and for what is in a subgraph.
[[nodiscard]] Expected<std::vector<Value>> values_called(const Graph& graph,
                                                         const std::string& wanted);

/// Values, and what callers call them.
struct NamedValues {
  std::vector<std::string> names;
  std::vector<Value> values;

  void add(std::string_view name, Value value);  ///< unless it is there
};
/// The values of these names, where an output goes by its own name; of none, all outputs. `usage`,
/// with near names, for a name that there is not.
[[nodiscard]] Expected<NamedValues> find_values(const Graph& graph,
                                                const std::vector<std::string>& wanted);

/// All their names.
[[nodiscard]] std::vector<std::string_view> all_names(const GraphView& graph);

}  // namespace quadrant::inline v0
