// What couplings make of a decision, and why they keep values in float.
#include <string_view>

#include "engine/phases/coupling.hpp"
#include "engine/phases/coupling_demands.hpp"
#include "engine/policies/decision.hpp"

namespace quadrant::inline v0 {

bool Decision::release_torn() {
  bool is_any = false;
  for (const std::vector<Value>& members : problem_.couplings.strict()) {
    if (!is_torn(selection_, members)) continue;
    is_any = true;
    for (const Value value : members) {
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

// What stays float for itself keeps those of its type in float; where all might be quantized, the
// decision as a whole has the reason.
void Decision::explain_strict_couplings() {
  const auto cause = [this](Value value) -> SelectionCause& {
    return selection_.choices_[value].cause;
  };
  const auto is_led = [&](Value value) {
    return cause(value) == SelectionCause::coupled || cause(value) == SelectionCause::outweighed;
  };
  const auto name = [this](Value value) { return problem_.graph.value_name(value); };
  for (const std::vector<Value>& members : problem_.couplings.strict()) {
    Value leader;
    for (const Value value : members) {
      if (is_led(value) || selection_.is_selected(value)) continue;
      if (leader.is_absent() || name(value) < name(leader)) leader = value;
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
