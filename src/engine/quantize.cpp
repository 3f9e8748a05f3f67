#include "quadrant/engine/quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/sort/spreadsort/string_sort.hpp>
#include <iterator>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "quadrant/engine/data_pass.hpp"
#include "quadrant/ir/topology.hpp"

namespace quadrant::inline v0 {
namespace {

// The parts of a plan that follow from a selection, by name and sorted. Sorting is by radix: a plan
// of a million values takes as long for each as one of a thousand.
class PlanMaker {
 public:
  PlanMaker(const SelectionProblem& problem, const Selection& selection,
            const ParameterTable& parameters)
      : problem_(problem), selection_(selection), parameters_(parameters) {}

  [[nodiscard]] Plan make() {
    Plan plan;
    for (std::uint32_t i = 0; i < problem_.registry.scheme_count(); ++i) {
      const Scheme& scheme = problem_.registry.scheme(i);
      plan.schemes.push_back({std::string(scheme.name()), scheme.describe()});
    }
    plan.gain_model = problem_.gains.name();
    plan.objective = selection_.objective();
    add_values(plan);
    add_conversions(plan);
    add_groups(plan);
    return plan;
  }

 private:
  struct Named {
    std::string_view name;
    Value value;
    const Conversion* conversion = nullptr;
  };

  static void sort_by_name(std::vector<Named>& items) {
    using boost::sort::spreadsort::string_sort;
    string_sort(
        items.begin(), items.end(),
        [](const Named& item, std::size_t at) { return static_cast<unsigned char>(item.name[at]); },
        [](const Named& item) { return item.name.size(); },
        [](const Named& a, const Named& b) { return a.name < b.name; });
  }

  void add_values(Plan& plan) {
    std::vector<Named> items;
    for (const NodeId node : problem_.order) {
      const std::uint32_t count = problem_.eligibility.numbering()->result_count(node);
      for (std::uint32_t i = 0; i < count; ++i) {
        const Value value{node, i};
        if (selection_.is_selected(value)) items.push_back({name(value), value});
      }
    }
    sort_by_name(items);
    plan.values.reserve(items.size());
    for (const Named& item : items) {
      const ConstraintId form = selection_.produced(item.value);
      const Scheme& scheme = problem_.registry.scheme(problem_.requests.constraints().scheme(form));
      plan.values.push_back({std::string(item.name), std::string(scheme.name()), print(form),
                             selection_[item.value].gain});
    }
  }

  void add_conversions(Plan& plan) {
    std::vector<Named> items;
    items.reserve(selection_.conversions().size());
    for (const Conversion& conversion : selection_.conversions()) {
      items.push_back({name(conversion.value), conversion.value, &conversion});
    }
    sort_by_name(items);
    plan.conversions.reserve(items.size());
    for (const auto& [name, value, conversion] : items) {
      PlannedConversion planned{
          std::string(name), print(conversion->from), print(conversion->to), {}};
      for (const Use& use : conversion->readers) {
        planned.users.emplace_back(label(problem_.graph, use.user));
      }
      boost::sort::spreadsort::string_sort(planned.users.begin(), planned.users.end());
      // Several forms of one value: by form. Those of two schemes may print alike.
      const auto key = [](const PlannedConversion& one) {
        return std::tie(one.value, one.to, one.from, one.users);
      };
      auto place = plan.conversions.end();
      while (place != plan.conversions.begin() && key(*std::prev(place)) > key(planned)) --place;
      plan.conversions.insert(place, std::move(planned));
    }
  }

  void add_groups(Plan& plan) {
    for (const ParameterGroup& group : parameters_.groups()) {
      if (group.members.size() < 2) continue;
      PlannedGroup planned{print(group.constraint), {}};
      for (const RequestId member : group.members) {
        planned.values.emplace_back(name(problem_.requests[member].value));
      }
      plan.shared.push_back(std::move(planned));
    }
    std::ranges::sort(plan.shared, {}, [](const PlannedGroup& group) {
      return std::tie(group.values, group.constraint);
    });
  }

  [[nodiscard]] std::string_view name(Value value) const {
    return problem_.graph.value_name(value);
  }
  [[nodiscard]] const std::string& print(ConstraintId form) {
    std::string& text = printed_[form];
    if (text.empty()) text = problem_.requests.constraints().print(form);
    return text;
  }

  const SelectionProblem& problem_;
  const Selection& selection_;
  const ParameterTable& parameters_;
  std::unordered_map<ConstraintId, std::string> printed_;
};

// The options, with a gain model in any case.
class Settings {
 public:
  explicit Settings(const QuantizeOptions& options) : options_(options) {}
  [[nodiscard]] const GainModel& gains() const noexcept {
    return options_.gains != nullptr ? *options_.gains : bytes_;
  }
  [[nodiscard]] const QuantizeOptions* operator->() const noexcept { return &options_; }

 private:
  const QuantizeOptions& options_;
  BytesGain bytes_;
};

Expected<Analysis> analyze_ordered(const GraphView& graph, const Registry& registry,
                                   const Settings& settings, const Vetoes& vetoes,
                                   std::vector<NodeId> order) {
  PhaseObserver nobody;
  PhaseObserver& observer = settings->observer != nullptr ? *settings->observer : nobody;
  const GainModel& gains = settings.gains();
  Eligibility eligibility = detect_eligibility(graph, order, registry, vetoes);
  observer.after_eligibility(graph, eligibility);
  RequestGraph requests = propagate_gains(graph, order, registry, eligibility, gains);
  observer.after_propagation(graph, requests);
  const SelectionProblem problem{graph,    order, registry,           eligibility,
                                 requests, gains, settings->couplings};
  QUADRANT_TRY(Selection selection, settings->plan != nullptr
                                        ? select_planned(problem, *settings->plan)
                                        : Expected<Selection>(select_greedy(problem)));
  QUADRANT_TRY(ParameterTable parameters, unify_parameters(problem, selection));
  observer.after_selection(graph, requests, selection, parameters);
  Plan plan = PlanMaker(problem, selection, parameters).make();
  return Analysis{registry,
                  std::move(order),
                  std::move(eligibility),
                  std::move(requests),
                  std::move(selection),
                  std::move(parameters),
                  vetoes,
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
          settings->couplings};
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
          {.tensor = std::string(graph.value_name({first->first, 0}))}};
}

// Phases 1 to 3 and the data pass. Each round vetoes what its data pass refused, so there are at
// most as many rounds as weights; in practice two, and only when a weight holds NaN.
Expected<Prepared> prepare(const GraphView& graph, const Registry& registry,
                           const Settings& settings) {
  SerialExecutor serial;
  Executor& executor = settings->executor != nullptr ? *settings->executor : serial;
  Vetoes vetoes = settings->vetoes;
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  while (true) {
    QUADRANT_TRY(Analysis analysis, analyze_ordered(graph, registry, settings, vetoes, order));
    QUADRANT_TRY(DataPassResult found,
                 run_data_pass(problem_of(graph, settings, analysis), analysis.selection,
                               analysis.parameters, executor, settings->sink));
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
  QUADRANT_TRY(std::vector<NodeId> order, topological_order(graph));
  return analyze_ordered(graph, registry, Settings(options), options.vetoes, std::move(order));
}

Expected<QuantizeResult> quantize(const Graph& graph, const Registry& registry,
                                  const QuantizeOptions& options) {
  const Settings settings(options);
  QUADRANT_TRY(Prepared prepared, prepare(graph, registry, settings));
  Graph rewritten = graph;
  GraphEditor editor(rewritten);
  QUADRANT_CHECK(apply(editor, graph, settings, prepared));
  return QuantizeResult{std::move(rewritten), std::move(prepared.analysis)};
}

Expected<Analysis> quantize(GraphRewriter& graph, const Registry& registry,
                            const QuantizeOptions& options) {
  const Settings settings(options);
  QUADRANT_TRY(Prepared prepared, prepare(graph.view(), registry, settings));
  QUADRANT_CHECK(apply(graph, graph.view(), settings, prepared));
  return std::move(prepared.analysis);
}

}  // namespace quadrant::inline v0
