#include "quadrant/report/summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "quadrant/engine/explain.hpp"
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

// By itself, or by the one node that reads it as floats and stores its result as codes (a reshape).
bool is_stored_as_codes(const GraphView& graph, Value weight, const Selection& selection) {
  if (selection.is_selected(weight)) return true;
  const auto uses = graph.uses(weight.node);
  return uses.size() == 1 && graph.result_count(uses[0].user) == 1 &&
         selection.is_selected({uses[0].user, 0});
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
  for (const PlannedScheme& scheme : analysis.plan.schemes) {
    summary.options += summary.options.empty() ? "" : "; ";
    if (analysis.plan.schemes.size() > 1) summary.options += scheme.name + ": ";
    summary.options += scheme.options;
  }
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
  const std::vector<bool> eligible = find_eligible(before, analysis.order, registry);
  for (const Weight& weight : find_weights(before)) {
    add(summary.weights_before, weight);
    if (weight.is_quantized) continue;
    const Value value{weight.node, 0};
    const bool is_eligible = eligible[weight.node.index];
    const bool is_selected = is_stored_as_codes(before, value, analysis.selection);
    if (is_eligible) add(summary.eligible, weight);
    if (is_eligible && is_selected) add(summary.eligible_quantized, weight);
    if (is_selected) continue;
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
