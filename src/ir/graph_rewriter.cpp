#include "quadrant/ir/graph_rewriter.hpp"

#include <utility>
#include <vector>

#include "ir/regions.hpp"

namespace quadrant::inline v0 {

Expected<void> Capabilities::can_hold(const TensorType& /*type*/) const { return {}; }

Expected<void> Capabilities::can_emit(std::string_view /*kind*/,
                                      std::span<const TensorType> /*operands*/,
                                      const TensorType& /*result*/) const {
  return {};
}

std::vector<std::vector<Value>> Capabilities::of_one_type() const { return {}; }

Expected<void> Capabilities::check_view() const { return {}; }

Expected<void> GraphRewriter::erase(NodeId /*node*/) { return {}; }

Expected<void> GraphRewriter::replace_uses(Value from, Value to, NodeId except) {
  const auto uses = view().uses(from.node);
  const std::vector<Use> readers(uses.begin(), uses.end());  // editing moves them
  for (const Use& use : readers) {
    if (use.result != from.result || use.user == except) continue;
    QUADRANT_CHECK(set_operand(use.user, use.operand, to));
  }
  return {};
}

Expected<NodeId> GraphEditor::emit(NodeSpec spec) { return graph_->add(std::move(spec)); }

Expected<void> GraphEditor::set_operand(NodeId node, std::uint32_t operand, Value value) {
  graph_->set_operand(node, operand, value);
  return {};
}

Expected<void> GraphEditor::set_type(Value value, TensorType type) {
  graph_->set_type(value, std::move(type));
  return {};
}

Expected<void> GraphEditor::set_constant(NodeId node, Constant constant,
                                         Quantization quantization) {
  graph_->set_constant(node, std::move(constant), std::move(quantization));
  return {};
}

Expected<void> GraphEditor::set_value_name(Value value, std::string name) {
  graph_->set_value_name(value, std::move(name));
  return {};
}

Expected<void> GraphEditor::erase(NodeId node) {
  if (graph_->kind(node) == regions::input_kind) return {};  // a body takes it, read or not
  graph_->erase(node);
  return {};
}

}  // namespace quadrant::inline v0
