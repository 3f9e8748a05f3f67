#include "quadrant/ir/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

const Graph::Node& Graph::at(NodeId node) const noexcept {
  QUADRANT_ASSERT(contains(node));
  return nodes_[node.index];
}

Graph::Node& Graph::at(NodeId node) noexcept {
  QUADRANT_ASSERT(contains(node));
  return nodes_[node.index];
}

bool Graph::contains(NodeId node) const noexcept {
  return node.index < nodes_.size() && nodes_[node.index].live &&
         nodes_[node.index].generation == node.generation;
}

// --- names --------------------------------------------------------------------------------------

bool Graph::is_taken(const std::string& name) const {
  return names_.contains(name) || reserved_.contains(name);
}

std::string Graph::free_name(std::string name) {
  if (!is_taken(name)) return name;
  // Remembering where the search for each stem stopped keeps many equal names linear.
  std::uint64_t& next = next_suffix_[name];
  std::string candidate;
  do {
    candidate = fmt::format("{}_{}", name, ++next);
  } while (is_taken(candidate));
  return candidate;
}

void Graph::reserve_name(std::string name) { reserved_.insert(std::move(name)); }

std::vector<std::string> Graph::reserved_names() const {
  std::vector<std::string> names(reserved_.begin(), reserved_.end());
  std::ranges::sort(names);
  return names;
}

std::string_view Graph::set_value_name(Value value, std::string name) {
  QUADRANT_ASSERT(!name.empty());
  Result& result = at(value.node).results[value.result];
  names_.erase(result.name);
  result.name = free_name(std::move(name));
  names_.emplace(result.name, value);
  return result.name;
}

Value Graph::find_value(std::string_view name) const noexcept {
  const auto found = names_.find(name);
  return found == names_.end() ? Value{} : found->second;
}

// --- edges --------------------------------------------------------------------------------------

void Graph::link(NodeId user, std::uint32_t operand) {
  Node& node = at(user);
  const Value value = node.operands[operand];
  if (value.is_absent()) return;
  Node& producer = at(value.node);
  QUADRANT_ASSERT(value.result < producer.results.size());
  node.use_positions[operand] = static_cast<std::uint32_t>(producer.uses.size());
  producer.uses.push_back({value.result, user, operand});
}

// The last use takes the place of the one that goes, so that a value with many users loses them in
// linear time.
void Graph::unlink(NodeId user, std::uint32_t operand) {
  const Node& node = at(user);
  const Value value = node.operands[operand];
  if (value.is_absent()) return;
  std::vector<Use>& uses = at(value.node).uses;
  const std::uint32_t position = node.use_positions[operand];
  const Use moved = uses.back();
  uses[position] = moved;
  uses.pop_back();
  at(moved.user).use_positions[moved.operand] = position;
}

void Graph::set_operand(NodeId node, std::uint32_t operand, Value value) {
  QUADRANT_ASSERT(operand < at(node).operands.size());
  unlink(node, operand);
  at(node).operands[operand] = value;
  link(node, operand);
}

void Graph::replace_uses(Value from, Value to) {
  if (from == to) return;
  std::vector<Use> moving;
  for (const Use& use : at(from.node).uses) {
    if (use.result == from.result) moving.push_back(use);
  }
  for (const Use& use : moving) set_operand(use.user, use.operand, to);
}

// --- nodes --------------------------------------------------------------------------------------

NodeId Graph::add(NodeSpec spec) {
  NodeId id;
  if (free_.empty()) {
    id.index = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    id.index = free_.back();
    free_.pop_back();
    id.generation = nodes_[id.index].generation;
  }
  Node& node = nodes_[id.index];
  node.live = true;
  node.kind = std::move(spec.kind);
  node.name = std::move(spec.name);
  node.operands = std::move(spec.operands);
  node.use_positions.assign(node.operands.size(), 0);
  node.attributes = std::move(spec.attributes);
  node.constant = std::move(spec.constant);
  node.results.reserve(spec.results.size());
  for (ResultSpec& result : spec.results) {
    const auto number = static_cast<std::uint32_t>(node.results.size());
    std::string name = std::move(result.name);
    if (name.empty()) name = node.name.empty() ? node.kind : node.name;
    name = free_name(std::move(name));
    names_.emplace(name, Value{id, number});
    node.results.push_back({std::move(name), std::move(result.type)});
  }
  ++live_;
  for (std::uint32_t operand = 0; operand < node.operands.size(); ++operand) link(id, operand);
  if (node.kind == ops::Input::kind) inputs_.push_back(id);
  if (node.kind == ops::Output::kind) outputs_.push_back(id);
  return id;
}

Value Graph::add_input(std::string name, TensorType type) {
  std::string node_name = name;
  return {add({.kind = std::string(ops::Input::kind),
               .name = std::move(node_name),
               .results = {{std::move(name), std::move(type)}}})};
}

Value Graph::add_constant(std::string name, Constant constant) {
  TensorType type{constant.element(), constant.shape(), nullptr};
  std::string node_name = name;
  return {add({.kind = std::string(ops::Constant::kind),
               .name = std::move(node_name),
               .results = {{std::move(name), std::move(type)}},
               .constant = std::move(constant)})};
}

NodeId Graph::add_output(std::string name, Value value) {
  return add(
      {.kind = std::string(ops::Output::kind), .name = std::move(name), .operands = {value}});
}

void Graph::erase(NodeId node) {
  QUADRANT_ASSERT(at(node).uses.empty());
  for (std::uint32_t operand = 0; operand < at(node).operands.size(); ++operand) {
    unlink(node, operand);
  }
  Node& gone = at(node);
  for (const Result& result : gone.results) names_.erase(result.name);
  if (gone.kind == ops::Input::kind) std::erase(inputs_, node);
  if (gone.kind == ops::Output::kind) std::erase(outputs_, node);
  const std::uint32_t generation = gone.generation + 1;
  gone = Node{};
  gone.generation = generation;
  free_.push_back(node.index);
  --live_;
}

void Graph::set_type(Value value, TensorType type) {
  at(value.node).results[value.result].type = std::move(type);
}

void Graph::set_constant(NodeId node, Constant constant, Quantization quantization) {
  QUADRANT_ASSERT(kind(node) == ops::Constant::kind);
  Node& target = at(node);
  target.results[0].type = {constant.element(), constant.shape(), std::move(quantization)};
  target.constant = std::move(constant);
}

void Graph::set_attribute(NodeId node, std::string name, Attribute value) {
  at(node).attributes.set(std::move(name), std::move(value));
}

void Graph::erase_attribute(NodeId node, std::string_view name) { at(node).attributes.erase(name); }

void Graph::set_node_name(NodeId node, std::string name) { at(node).name = std::move(name); }

// --- reading ------------------------------------------------------------------------------------

std::uint32_t Graph::index_bound() const noexcept {
  return static_cast<std::uint32_t>(nodes_.size());
}

NodeId Graph::node_at(std::uint32_t index) const noexcept {
  return nodes_[index].live ? NodeId{index, nodes_[index].generation} : NodeId{};
}

std::string_view Graph::kind(NodeId node) const noexcept { return at(node).kind; }
std::string_view Graph::name(NodeId node) const noexcept { return at(node).name; }
std::span<const Value> Graph::operands(NodeId node) const noexcept { return at(node).operands; }
std::uint32_t Graph::result_count(NodeId node) const noexcept {
  return static_cast<std::uint32_t>(at(node).results.size());
}
std::span<const Use> Graph::uses(NodeId node) const noexcept { return at(node).uses; }
const Attributes& Graph::attributes(NodeId node) const noexcept { return at(node).attributes; }

const Attribute* Graph::attribute(NodeId node, std::string_view name) const noexcept {
  return at(node).attributes.find(name);
}

const Constant* Graph::constant(NodeId node) const noexcept {
  const Node& target = at(node);
  return target.kind == ops::Constant::kind ? &target.constant : nullptr;
}

const TensorType& Graph::type(Value value) const noexcept {
  return at(value.node).results[value.result].type;
}

void Graph::set_operations(std::span<const Operation> rows) noexcept {
  operations_ = rows.data();
  operation_count_ = rows.size();
}

std::span<const Operation> Graph::operations() const noexcept {
  return {operations_, operation_count_};
}

std::string_view Graph::value_name(Value value) const noexcept {
  return at(value.node).results[value.result].name;
}

}  // namespace quadrant::inline v0
