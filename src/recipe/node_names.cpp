#include "recipe/node_names.hpp"

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

std::vector<NamedNode> named_nodes(const GraphView& graph) {
  std::vector<NamedNode> nodes;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId id = graph.node_at(i);
    if (!id.is_valid()) continue;
    const std::string_view kind = graph.kind(id);
    if (kind == ops::Input::kind || kind == ops::Output::kind) continue;
    NamedNode node{id, graph.name(id), {}};
    if (!node.own.empty()) node.names.push_back(node.own);
    for (std::uint32_t result = 0; result < graph.result_count(id); ++result) {
      node.names.push_back(graph.value_name({id, result}));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<Value> values_named(const GraphView& graph, const NamedNode& node,
                                const NamePattern& pattern) {
  std::vector<Value> values;
  if (!node.own.empty() && pattern.matches(node.own)) return values;
  for (std::uint32_t result = 0; result < graph.result_count(node.id); ++result) {
    const Value value{node.id, result};
    if (pattern.matches(graph.value_name(value))) values.push_back(value);
  }
  return values;
}

std::vector<std::string_view> all_names(const GraphView& graph) {
  std::vector<std::string_view> names;
  for (const NamedNode& node : named_nodes(graph)) {
    names.insert(names.end(), node.names.begin(), node.names.end());
  }
  return names;
}

}  // namespace quadrant::inline v0
