#include "ir/put_in_place.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "ir/regions.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

Value add_cast(Graph& graph, std::string_view kind, Value operand, std::string_view of,
               std::string result, TensorType type) {
  return {graph.add({.kind = std::string(kind),
                     .name = fmt::format("{}_{}", of, kind),
                     .operands = {operand},
                     .results = {{std::move(result), std::move(type)}}})};
}

void put_in_place(Graph& graph, NodeId node, Value made) {
  const std::string name(graph.value_name({node}));
  std::string node_name(graph.name(node));
  graph.replace_uses({node}, made);
  std::vector<NodeId> unread{node};
  while (!unread.empty()) {
    const NodeId next = unread.back();
    unread.pop_back();
    const bool is_unread = graph.contains(next) && graph.uses(next).empty() &&
                           graph.kind(next) != ops::Input::kind &&
                           graph.kind(next) != regions::input_kind;
    if (!is_unread) continue;
    for (const Value operand : graph.operands(next)) {
      if (!operand.is_absent()) unread.push_back(operand.node);
    }
    graph.erase(next);
  }
  graph.set_value_name(made, name);
  if (!node_name.empty()) graph.set_node_name(made.node, std::move(node_name));
}

}  // namespace quadrant::inline v0
