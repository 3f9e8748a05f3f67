// What is given back after a walk: what nobody reads, and what costs more than it gains together.
#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <range/v3/view/reverse.hpp>

#include "engine/policies/conversions.hpp"
#include "engine/policies/decision.hpp"

namespace quadrant::inline v0 {

// Whether other codes are made of the codes that the value is made in. Where a `leave` and an
// `enter` make them for less, they are made of floats, which need nothing quantized.
bool Decision::is_requantized(Value value) const {
  return std::ranges::any_of(quadrant::find_conversions(problem_, prices_, selection_, value),
                             [](const Conversion& conversion) {
                               return conversion.from != float_form && conversion.to != float_form;
                             });
}

bool Decision::release_unused() {
  bool changed = false;
  ValueMap<std::uint8_t> taken(problem_.eligibility.numbering(), 0);
  for (const Benefit& benefit : problem_.requests.benefits()) {
    // Those who take codes are found below, by the form that they read.
    if (!benefit.takes_codes && selection_.is_realized(problem_.requests, benefit)) {
      taken[problem_.requests[benefit.request].value] = 1;
    }
  }
  for (const NodeId node : problem_.order | ranges::views::reverse) {
    if (const auto lead = selected_lead(node)) {
      bool is_taken = chosen(selection_[*lead]).gain > Gain{};
      for_each_result(node, [&](Value value) {
        is_taken = is_taken || taken[value] != 0 || is_requantized(value) ||
                   (selection_.is_selected(value) && problem_.couplings.follows(value));
      });
      if (!is_taken) give_back(node, SelectionCause::unused);
      changed |= !is_taken;
    }
    for (const auto& read : selection_.reads_[node]) {
      if (read.form != float_form && read.form == selection_.produced(read.value)) {
        taken[read.value] = 1;
      }
    }
  }
  return changed;
}

void Decision::give_back(NodeId node, SelectionCause cause) {
  for_each_result(node, [&](Value value) {
    if (!selection_.is_selected(value)) return;
    selection_.choices_[value].cause = cause;
    selection_.produced_[value] = float_form;
  });
  for (auto& read : selection_.reads_[node]) read.form = float_form;
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    selection_.realized_[problem_.requests.index(benefit)] = comes_true_by_itself(benefit) ? 1 : 0;
  }
}

// Whether the benefit is there whenever its node stays float, because the value came quantized so.
bool Decision::comes_true_by_itself(const Benefit& benefit) const {
  return benefit.is_of_holding() && problem_.requests[benefit.request].given;
}

bool Decision::drop_losses() {
  bool changed = false;
  const std::vector<Gain> totals = totals_of_what_hangs_together();
  for (const NodeId node : problem_.order) {
    if (totals[node.index] >= Gain{}) continue;
    for_each_result(node, [&](Value value) {
      if (selection_.is_selected(value)) selection_.choices_[value].gain = totals[node.index];
    });
    give_back(node, SelectionCause::loss);
    changed = true;
  }
  return changed;
}

// By node index, one node of those that hang together: where one reads the codes of the other, or
// benefits from them; and `with_couplings` those that strict couplings have quantized.
std::vector<std::uint32_t> Decision::what_hangs_together(bool with_couplings) const {
  const std::uint32_t bound = problem_.graph.index_bound();
  std::vector<std::uint32_t> rank(bound);
  std::vector<std::uint32_t> parent(bound);
  boost::disjoint_sets together(rank.data(), parent.data());
  for (const NodeId node : problem_.order) together.make_set(node.index);
  for (const NodeId node : problem_.order) {
    const auto operands = selection_.reads_[node];
    for (const auto& [value, form] : operands) {
      if (form != float_form) together.union_set(node.index, value.node.index);
    }
    for (const Benefit& benefit : problem_.requests.benefits(node)) {
      if (comes_true_by_itself(benefit)) continue;  // nothing that is decided brings it about
      if (!selection_.is_realized(problem_.requests, benefit)) continue;
      together.union_set(node.index, operands[benefit.operand].value.node.index);
    }
  }
  for (const std::vector<Value>& members : problem_.couplings.strict()) {
    Value last;
    for (const Value value : members) {
      if (!with_couplings || !selection_.is_selected(value)) continue;
      if (!last.is_absent()) together.union_set(last.node.index, value.node.index);
      last = value;
    }
  }
  std::vector<std::uint32_t> sets(bound);
  for (const NodeId node : problem_.order) sets[node.index] = together.find_set(node.index);
  return sets;
}

// By node index: what the node is worth together with all that it hangs together with.
std::vector<Gain> Decision::totals_of_what_hangs_together() {
  const std::vector<std::uint32_t> sets = what_hangs_together(/*with_couplings=*/false);
  std::vector<Gain> of_sets(sets.size());
  for (const NodeId node : problem_.order) of_sets[sets[node.index]] += gain_over_float(node);
  find_conversions();
  for (const Conversion& conversion : selection_.conversions_) {
    of_sets[sets[conversion.value.node.index]] += conversion.price;
  }
  std::vector<Gain> totals(sets.size());
  for (const NodeId node : problem_.order) totals[node.index] = of_sets[sets[node.index]];
  return totals;
}

// What was decided of the node alone, conversions aside, compared with leaving everything in float.
Gain Decision::gain_over_float(NodeId node) const {
  const std::optional<Value> lead = selected_lead(node);
  Gain total = lead ? selection_[*lead].own : Gain{};
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    if (comes_true_by_itself(benefit)) {
      if (lead) total = total - benefit.gain;  // a quantized node goes without it
    } else if (selection_.is_realized(problem_.requests, benefit)) {
      total += benefit.gain;
    }
  }
  return total;
}

}  // namespace quadrant::inline v0
