#include "quadrant/engine/quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/dealt_nodes.hpp"
#include "engine/phases/coupling.hpp"
#include "engine/phases/data_pass.hpp"
#include "engine/phases/make_plan.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {
namespace {

// The options, with a gain model in any case, and with what the graph wants, too.
class Settings {
 public:
  Settings(const GraphView& graph, const QuantizeOptions& options)
      : options_(options), couplings_(graph, options.couplings) {}
  [[nodiscard]] const GainModel& gains() const noexcept {
    return options_.gains != nullptr ? *options_.gains : bytes_;
  }
  [[nodiscard]] const CouplingTable& couplings() const noexcept { return couplings_; }
  [[nodiscard]] const QuantizeOptions* operator->() const noexcept { return &options_; }

 private:
  const QuantizeOptions& options_;
  CouplingTable couplings_;
  BytesGain bytes_;
};

Expected<Selection> select(const SelectionProblem& problem, const Settings& settings) {
  if (settings->plan != nullptr) return select_planned(problem, *settings->plan);
  if (settings->policy == SelectionPolicy::optimal) return select_optimal(problem);
  return select_greedy(problem);
}

Expected<void> check_names(const Registry& registry, const SchemeVetoes& vetoes) {
  for (const auto& [name, of_scheme] : vetoes) {
    bool runs = false;
    for (std::uint32_t i = 0; i < registry.scheme_count(); ++i) runs |= registry.name(i) == name;
    if (runs) continue;
    return fail(ErrorCode::usage, fmt::format("there are vetoes for scheme '{}', but it is not in "
                                              "this run, of '{}'",
                                              name, registry.names()));
  }
  return {};
}

Expected<Analysis> analyze_once(const GraphView& graph, const Registry& registry,
                                const Settings& settings, const Vetoes& vetoes,
                                std::vector<NodeId> order, const SchemeFacts& facts) {
  PhaseObserver nobody;
  PhaseObserver& observer = settings->observer != nullptr ? *settings->observer : nobody;
  const GainModel& gains = settings.gains();
  QUADRANT_CHECK(check_names(registry, settings->scheme_vetoes));
  Eligibility eligibility = detect_eligibility(
      graph, order, registry, vetoes, settings->scheme_vetoes, settings->value_vetoes, facts);
  observer.after_eligibility(graph, eligibility);
  RequestGraph requests =
      propagate_gains(graph, order, registry, eligibility, gains, settings.couplings().strict());
  observer.after_propagation(graph, requests);
  const SelectionProblem problem{
      graph, order, registry, eligibility, requests, gains, settings.couplings()};
  QUADRANT_TRY(Selection selection, select(problem, settings));
  QUADRANT_TRY(ParameterTable parameters, unify_parameters(problem, selection));
  observer.after_selection(graph, requests, selection, parameters);
  const SelectionPolicy policy =
      settings->plan != nullptr ? settings->plan->policy : settings->policy;
  Plan plan = make_plan(problem, policy, selection, parameters);
  return Analysis{registry,
                  std::move(order),
                  std::move(eligibility),
                  std::move(requests),
                  std::move(selection),
                  std::move(parameters),
                  vetoes,
                  settings->scheme_vetoes,
                  settings->value_vetoes,
                  std::move(plan)};
}

struct Prepared {
  Analysis analysis;
  PreparedData data;
};

SelectionProblem problem_of(const GraphView& graph, const Settings& settings,
                            const Analysis& analysis) {
  return {graph,
          analysis.order,
          analysis.registry,
          analysis.eligibility,
          analysis.requests,
          settings.gains(),
          settings.couplings()};
}

Error refused_weights(const GraphView& graph, const Vetoes& refused, bool is_planned) {
  const auto first = std::ranges::min_element(refused, {}, [&](const auto& entry) {
    return std::pair(graph.value_name({entry.first, 0}), entry.first.index);
  });
  const std::string others =
      refused.size() > 1 ? fmt::format(" (and {} more)", refused.size() - 1) : "";
  const std::string_view remedy =
      is_planned ? "take it out of the plan" : "exclude it, or leave such weights in float";
  return {ErrorCode::impossible,
          fmt::format("{}{}; {}", first->second, others, remedy),
          {.tensor = std::string(graph.value_name({first->first, 0}))},
          is_planned ? Remedy::none : Remedy::leave_non_finite};
}

// Phases 1 to 3. Each round vetoes weights that would meet in a coupling, and what makes codes of
// them, which were selected in spite of all vetoes before: there are at most as many rounds as such
// nodes, and mostly one.
Expected<Analysis> analyze_ordered(const GraphView& graph, const Registry& registry,
                                   const Settings& settings, Vetoes vetoes,
                                   const std::vector<NodeId>& order, const SchemeFacts& facts) {
  while (true) {
    QUADRANT_TRY(Analysis analysis, analyze_once(graph, registry, settings, vetoes, order, facts));
    const Vetoes meeting =
        weights_that_meet(problem_of(graph, settings, analysis), analysis.selection);
    if (meeting.empty()) return analysis;
    if (settings->plan != nullptr) return fail(refused_weights(graph, meeting, true));
    const std::size_t before = vetoes.size();
    vetoes.insert(meeting.begin(), meeting.end());
    if (vetoes.size() == before) return fail(refused_weights(graph, meeting, false));
  }
}

// Phases 1 to 3 and the data pass. Each round vetoes what its data pass refused, so there are at
// most as many rounds as weights; in practice two, and only when a weight holds NaN. Weights that
// met in a coupling are looked for anew: one of them may be what was refused.
Expected<Prepared> prepare(const GraphView& graph, const Registry& registry,
                           const Settings& settings, const DealtNodes& dealt) {
  SerialExecutor serial;
  Executor& executor = settings->executor != nullptr ? *settings->executor : serial;
  Vetoes vetoes = settings->vetoes;
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  QUADRANT_TRY(const SchemeFacts facts, prepare_schemes(graph, registry));
  while (true) {
    QUADRANT_TRY(Analysis analysis,
                 analyze_ordered(graph, registry, settings, vetoes, order, facts));
    QUADRANT_TRY(
        DataPassResult found,
        run_data_pass(problem_of(graph, settings, analysis), analysis.selection,
                      analysis.parameters, executor, settings->sink, settings->store, dealt));
    if (found.refused.empty()) return Prepared{std::move(analysis), std::move(found.data)};
    const bool is_planned = settings->plan != nullptr;
    if (settings->non_finite == NonFinitePolicy::refuse || is_planned) {
      return fail(refused_weights(graph, found.refused, is_planned));
    }
    vetoes.insert(found.refused.begin(), found.refused.end());
  }
}

// Phase 4 on `editor`, whose graph is the one that was analyzed or a copy of it.
Expected<void> apply(GraphRewriter& editor, const GraphView& graph, const Settings& settings,
                     const Prepared& prepared) {
  const Analysis& analysis = prepared.analysis;
  const SelectionProblem problem = problem_of(graph, settings, analysis);
  QUADRANT_CHECK(
      rewrite(editor, {problem, analysis.selection, analysis.parameters, prepared.data}));
  if (settings->observer != nullptr) settings->observer->after_rewriting(editor.view());
  return {};
}

}  // namespace

Expected<Analysis> analyze(const GraphView& graph, const Registry& registry,
                           const QuantizeOptions& options) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  QUADRANT_TRY(const SchemeFacts facts, prepare_schemes(graph, registry));
  const Settings settings(graph, options);
  return analyze_ordered(graph, registry, settings, settings->vetoes, order, facts);
}

namespace {

// There are no others to deal to.
DealtNodes to_nobody() {
  static constexpr auto any = [](Value) { return 0.0; };
  return {nullptr, any};
}

}  // namespace

Expected<Analysis> decide(const GraphView& graph, const Registry& registry,
                          const QuantizeOptions& options) {
  const Settings settings(graph, options);
  QUADRANT_TRY(Prepared prepared, prepare(graph, registry, settings, to_nobody()));
  return std::move(prepared.analysis);
}

Expected<QuantizeResult> quantize(const Graph& graph, const Registry& registry,
                                  const QuantizeOptions& options) {
  return quantize(graph, registry, options, to_nobody());
}

Expected<QuantizeResult> quantize(const Graph& graph, const Registry& registry,
                                  const QuantizeOptions& options, const DealtNodes& dealt) {
  const Settings settings(graph, options);
  QUADRANT_TRY(Prepared prepared, prepare(graph, registry, settings, dealt));
  Graph rewritten = graph;
  GraphEditor editor(rewritten);
  QUADRANT_CHECK(apply(editor, graph, settings, prepared));
  return QuantizeResult{std::move(rewritten), std::move(prepared.analysis)};
}

Expected<Analysis> quantize(GraphRewriter& graph, const Registry& registry,
                            const QuantizeOptions& options) {
  const Settings settings(graph.view(), options);
  QUADRANT_TRY(Prepared prepared, prepare(graph.view(), registry, settings, to_nobody()));
  QUADRANT_CHECK(apply(graph, graph.view(), settings, prepared));
  return std::move(prepared.analysis);
}

}  // namespace quadrant::inline v0
