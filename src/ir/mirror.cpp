#include "quadrant/ir/mirror.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

MirrorBase::MirrorBase(std::vector<std::string_view> emitted, std::span<const Operation> rows)
    : emitted_(std::move(emitted)) {
  graph_.set_operations(rows);
  graph_.set_capabilities(this);
}

Graph MirrorBase::graph() const {
  Graph copy = graph_;
  copy.set_capabilities(nullptr);
  return copy;
}

NodeId MirrorBase::add_node(NodeSpec shown, const NodeSpec* asked) {
  std::ranges::replace(shown.operands, not_added, Value{});
  if (asked != nullptr) {
    if (shown.name.empty()) shown.name = asked->name;
    for (std::size_t i = 0; i < std::min(shown.results.size(), asked->results.size()); ++i) {
      if (shown.results[i].name.empty()) shown.results[i].name = asked->results[i].name;
    }
  }
  // What compares two programs knows outputs by name, and numbers of nodes shift.
  if (shown.kind == ops::Output::kind && shown.name.empty()) {
    shown.name = fmt::format("output_{}", unnamed_outputs_++);
  }
  return graph_.add(std::move(shown));
}

std::vector<std::vector<Value>> MirrorBase::of_one_type() const {
  std::vector<std::vector<Value>> groups;
  for (const std::vector<NodeId>& nodes : of_one_type_) {
    std::vector<Value>& group = groups.emplace_back();
    for (const NodeId node : nodes) {
      if (!graph_.contains(node)) continue;  // it was erased
      std::ranges::copy(graph_.operands(node), std::back_inserter(group));
      for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) group.push_back({node, i});
    }
  }
  return groups;
}

// --- edits --------------------------------------------------------------------------------------

Expected<void> MirrorBase::check_kind(std::string_view kind) const {
  if (std::ranges::find(emitted_, kind) != emitted_.end()) return {};
  return fail(ErrorCode::impossible, fmt::format("there is no operation '{}' to emit", kind));
}

Expected<void> MirrorBase::can_emit(std::string_view kind, std::span<const TensorType> /*operands*/,
                                    const TensorType& result) const {
  QUADRANT_CHECK(check_kind(kind));
  return can_hold(result);
}

Expected<NodeId> MirrorBase::emit(NodeSpec spec) {
  std::vector<TensorType> operands;
  operands.reserve(spec.operands.size());
  for (const Value operand : spec.operands) {
    operands.push_back(operand.is_absent() ? TensorType{} : graph_.type(operand));
  }
  QUADRANT_CHECK(check_kind(spec.kind));
  if (spec.results.size() != 1) {
    return fail(ErrorCode::impossible,
                fmt::format("'{}' of {} results: one is emitted", spec.kind, spec.results.size()));
  }
  QUADRANT_CHECK(can_emit(spec.kind, operands, spec.results[0].type));
  spec.results[0].name = graph_.free_name(std::move(spec.results[0].name));
  return make_node(spec);
}

Expected<void> MirrorBase::set_operand(NodeId node, std::uint32_t operand, Value value) {
  QUADRANT_CHECK(connect(node, operand, value));
  graph_.set_operand(node, operand, value);
  refresh(node);
  return {};
}

Expected<void> MirrorBase::set_type(Value value, TensorType type) {
  QUADRANT_CHECK(retype_value(value, type));
  refresh(value.node);
  return {};
}

Expected<void> MirrorBase::set_constant(NodeId node, Constant constant, Quantization quantization) {
  const TensorType type{constant.element(), constant.shape(), std::move(quantization)};
  QUADRANT_CHECK(refill_node(node, constant, type));
  refresh(node);
  return {};
}

Expected<void> MirrorBase::set_value_name(Value value, std::string name) {
  if (graph_.value_name(value) == name) return {};
  name = graph_.free_name(std::move(name));
  rename(value, name);
  graph_.set_value_name(value, std::move(name));  // where the IR has no names
  refresh(value.node);
  return {};
}

Expected<void> MirrorBase::erase(NodeId node) {
  QUADRANT_TRY(const bool is_gone, remove(node));
  if (!is_gone) return {};
  forget(node);
  graph_.erase(node);
  return {};
}

// As the IR has it, also where that is not what was asked for.
void MirrorBase::refresh(NodeId node) {
  NodeSpec now = show_node(node);
  std::ranges::replace(now.operands, not_added, Value{});
  for (std::uint32_t i = 0; i < std::min(now.operands.size(), graph_.operands(node).size()); ++i) {
    if (graph_.operands(node)[i] != now.operands[i]) graph_.set_operand(node, i, now.operands[i]);
  }
  if (graph_.constant(node) != nullptr) graph_.set_constant(node, std::move(now.constant));
  const std::size_t count = std::min<std::size_t>(now.results.size(), graph_.result_count(node));
  for (std::uint32_t i = 0; i < count; ++i) {
    auto& [name, type] = now.results[i];
    if (!name.empty() && name != graph_.value_name({node, i})) {
      graph_.set_value_name({node, i}, std::move(name));
    }
    graph_.set_type({node, i}, std::move(type));
  }
  if (!now.name.empty()) graph_.set_node_name(node, std::move(now.name));
}

// --- the view -----------------------------------------------------------------------------------

Expected<void> MirrorBase::check_view() const {
  for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
    const NodeId node = graph_.node_at(index);
    if (node.is_valid()) QUADRANT_CHECK(check_node(node));
  }
  return {};
}

Expected<void> MirrorBase::check_node(NodeId node) const {
  const NodeSpec shown = show_node(node);
  const auto differs = [&](std::string message) -> Expected<void> {
    return fail(ErrorCode::invalid_model, std::move(message),
                {.node = std::string(label(graph_, node))});
  };
  const auto operands = graph_.operands(node);
  for (std::size_t i = 0; i < std::min(shown.operands.size(), operands.size()); ++i) {
    const bool is_late = operands[i].is_absent() && !shown.operands[i].is_absent();
    if (!is_late && shown.operands[i] != not_added) continue;
    return differs(fmt::format("operand {} is of an operation that was not added before", i));
  }
  if (!std::ranges::equal(shown.operands, operands)) {
    return differs("it reads other values in the IR than in the view");
  }
  if (shown.kind != graph_.kind(node) || shown.results.size() != graph_.result_count(node)) {
    return differs(fmt::format("it is '{}' of {} results in the IR, and '{}' of {} in the view",
                               shown.kind, shown.results.size(), graph_.kind(node),
                               graph_.result_count(node)));
  }
  if (shown.attributes != graph_.attributes(node)) {
    return differs("its attributes are others in the IR than in the view");
  }
  for (std::uint32_t i = 0; i < shown.results.size(); ++i) {
    const auto& [name, type] = shown.results[i];
    if (!name.empty() && name != graph_.value_name({node, i})) {
      return differs(fmt::format("its value {} is called '{}' in the IR, and '{}' in the view", i,
                                 name, graph_.value_name({node, i})));
    }
    const TensorType& known = graph_.type({node, i});
    const bool is_same = type.element == known.element && type.shape == known.shape &&
                         mean_the_same(type.quantization, known.quantization);
    if (is_same) continue;
    return differs(fmt::format("its value {} is {} in the IR, and {} in the view", i,
                               to_string(type), to_string(known)));
  }
  return {};
}

}  // namespace quadrant::inline v0
