#include "transforms/edits.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

OrReason<Use> only_use(const Graph& graph, Value value) {
  const std::span<const Use> uses = graph.uses(value.node);
  const std::string_view name = graph.value_name(value);
  if (uses.empty() || (uses.size() == 1 && uses[0].result != value.result)) {
    return because(fmt::format("nothing reads '{}'", name));
  }
  if (uses.size() > 1) return because(fmt::format("'{}' has {} readers", name, uses.size()));
  if (graph.kind(uses[0].user) == ops::Output::kind) {
    return because(fmt::format("'{}' is an output of the graph", name));
  }
  return uses[0];
}

void set_own_constant(Graph& graph, NodeId user, std::uint32_t operand, Constant constant) {
  const Value value = graph.operands(user)[operand];
  if (graph.uses(value.node).size() == 1) {
    graph.set_constant(value.node, std::move(constant));
    return;
  }
  graph.set_operand(user, operand,
                    graph.add_constant(std::string(graph.value_name(value)), std::move(constant)));
}

NodeId with_operand(Graph& graph, NodeId node, std::size_t index, Value operand) {
  std::vector<Value> operands(graph.operands(node).begin(), graph.operands(node).end());
  if (index < operands.size()) {
    graph.set_operand(node, static_cast<std::uint32_t>(index), operand);
    return node;
  }
  operands.resize(index);
  operands.push_back(operand);
  const Value before{node};
  const Value after{graph.add({.kind = std::string(graph.kind(node)),
                               .name = std::string(graph.name(node)),
                               .operands = std::move(operands),
                               .results = {{{}, graph.type(before)}},
                               .attributes = graph.attributes(node)})};
  take_over(graph, before, after);
  return after.node;
}

NodeId add_behind(Graph& graph, Value value, Constant constant) {
  std::string name(graph.value_name(value));
  graph.set_value_name(value, name + "_product");
  std::vector<Use> readers(graph.uses(value.node).begin(), graph.uses(value.node).end());
  std::erase_if(readers, [&](const Use& use) { return use.result != value.result; });
  const Value added = graph.add_constant(name + "_bias", std::move(constant));
  const NodeId sum = graph.add({.kind = std::string(ops::Add::kind),
                                .operands = {value, added},
                                .results = {{std::move(name), graph.type(value)}}});
  for (const Use& use : readers) graph.set_operand(use.user, use.operand, {sum});
  return sum;
}

void take_over(Graph& graph, Value from, Value to) {
  std::string name(graph.value_name(from));
  TensorType type = graph.type(from);
  const std::vector<Value> operands(graph.operands(from.node).begin(),
                                    graph.operands(from.node).end());
  graph.replace_uses(from, to);
  graph.erase(from.node);
  for (const Value operand : operands) {
    if (operand.is_absent() || !graph.contains(operand.node)) continue;
    if (graph.kind(operand.node) == ops::Constant::kind && graph.uses(operand.node).empty()) {
      graph.erase(operand.node);
    }
  }
  graph.set_value_name(to, std::move(name));
  if (type.element != ElementType::undefined && type.shape.is_ranked()) {
    graph.set_type(to, std::move(type));
  }
}

}  // namespace quadrant::inline v0
