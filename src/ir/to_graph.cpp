#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

Expected<Graph> to_graph(const GraphView& view, const AttributesOf& attributes_of) {
  QUADRANT_TRY(const std::vector<NodeId> order, order_of_making(view));
  Graph graph;
  graph.set_operations(view.operations());
  std::vector<NodeId> made(view.index_bound());
  for (const NodeId node : order) {
    NodeSpec spec;
    spec.kind = view.kind(node);
    spec.name = view.name(node);
    for (const Value operand : view.operands(node)) {
      if (operand.is_absent()) {
        spec.operands.emplace_back();
        continue;
      }
      const std::uint32_t index = operand.node.index;
      if (index >= made.size() || !made[index].is_valid()) {
        return fail(ErrorCode::invalid_model,
                    fmt::format("'{}' reads a value that is not there", label(view, node)));
      }
      spec.operands.push_back({made[index], operand.result});
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
    made[node.index] = same;
  }
  return graph;
}

}  // namespace quadrant::inline v0
