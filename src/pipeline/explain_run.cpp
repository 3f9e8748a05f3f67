#include "pipeline/explain_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "quadrant/report/summary.hpp"

namespace quadrant::inline v0 {
namespace {

bool may_consume(const Registry& registry, std::string_view kind) {
  for (std::uint32_t i = 0; i < registry.scheme_count(); ++i) {
    const QuantizationMethod* const method = registry.find(kind, i);
    if (method != nullptr && method->eligible_state() == State::Consumer) return true;
  }
  return false;
}

// What a plan says of a value, where it cannot be followed: what it gained, but not why.
Explanation as_planned(const Explanation& now, const PlannedValue* planned, bool with_scheme) {
  Explanation result;
  result.value = now.value;
  result.node = now.node;
  result.kind = now.kind;
  result.reason = "the plan leaves it in float";
  if (planned != nullptr) {
    result.state = State::ToQuantize;
    result.reason = fmt::format("{}{}, gain {}", with_scheme ? planned->scheme + ' ' : "",
                                planned->constraint, planned->gain.amount());
  }
  return result;
}

// Whether it knows nothing of this one.
bool is_of_other_model(const Plan& plan, const Graph& graph) {
  return !plan.values.empty() && std::ranges::all_of(plan.values, [&](const PlannedValue& planned) {
    return graph.find_value(planned.value).is_absent();
  });
}

// The same as `explain_differences` for a plan of which there is no analysis. What was selected by
// the same scheme in the same form is no difference.
std::vector<ExplainedDifference> differences_by_name(const PreparedRun& run, const Plan& plan,
                                                     const Analysis& analysis) {
  const auto by_name = [](const Plan& from) {
    std::unordered_map<std::string_view, const PlannedValue*> found;
    for (const PlannedValue& value : from.values) found.emplace(value.value, &value);
    return found;
  };
  // Forms of other schemes may print alike.
  const bool with_scheme = !std::ranges::equal(plan.schemes, analysis.plan.schemes, {},
                                               &PlannedScheme::name, &PlannedScheme::name);
  const auto before = by_name(plan);
  const auto after = by_name(analysis.plan);
  std::vector<ExplainedDifference> result;
  for (Explanation& now : explain_all(run.graph, run.registry, analysis)) {
    const auto was = before.find(now.value);
    const auto is = after.find(now.value);
    const PlannedValue* const planned = was == before.end() ? nullptr : was->second;
    const PlannedValue* const selected = is == after.end() ? nullptr : is->second;
    if (planned == nullptr && selected == nullptr) continue;
    const bool is_same = planned != nullptr && selected != nullptr &&
                         planned->scheme == selected->scheme &&
                         planned->constraint == selected->constraint;
    if (is_same) continue;
    Explanation before_now = as_planned(now, planned, with_scheme);
    // Where several run, the reason has it.
    if (with_scheme && selected != nullptr && run.registry.scheme_count() == 1) {
      now.reason = fmt::format("{} {}", selected->scheme, now.reason);
    }
    result.push_back({std::move(before_now), std::move(now)});
  }
  return result;
}

}  // namespace

std::vector<Explanation> explain_of_interest(const PreparedRun& run, const Analysis& analysis) {
  std::vector<std::pair<std::uint64_t, Explanation>> weights;
  std::vector<Explanation> consumers;
  for (Explanation& explanation : explain_all(run.graph, run.registry, analysis)) {
    const Value value = run.graph.find_value(explanation.value);
    if (value.is_absent()) continue;
    const Constant* constant = run.graph.constant(value.node);
    if (constant != nullptr && is_float(run.graph.type(value).element)) {
      weights.emplace_back(constant->byte_size(), std::move(explanation));
    } else if (may_consume(run.registry, explanation.kind)) {
      consumers.push_back(std::move(explanation));
    }
  }
  std::ranges::sort(weights, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.value < b.second.value;
  });
  std::vector<Explanation> result;
  result.reserve(weights.size() + consumers.size());
  for (auto& [bytes, explanation] : weights) result.push_back(std::move(explanation));
  std::ranges::move(consumers, std::back_inserter(result));
  return result;
}

std::vector<Explanation> explain_computations(const PreparedRun& run, const Analysis& analysis) {
  std::vector<Explanation> all = explain_all(run.graph, run.registry, analysis);
  std::vector<Explanation> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_computation(run.graph.ref(analysis.order[i]))) result.push_back(std::move(all[i]));
  }
  return result;
}

Expected<std::vector<ExplainedDifference>> differences_from(const PreparedRun& run,
                                                            const Analysis& analysis,
                                                            const Plan& plan,
                                                            const std::string& path) {
  QuantizeOptions engine = run.engine_options();
  engine.vetoes.clear();
  engine.value_vetoes.clear();
  engine.plan = &plan;
  if (is_of_other_model(plan, run.graph)) {
    return fail(ErrorCode::impossible,
                fmt::format("the model has none of the plan's values, such as '{}': this plan is "
                            "of another model",
                            plan.values.front().value),
                {.file = path});
  }
  const auto followed = analyze(run.graph, run.registry, engine);
  if (followed) return explain_differences(run.graph, *followed, analysis);
  run.context.note(fmt::format("it cannot be followed with these options, so that its own reasons "
                               "are not known: {}",
                               to_string(followed.error())),
                   {.file = path});
  return differences_by_name(run, plan, analysis);
}

}  // namespace quadrant::inline v0
