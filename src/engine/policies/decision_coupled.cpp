// What couplings make of a decision, and why they keep values in float.
#include <algorithm>
#include <ranges>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "engine/phases/coupling.hpp"
#include "engine/phases/coupling_demands.hpp"
#include "engine/policies/decision.hpp"

namespace quadrant::inline v0 {

bool Decision::release_torn(Torn which) {
  std::vector<const std::vector<Value>*> torn;
  for (const std::vector<Value>& members : problem_.couplings.strict()) {
    if (is_torn(selection_, members)) torn.push_back(&members);
  }
  const bool is_any = !torn.empty();
  if (is_any && which == Torn::with_all_in_doubt) {
    const std::vector<std::uint32_t> sets = what_hangs_together(/*with_couplings=*/true);
    std::unordered_set<std::uint32_t> in_doubt;
    const auto selected = [this](Value value) { return selection_.is_selected(value); };
    for (const std::vector<Value>* const members : torn) {
      for (const Value value : *members | std::views::filter(selected)) {
        in_doubt.insert(sets[value.node.index]);
      }
    }
    for (const std::vector<Value>& members : problem_.couplings.strict()) {
      const auto is_in_doubt = [&](Value value) {
        return in_doubt.contains(sets[value.node.index]);
      };
      const bool is_so = std::ranges::any_of(members | std::views::filter(selected), is_in_doubt);
      if (is_so) torn.push_back(&members);
    }
  }
  for (const std::vector<Value>* const members : torn) {
    for (const Value value : *members) {
      if (selection_.is_selected(value)) give_back(value.node, SelectionCause::coupled);
    }
  }
  return is_any;
}

// What was decided of all members is known in the end alone: a solver knows no causes, and the walk
// comes to some members before others.
void Decision::explain_couplings() {
  selection_.coupling_demands_.clear();
  if (problem_.couplings.empty()) return;
  const CouplingDemands all(problem_, selection_.produced_, coupling_forms_);
  for (const NodeId node : problem_.order) {
    if (selected_lead(node)) continue;
    std::vector<CouplingDemand> demands = all.of(node);
    const std::optional<SelectionCause> cause = cause_of(node, demands);
    if (!cause) continue;
    for_each_result(node, [&](Value value) {
      SelectionCause& known = selection_.choices_[value].cause;
      if (known != SelectionCause::coupled && known != SelectionCause::outweighed) return;
      known = *cause;
      for (CouplingDemand& demand : demands) {
        demand.value = value;
        selection_.coupling_demands_.push_back(demand);
      }
    });
  }
  explain_strict_couplings();
}

// Whether the value stays float because of what it is made of.
bool Decision::follows_operands(Value value) const {
  const SelectionCause cause = selection_.choices_[value].cause;
  bool follows = cause == SelectionCause::unavailable;
  if (cause == SelectionCause::not_eligible) {
    for (std::uint32_t scheme = 0; scheme < problem_.registry.scheme_count(); ++scheme) {
      follows |= problem_.eligibility.cause(value.node, scheme) == EligibilityCause::pattern;
    }
  }
  if (cause == SelectionCause::refused) {
    for_each_request(value, [&](RequestId id) {
      follows |= !problem_.requests.alternatives(problem_.requests[id]).empty();
    });
  }
  return follows;
}

// What stays float for itself keeps those of its type in float, and others that are made of them;
// where all might be quantized, the decision as a whole has the reason.
void Decision::explain_strict_couplings() {
  const auto cause = [this](Value value) -> SelectionCause& {
    return selection_.choices_[value].cause;
  };
  const auto is_led = [&](Value value) {
    return cause(value) == SelectionCause::coupled || cause(value) == SelectionCause::outweighed;
  };
  const auto rank = [this](Value value) {
    return std::pair(follows_operands(value), problem_.graph.value_name(value));
  };
  for (const std::vector<Value>& members : problem_.couplings.strict()) {
    Value leader;
    for (const Value value : members) {
      if (is_led(value) || selection_.is_selected(value)) continue;
      if (leader.is_absent() || rank(value) < rank(leader)) leader = value;
    }
    if (leader.is_absent()) continue;
    for (const Value value : members) {
      if (!is_led(value)) continue;
      cause(value) = SelectionCause::coupled;
      selection_.coupling_demands_.push_back({value, leader, float_form});
    }
  }
}

// Empty: couplings are not to blame, or there is nothing to say of them.
std::optional<SelectionCause> Decision::cause_of(NodeId node,
                                                 std::span<const CouplingDemand> demands) const {
  if (demands.empty()) return std::nullopt;
  if (demands.size() > 1) return SelectionCause::contradicted;
  bool is_coupled = false;
  for_each_result(node, [&](Value value) {
    const SelectionCause cause = selection_.choices_[value].cause;
    const RequestId id = problem_.requests.find(value, demands.front().form);
    const bool is_possible = id != no_request && problem_.requests[id].producible;
    is_coupled = is_coupled || cause == SelectionCause::coupled ||
                 (cause == SelectionCause::outweighed && !is_possible);
  });
  return is_coupled ? std::optional(SelectionCause::coupled) : std::nullopt;
}

}  // namespace quadrant::inline v0
