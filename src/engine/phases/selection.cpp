#include "quadrant/engine/phases/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "engine/phases/canonical_order.hpp"
#include "engine/phases/coupling.hpp"
#include "engine/policies/decision.hpp"
#include "engine/policies/selection_solver.hpp"

namespace quadrant::inline v0 {
namespace {

Error impossible(std::string message, std::string tensor = {}) {
  return {ErrorCode::impossible, std::move(message), {.tensor = std::move(tensor)}};
}

// A plan is followed by the schemes that made it, with the options that they had.
Expected<void> check_schemes(const Registry& registry, const Plan& plan) {
  bool is_same = plan.schemes.size() == registry.scheme_count();
  for (std::uint32_t i = 0; is_same && i < registry.scheme_count(); ++i) {
    is_same = plan.schemes[i].name == registry.name(i);
  }
  if (!is_same) {
    std::string planned;
    for (const PlannedScheme& scheme : plan.schemes) {
      planned += (planned.empty() ? "" : "+") + scheme.name;
    }
    return fail(impossible(
        fmt::format("the plan is for scheme '{}', not '{}'", planned, registry.names())));
  }
  for (std::uint32_t i = 0; i < registry.scheme_count(); ++i) {
    const std::string options = registry.scheme(i).describe();
    if (plan.schemes[i].options == options) continue;
    return fail(impossible(fmt::format("the plan was made with '{}', this run has '{}'",
                                       plan.schemes[i].options, options)));
  }
  return {};
}

// Why a value cannot be as planned, where there is more to say than that nobody asks for it.
Expected<void> check_entry(const SelectionProblem& problem, Value value,
                           const PlannedValue& entry) {
  for (std::uint32_t i = 0; i < problem.registry.scheme_count(); ++i) {
    if (problem.registry.name(i) != entry.scheme) continue;
    if (!problem.requests.constraints().understands(i, entry.constraint)) {
      return fail(impossible(
          fmt::format("'{}' is no constraint of scheme '{}'", entry.constraint, entry.scheme),
          entry.value));
    }
    if (problem.eligibility.cause(value.node, i) == EligibilityCause::vetoed) {
      return fail(impossible("it is in the plan, but excluded", entry.value));
    }
  }
  return {};
}

// The request that `plan` lists for each value.
Expected<ValueMap<RequestId>> find_planned(const SelectionProblem& problem, const Plan& plan) {
  std::unordered_map<std::string_view, const PlannedValue*> entries;
  for (const PlannedValue& entry : plan.values) {
    if (!entries.emplace(entry.value, &entry).second) {
      return fail(impossible("the plan lists this value twice", entry.value));
    }
  }
  // Requests print as the plan does: a constraint that nobody asked for need not be understood.
  const auto find = [&](Value value, const PlannedValue& entry) {
    const ConstraintTable& constraints = problem.requests.constraints();
    for (RequestId id = problem.requests.first(value); id != no_request;
         id = problem.requests[id].next) {
      const ConstraintId constraint = problem.requests[id].constraint;
      const std::string_view scheme = problem.registry.name(constraints.scheme(constraint));
      if (entry.scheme == scheme && entry.constraint == constraints.print(constraint)) {
        return id;
      }
    }
    return no_request;
  };
  ValueMap<RequestId> planned(problem.eligibility.numbering(), no_request);
  for (const NodeId node : problem.order) {
    for (std::uint32_t result = 0; result < problem.graph.result_count(node); ++result) {
      const Value value{node, result};
      const auto found = entries.find(problem.graph.value_name(value));
      if (found == entries.end()) continue;
      const PlannedValue& entry = *found->second;
      planned[value] = find(value, entry);
      if (planned[value] == no_request) QUADRANT_CHECK(check_entry(problem, value, entry));
      if (planned[value] == no_request) {
        return fail(impossible(fmt::format("the plan wants '{}', which nothing in this graph asks "
                                           "of it; make the plan again",
                                           entry.constraint),
                               entry.value));
      }
      entries.erase(found);
    }
  }
  if (!entries.empty()) {
    const auto first =
        std::ranges::min_element(entries, {}, [](const auto& entry) { return entry.first; });
    return fail(impossible("the plan lists a value that the graph does not have",
                           std::string(first->first)));
  }
  return planned;
}

// Who comes first pays for a conversion that others share. So where values may be converted, the
// walk takes an order that does not depend on how the graph was built.
std::vector<NodeId> order_of_walk(const SelectionProblem& problem) {
  bool is_shared = std::ranges::any_of(problem.requests.benefits(), &Benefit::takes_codes);
  for (std::uint32_t i = 0; i < problem.registry.scheme_count(); ++i) {
    const Scheme& scheme = problem.registry.scheme(i);
    is_shared = is_shared || scheme.can_enter() || scheme.can_convert();
  }
  return is_shared ? canonical_order(problem.graph, problem.order) : problem.order;
}

}  // namespace

Selection walk_once(const SelectionProblem& problem) {
  Decision decision(problem);
  decision.walk(order_of_walk(problem), nullptr);
  return std::move(decision).finish();
}

namespace {

// Of the first round, and of what was given back in later ones when that was done.
void remember(std::optional<ValueMap<Choice>>& first, const ValueMap<Choice>& now,
              const SelectionProblem& problem) {
  if (!first) {
    first = now;
    return;
  }
  for (const NodeId node : problem.order) {
    for (std::uint32_t i = 0; i < problem.eligibility.numbering()->result_count(node); ++i) {
      Choice& known = (*first)[{node, i}];
      const Choice& later = now[{node, i}];
      const bool is_given_back =
          known.cause == SelectionCause::selected && later.cause != SelectionCause::selected;
      if (is_given_back) known = later;
    }
  }
}

}  // namespace

Selection select_greedy(const SelectionProblem& problem) {
  // What is given back changes what others would choose, so the rest is decided once more: few
  // graphs need a second round, and a plan that is followed comes out as it was made.
  constexpr int most_rounds = 8;
  const std::vector<NodeId> order = order_of_walk(problem);
  std::optional<ValueMap<Choice>> first;
  std::optional<ValueMap<RequestId>> kept;
  for (int round = 1;; ++round) {
    Decision decision(problem);
    decision.walk(order, kept ? &*kept : nullptr);
    const bool is_released = decision.release_unused();
    const bool changed = decision.drop_losses() || is_released;
    // In a chain of couplings each may tear the next, in another round.
    using enum Decision::Torn;
    const bool is_torn = decision.release_torn(round < most_rounds ? alone : with_all_in_doubt);
    if (!is_torn && (!changed || round >= most_rounds)) {
      if (changed) decision.find_conversions();
      if (first) decision.restore_reasons(*first);
      return std::move(decision).finish();
    }
    remember(first, decision.choices(), problem);
    kept = decision.selected();
  }
}

Expected<Selection> select_planned(const SelectionProblem& problem, const Plan& plan) {
  QUADRANT_CHECK(check_schemes(problem.registry, plan));
  QUADRANT_TRY(const ValueMap<RequestId> planned, find_planned(problem, plan));
  Decision decision(problem);
  decision.walk(order_of_walk(problem), &planned);
  decision.find_conversions();
  Selection selection = std::move(decision).finish();
  if (plan.policy == SelectionPolicy::optimal) {
    selection = select_reads(problem, planned, std::move(selection));
  }
  for (const std::vector<Value>& members : problem.couplings.strict()) {
    if (!is_torn(selection, members)) continue;
    const auto in_float = std::ranges::find_if(members, [&](Value value) {
      return selection.produced(value) == float_form && planned[value] == no_request;
    });
    if (in_float == members.end()) continue;  // one that is planned cannot be made
    return fail(
        impossible("the plan leaves this value in float, but quantizes others that have "
                   "one type with it",
                   std::string(problem.graph.value_name(*in_float))));
  }
  for (const NodeId node : problem.order) {
    for (std::uint32_t result = 0; result < problem.graph.result_count(node); ++result) {
      const Value value{node, result};
      if (planned[value] == no_request || selection.is_selected(value)) continue;
      return fail(impossible("the plan quantizes this value, but not all that it is computed from",
                             std::string(problem.graph.value_name(value))));
    }
  }
  return selection;
}

}  // namespace quadrant::inline v0
