// What a solver found, as a decision.
#include "engine/policies/decision.hpp"

namespace quadrant::inline v0 {

void Decision::adopt(const SelectionModel& model, const Labelling& labelling,
                     const Selection& walked) {
  selection_.withheld_ = walked.withheld_;
  for (const NodeId node : problem_.order) {
    const auto labels = model.labels(node);
    const Label& label = labels[labelling.labels[node.index]];
    take_given(node);
    if (label.is_float()) {
      adopt_reason(node, first_in_codes(labels), walked);
    } else {
      adopt_label(label);
    }
    adopt_reads(node, labelling.reads[node], label.together);
  }
  find_conversions();
  find_contributions();
}

void Decision::release_adopted() {
  bool is_changed = false;
  while (release_unused()) is_changed = true;
  if (!is_changed) return;
  find_conversions();
  find_contributions();
}

Selection Decision::with_bound(Selection selection, Gain bound) {
  selection.bound_ = bound;
  return selection;
}

// Of the labels that are no floats the one whose form comes first; null: there is none.
const Label* Decision::first_in_codes(std::span<const Label> labels) const {
  const auto form = [this](const Label& label) {
    return problem_.requests[label.request].constraint;
  };
  const Label* first = nullptr;
  for (const Label& label : labels) {
    if (label.is_float()) continue;
    const bool is_before =
        first == nullptr || problem_.requests.constraints().less(form(label), form(*first));
    if (is_before) first = &label;
  }
  return first;
}

void Decision::adopt_label(const Label& label) {
  const ConstraintId form = problem_.requests[label.request].constraint;
  for_each_real_result(problem_.requests[label.request], [&](Value value) {
    Choice& choice = selection_.choices_[value];
    choice.cause = SelectionCause::selected;
    choice.request = problem_.requests.find(value, form);
    choice.alternative = label.alternative;
    choice.own = label.own;
    selection_.produced_[value] = form;
  });
}

// Why the node stays float. `open`: what it could have been; null: nothing else.
void Decision::adopt_reason(NodeId node, const Label* open, const Selection& walked) {
  for_each_result(node, [&](Value value) {
    Choice& choice = selection_.choices_[value];
    choice = walked[value];
    const bool was_weighed = choice.cause == SelectionCause::selected ||
                             choice.cause == SelectionCause::no_gain ||
                             choice.cause == SelectionCause::loss;
    // Couplings may take other forms here than on the walk.
    const bool was_coupled =
        choice.cause == SelectionCause::coupled || choice.cause == SelectionCause::contradicted;
    if (was_coupled) choice.cause = SelectionCause::coupled;
    if (!was_weighed && (!was_coupled || open == nullptr)) return;
    choice.cause = SelectionCause::outweighed;
    if (choice.request == no_request && open != nullptr) choice.request = open->request;
  });
}

// `together`: what it takes all of, of a node in float.
void Decision::adopt_reads(NodeId node, std::span<const ConstraintId> forms,
                           std::uint32_t together) {
  const auto reads = selection_.reads_[node];
  for (std::size_t i = 0; i < forms.size(); ++i) reads[i].form = forms[i];
  const bool is_float = !selected_lead(node);
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    if (!is_float || benefit.request == no_request) continue;
    const auto& read = reads[benefit.operand];
    const ConstraintId held = benefit.takes_codes ? read.form : selection_.produced(read.value);
    const bool is_true =
        benefit.together != 0 ? benefit.together == together : held == benefit.constraint;
    selection_.realized_[problem_.requests.index(benefit)] = is_true ? 1 : 0;
  }
}

// What each selected value adds to the objective: its own gain, what its readers gain from it, and
// its conversions.
void Decision::find_contributions() {
  ValueMap<Gain> contributions(problem_.eligibility.numbering(), Gain{});
  for (const Benefit& benefit : problem_.requests.benefits()) {
    if (!selection_.is_realized(problem_.requests, benefit)) continue;
    contributions[problem_.requests[benefit.request].value] += benefit.gain;
  }
  for (const Conversion& conversion : selection_.conversions_) {
    contributions[conversion.value] += conversion.price;
  }
  for (const NodeId node : problem_.order) {
    Gain total;
    for_each_result(node, [&](Value value) { total += contributions[value]; });
    for_each_result(node, [&](Value value) {
      Choice& choice = selection_.choices_[value];
      if (choice.cause == SelectionCause::selected) choice.gain = choice.own + total;
    });
  }
}

}  // namespace quadrant::inline v0
