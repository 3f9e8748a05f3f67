#include "quadrant/ir/to_graph.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "quadrant/ir/topology.hpp"

namespace quadrant::inline v0 {

Expected<Graph> to_graph(const GraphView& view, const AttributesOf& attributes_of) {
  QUADRANT_TRY(const std::vector<NodeId> order, order_of_making(view));
  Graph graph;
  graph.set_operations(view.operations());
  std::unordered_map<NodeId, NodeId> made;
  for (const NodeId node : order) {
    NodeSpec spec;
    spec.kind = view.kind(node);
    spec.name = view.name(node);
    for (const Value operand : view.operands(node)) {
      const bool is_absent = operand.is_absent();
      spec.operands.push_back(is_absent ? Value{} : Value{made.at(operand.node), operand.result});
    }
    for (std::uint32_t i = 0; i < view.result_count(node); ++i) {
      spec.results.push_back({std::string(view.value_name({node, i})), view.type({node, i})});
    }
    if (attributes_of) spec.attributes = attributes_of(node);
    if (const Constant* constant = view.constant(node)) spec.constant = *constant;
    const NodeId same = graph.add(std::move(spec));
    for (std::uint32_t i = 0; i < view.result_count(node); ++i) {
      const std::string_view name = view.value_name({node, i});
      if (!name.empty() && graph.value_name({same, i}) == name) continue;
      return fail(ErrorCode::invalid_model,
                  fmt::format("value {} of node '{}' has {}", i, label(view, node),
                              name.empty() ? "no name" : "the name of another one"),
                  {.tensor = std::string(name)});
    }
    made.emplace(node, same);
  }
  return graph;
}

}  // namespace quadrant::inline v0
