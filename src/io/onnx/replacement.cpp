#include "io/onnx/replacement.hpp"

namespace quadrant::inline v0::onnx {

Replacement::Replacement(Graph& graph, NodeId node)
    : graph_(graph),
      node_(node),
      kind_(graph.kind(node)),
      operands_(graph.operands(node).begin(), graph.operands(node).end()),
      attributes_(graph.attributes(node)),
      result_count_(graph.result_count(node)) {}

void Replacement::set_operand(std::size_t index, Value value) {
  if (operands_.size() <= index) operands_.resize(index + 1);
  operands_[index] = value;
}

void Replacement::set_operand(std::size_t index, std::string_view role, Constant constant) {
  const std::string name = fmt::format("{}_{}", graph_.value_name({node_}), role);
  set_operand(index, graph_.add_constant(name, std::move(constant)));
}

void Replacement::finish() {
  NodeSpec spec;
  spec.kind = std::move(kind_);
  spec.name = graph_.name(node_);
  spec.operands = std::move(operands_);
  spec.attributes = std::move(attributes_);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < result_count_; ++i) {
    names.emplace_back(graph_.value_name({node_, i}));
    spec.results.push_back({names.back(), graph_.type({node_, i})});
  }
  const NodeId made = graph_.add(std::move(spec));
  for (std::uint32_t i = 0; i < result_count_; ++i) graph_.replace_uses({node_, i}, {made, i});
  graph_.erase(node_);
  for (std::uint32_t i = 0; i < result_count_; ++i) graph_.set_value_name({made, i}, names[i]);
}

}  // namespace quadrant::inline v0::onnx
