#include "engine/phases/coupling_demands.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace quadrant::inline v0 {

CouplingDemands::CouplingDemands(const SelectionProblem& problem,
                                 const ValueMap<ConstraintId>& produced,
                                 std::span<const ConstraintId> forms)
    : problem_(problem) {
  const Couplings& couplings = problem.couplings.all();
  for (std::uint32_t i = 0; i < couplings.size(); ++i) {
    const std::vector<Value>& members = couplings[i];
    // Of a strict one no member keeps another in float by a form that it does not take itself.
    const bool has_form = i >= problem.couplings.strict().size() && !forms.empty();
    witnesses_.push_back(witnesses_of(members, produced, has_form ? forms[i] : float_form));
    for (const Value value : members) couplings_of_[value].push_back(i);
  }
}

std::string_view CouplingDemands::name(Value value) const {
  return problem_.graph.value_name(value);
}

void CouplingDemands::add(Witnesses& witnesses, Value member) const {
  Value& first = witnesses.first;
  Value& second = witnesses.second;
  if (first.is_absent() || name(member) < name(first)) {
    if (!first.is_absent() && first.node != member.node) second = first;
    first = member;
  } else if (member.node != first.node && (second.is_absent() || name(member) < name(second))) {
    second = member;
  }
}

std::vector<CouplingDemands::Witnesses> CouplingDemands::witnesses_of(
    std::span<const Value> members, const ValueMap<ConstraintId>& produced,
    ConstraintId form) const {
  std::map<ConstraintId, Witnesses> by_form;
  for (const Value value : members) {
    const ConstraintId made = produced[value];
    if (made != float_form) add(by_form[made], value);
  }
  if (by_form.empty() && form != float_form) {
    for (const Value value : members) add(by_form[form], value);
  }
  std::vector<Witnesses> found;
  for (auto& [taken, witnesses] : by_form) {
    witnesses.form = taken;
    found.push_back(witnesses);
  }
  return found;
}

std::vector<CouplingDemand> CouplingDemands::of(NodeId node) const {
  std::map<ConstraintId, Value> members;
  const auto add_all = [&](std::span<const Witnesses> of_coupling) {
    for (const Witnesses& witnesses : of_coupling) {
      const bool is_own = witnesses.first.node == node;
      const Value member = is_own ? witnesses.second : witnesses.first;
      if (member.is_absent()) continue;
      const auto [known, is_new] = members.emplace(witnesses.form, member);
      if (!is_new && name(member) < name(known->second)) known->second = member;
    }
  };
  for (std::uint32_t i = 0; i < problem_.eligibility.numbering()->result_count(node); ++i) {
    const auto couplings = couplings_of_.find({node, i});
    if (couplings == couplings_of_.end()) continue;
    for (const std::uint32_t coupling : couplings->second) add_all(witnesses_[coupling]);
  }
  std::vector<CouplingDemand> demands;
  demands.reserve(members.size());
  for (const auto& [form, member] : members) demands.push_back({{}, member, form});
  std::ranges::sort(demands, [this](const CouplingDemand& a, const CouplingDemand& b) {
    if (name(a.member) != name(b.member)) return name(a.member) < name(b.member);
    return problem_.requests.constraints().less(a.form, b.form);
  });
  return demands;
}

}  // namespace quadrant::inline v0
