#include "report/weights.hpp"

#include <algorithm>
#include <range/v3/view/reverse.hpp>

#include "ir/scales.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0 {
namespace {

bool reads_as_weight(NodeRef node, std::uint32_t operand) {
  const Role role = role_of(node, operand);
  if (role == Role::factor || role == Role::weight) return true;
  const TensorType* type = node.operand_type(operand);
  const bool is_list = type != nullptr && type->shape.is_ranked() && type->shape.rank() < 2;
  return role == Role::table && !is_list;  // a table has rows
}

// A limit, a filling, an exponent: nothing to be learned. Scales are a part of what codes take.
bool is_setting(const GraphView& graph, NodeId node, std::uint64_t elements) {
  const auto uses = graph.uses(node);
  return !uses.empty() && std::ranges::all_of(uses, [&](const Use& use) {
    const NodeRef reader{&graph, use.user};
    const Operation* const row = find_operation(reader);
    if (row == nullptr || row->family == Family::code) return false;
    const Role role = role_of(reader, use.operand);
    return role == Role::setting || (elements == 1 && role == Role::data);
  });
}

}  // namespace

std::vector<Weight> find_weights(const GraphView& graph) {
  std::vector<Weight> weights;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant == nullptr || !*constant) continue;
    const TensorType& type = graph.type({node, 0});
    const auto elements = static_cast<std::uint64_t>(constant->element_count());
    if (type.is_quantized()) {
      weights.push_back({node, elements, stored_bytes(type.quantization, type.shape), true});
    } else if (is_float(type.element) && !is_setting(graph, node, elements)) {
      weights.push_back({node, elements, constant->byte_size(), false});
    }
  }
  return weights;
}

void add(WeightTotals& totals, const Weight& weight) noexcept {
  ++totals.count;
  totals.elements += weight.elements;
  totals.bytes += weight.bytes;
}

std::vector<bool> find_eligible(const GraphView& graph, const std::vector<NodeId>& order,
                                const Registry& registry) {
  // What cannot be prepared is the run's error, not this table's.
  const SchemeFacts facts = prepare_schemes(graph, registry).value_or(SchemeFacts{});
  const Eligibility eligibility = detect_eligibility(graph, order, registry, {}, {}, {}, facts);
  std::vector<bool> reaches(graph.index_bound(), false);
  for (const NodeId node : order | ranges::views::reverse) {
    const bool passes_on = reaches[node.index];
    const auto operands = graph.operands(node);
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const Value operand = operands[i];
      if (operand.is_absent()) continue;
      if (passes_on || reads_as_weight({&graph, node}, i)) {
        const bool is_weight = graph.constant(operand.node) != nullptr;
        if (is_weight || eligibility.furthest_state(operand) == State::Quantizable) {
          reaches[operand.node.index] = true;
        }
      }
    }
  }
  for (const NodeId node : order) {
    const bool is_weight =
        graph.constant(node) != nullptr && is_float(graph.type({node, 0}).element);
    if (!is_weight) reaches[node.index] = false;
  }
  return reaches;
}

}  // namespace quadrant::inline v0
