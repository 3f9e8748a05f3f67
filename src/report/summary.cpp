#include "quadrant/report/summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "report/weights.hpp"

namespace quadrant::inline v0 {
namespace {

using Counts = std::map<std::string, OperationCount, std::less<>>;

void count_operations(const GraphView& graph, std::uint64_t OperationCount::* side,
                      Counts& counts) {
  constexpr std::array not_operations{ops::Input::kind, ops::Constant::kind, ops::Output::kind};
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    const std::string kind(graph.kind(node));
    if (std::ranges::find(not_operations, kind) != not_operations.end()) continue;
    OperationCount& count = counts[kind];
    count.kind = kind;
    ++(count.*side);
  }
}

std::vector<OperationCount> compare_operations(const GraphView& before, const GraphView& after) {
  Counts counts;
  count_operations(before, &OperationCount::before, counts);
  count_operations(after, &OperationCount::after, counts);
  std::vector<OperationCount> result;
  for (auto& [kind, count] : counts) result.push_back(std::move(count));
  return result;
}

// The value whose codes the weight is stored as, absent where there is none: itself, or what
// nodes that alone read it as floats make of it (moves).
Value stored_as(const GraphView& graph, Value weight, const Selection& selection) {
  constexpr int longest_chain = 16;
  for (int i = 0; i < longest_chain && !selection.is_selected(weight); ++i) {
    const auto uses = graph.uses(weight.node);
    if (uses.size() != 1 || graph.result_count(uses[0].user) != 1) return {};
    const NodeRef reader{&graph, uses[0].user};
    const bool moves = find_move(reader) != nullptr || reader.kind() == ops::Cast::kind;
    weight = {reader.id, 0};
    if (!moves && !selection.is_selected(weight)) return {};
  }
  return selection.is_selected(weight) ? weight : Value{};
}

void list_schemes(const Plan& plan, Summary& summary) {
  for (const PlannedScheme& scheme : plan.schemes) {
    summary.options += summary.options.empty() ? "" : "; ";
    if (plan.schemes.size() > 1) summary.options += scheme.name + ": ";
    summary.options += scheme.options;
    summary.schemes.push_back({scheme.name, scheme.options});
  }
}

// By name of the value: which of the plan's schemes it is quantized by.
std::unordered_map<std::string_view, std::size_t> schemes_by_value(const Plan& plan) {
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < plan.schemes.size(); ++i) by_name.emplace(plan.schemes[i].name, i);
  std::unordered_map<std::string_view, std::size_t> found;
  for (const PlannedValue& planned : plan.values) {
    const auto scheme = by_name.find(planned.scheme);
    if (scheme != by_name.end()) found.emplace(planned.value, scheme->second);
  }
  return found;
}

}  // namespace

double WeightTotals::bits_per_element() const noexcept {
  if (elements == 0) return 0;
  return 8 * static_cast<double>(bytes) / static_cast<double>(elements);
}

Summary summarize(const Graph& before, const Registry& registry, const QuantizeResult& result) {
  const Analysis& analysis = result.analysis;
  Summary summary;
  summary.scheme = registry.names();
  list_schemes(analysis.plan, summary);
  summary.gain_model = analysis.plan.gain_model;
  if (const auto gains = make_gain_model(summary.gain_model)) summary.gain_unit = gains->unit();
  summary.objective = analysis.plan.objective;
  summary.bound = analysis.selection.bound();

  for (const Weight& weight : find_weights(result.graph)) {
    add(summary.weights_after, weight);
    if (weight.is_quantized) add(summary.quantized_after, weight);
  }

  const std::vector<Explanation> explanations = explain_all(before, registry, analysis);
  std::unordered_map<std::string_view, const Explanation*> by_value;
  for (const Explanation& explanation : explanations) {
    by_value.emplace(explanation.value, &explanation);
  }
  const auto scheme_of = schemes_by_value(analysis.plan);
  const std::vector<bool> eligible = find_eligible(before, analysis.order, registry);
  for (const Weight& weight : find_weights(before)) {
    add(summary.weights_before, weight);
    if (weight.is_quantized) {
      add(summary.given, weight);
      continue;
    }
    const Value value{weight.node, 0};
    const bool is_eligible = eligible[weight.node.index];
    const Value stored = stored_as(before, value, analysis.selection);
    const bool is_selected = !stored.is_absent();
    if (is_eligible) add(summary.eligible, weight);
    if (is_eligible && is_selected) add(summary.eligible_quantized, weight);
    if (is_selected) {
      const auto scheme = scheme_of.find(before.value_name(stored));
      if (scheme != scheme_of.end()) ++summary.schemes[scheme->second].weights;
      continue;
    }
    const auto found = by_value.find(before.value_name(value));
    summary.left_in_float.push_back({std::string(before.value_name(value)), before.type(value),
                                     weight.bytes, is_eligible,
                                     found == by_value.end() ? "" : found->second->reason});
  }
  std::ranges::sort(summary.left_in_float, [](const auto& a, const auto& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });

  summary.operations = compare_operations(before, result.graph);
  return summary;
}

}  // namespace quadrant::inline v0
