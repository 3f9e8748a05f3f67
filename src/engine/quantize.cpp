#include "quadrant/engine/quantize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quadrant/engine/data_pass.hpp"
#include "quadrant/ir/topology.hpp"

namespace quadrant::inline v0 {
namespace {

Plan make_plan(const GraphView& graph, const std::vector<NodeId>& order, const Registry& registry,
               const RequestGraph& requests, const Selection& selection, const GainModel& gains) {
  Plan plan;
  plan.scheme = registry.scheme().name();
  plan.options = registry.scheme().describe();
  plan.gain_model = gains.name();
  plan.objective = selection.objective;
  for (const NodeId node : order) {
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!selection.is_selected(value)) continue;
      const Choice& choice = selection[value];
      const std::string name(graph.value_name(value));
      plan.values.push_back(
          {name, requests.constraints().print(requests[choice.request].constraint), choice.gain});
      PlannedConversion conversion{name, {}};
      for (const Use& use : selection.float_uses(graph, requests, value)) {
        conversion.users.emplace_back(label(graph, use.user));
      }
      std::ranges::sort(conversion.users);
      if (!conversion.users.empty()) plan.conversions.push_back(std::move(conversion));
    }
  }
  std::ranges::sort(plan.values, {}, &PlannedValue::value);
  std::ranges::sort(plan.conversions, {}, &PlannedConversion::value);
  return plan;
}

Expected<Analysis> analyze_with(const GraphView& graph, const Registry& registry,
                                const GainModel& gains, const Plan* given, Vetoes vetoes,
                                std::vector<NodeId> order) {
  Eligibility eligibility = detect_eligibility(graph, order, registry, vetoes);
  RequestGraph requests = propagate_gains(graph, order, registry, eligibility, gains);
  auto selection =
      given != nullptr
          ? select_planned(graph, order, registry, eligibility, requests, gains, *given)
          : Expected<Selection>(select_greedy(graph, order, eligibility, requests, gains));
  if (!selection) return fail(std::move(selection).error());
  Plan plan = make_plan(graph, order, registry, requests, *selection, gains);
  return Analysis{registry,
                  std::move(order),
                  std::move(eligibility),
                  std::move(requests),
                  *std::move(selection),
                  std::move(vetoes),
                  std::move(plan)};
}

}  // namespace

Expected<Analysis> analyze(const GraphView& graph, const Registry& registry,
                           const QuantizeOptions& options) {
  const BytesGain bytes;
  const GainModel& gains = options.gains != nullptr ? *options.gains : bytes;
  QUADRANT_TRY(std::vector<NodeId> order, topological_order(graph));
  return analyze_with(graph, registry, gains, options.plan, options.vetoes, std::move(order));
}

Expected<QuantizeResult> quantize(const Graph& graph, const Registry& registry,
                                  const QuantizeOptions& options) {
  SerialExecutor serial;
  Executor& executor = options.executor != nullptr ? *options.executor : serial;
  QuantizeOptions current = options;
  // Each round vetoes what its data pass refused, so there are at most as many rounds as weights;
  // in practice two, and only when a weight holds NaN.
  while (true) {
    QUADRANT_TRY(Analysis analysis, analyze(graph, registry, current));
    QUADRANT_TRY(const DataPassResult data,
                 run_data_pass(graph, analysis.order, analysis.eligibility, analysis.requests,
                               analysis.selection, executor, options.sink));
    if (data.refused.empty()) {
      QUADRANT_TRY(Graph rewritten, rewrite(graph, analysis.order, registry, analysis.eligibility,
                                            analysis.requests, analysis.selection, data.prepared));
      return QuantizeResult{std::move(rewritten), std::move(analysis)};
    }
    if (options.non_finite == NonFinitePolicy::refuse || options.plan != nullptr) {
      const auto first = std::ranges::min_element(data.refused, {}, [&](const auto& entry) {
        return std::pair(graph.value_name({entry.first, 0}), entry.first.index);
      });
      const std::string others =
          data.refused.size() > 1 ? fmt::format(" (and {} more)", data.refused.size() - 1) : "";
      const std::string_view remedy = options.plan != nullptr
                                          ? "take it out of the plan"
                                          : "exclude it, or leave such weights in float";
      return fail(ErrorCode::impossible, fmt::format("{}{}; {}", first->second, others, remedy),
                  {.tensor = std::string(graph.value_name({first->first, 0}))});
    }
    current.vetoes.insert(data.refused.begin(), data.refused.end());
  }
}

}  // namespace quadrant::inline v0
