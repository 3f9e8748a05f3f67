#include "quadrant/ir/graph_view.hpp"

#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0 {

std::span<const Operation> GraphView::operations() const noexcept { return {}; }

Value NodeRef::operand(std::size_t index) const noexcept {
  const auto all = operands();
  return index < all.size() ? all[index] : Value{};
}

const TensorType* NodeRef::operand_type(std::size_t index) const noexcept {
  const Value value = operand(index);
  return value.is_absent() ? nullptr : &graph->type(value);
}

const Constant* NodeRef::operand_constant(std::size_t index) const noexcept {
  const Value value = operand(index);
  return value.is_absent() ? nullptr : graph->constant(value.node);
}

ValueNumbering::ValueNumbering(const GraphView& graph) : first_(graph.index_bound() + 1, 0) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    first_[i + 1] = first_[i] + (node.is_valid() ? graph.result_count(node) : 0);
  }
}

std::string_view label(const GraphView& graph, NodeId node) noexcept {
  if (!graph.name(node).empty()) return graph.name(node);
  if (graph.result_count(node) > 0) return graph.value_name({node, 0});
  return graph.kind(node);
}

}  // namespace quadrant::inline v0
