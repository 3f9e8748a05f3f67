#include "engine/policies/decision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/phases/coupling.hpp"
#include "engine/policies/conversions.hpp"
#include "engine/policies/storage_gain.hpp"

namespace quadrant::inline v0 {
namespace {

// What `forward` offers for one node: the requests that became available.
class Availability final : public ForwardContext {
 public:
  Availability(Value lead, std::uint32_t scheme, const SelectionProblem& problem,
               const Selection& selection)
      : ForwardContext(problem.eligibility.facts(scheme)),
        lead_(lead),
        scheme_(scheme),
        requests_(&problem.requests),
        selection_(&selection) {}

  [[nodiscard]] const void* selected(Value parent) const noexcept override {
    const ConstraintId form = selection_->produced(parent);
    const ConstraintTable& constraints = requests_->constraints();
    const bool is_known = form != float_form && constraints.scheme(form) == scheme_;
    return is_known ? constraints.get(form) : nullptr;
  }
  void offer_requests() override {
    for (RequestId id = requests_->first(lead_); id != no_request; id = (*requests_)[id].next) {
      offer_request(id);
    }
  }
  void offer(std::uint32_t result, const void* constraint) override {
    bool is_requested = false;
    for (RequestId id = requests_->first({lead_.node, result}); id != no_request;
         id = (*requests_)[id].next) {
      const ConstraintId wanted = (*requests_)[id].constraint;
      if (!requests_->constraints().equals(wanted, scheme_, constraint)) continue;
      offer_request(requests_->find(lead_, wanted));
      is_requested = true;
    }
    if (is_requested) return;  // else nobody would gain
    const std::string text = requests_->constraints().print(scheme_, constraint);
    if (std::ranges::find(unasked_, text) == unasked_.end()) unasked_.push_back(text);
  }
  void refuse(std::string_view why) override { refusal_ = why; }
  /// Why nothing was offered.
  [[nodiscard]] std::string why_not(std::string_view method) const {
    if (!refusal_.empty()) return refusal_;
    if (unasked_.empty()) return fmt::format("method {} offers nothing here", method);
    return fmt::format("method {} offers {} here, which no operation requests", method,
                       fmt::join(unasked_, " and "));
  }
  [[nodiscard]] std::span<const RequestId> offered() const noexcept { return offered_; }

 private:
  void offer_request(RequestId id) {
    if (id == no_request || !(*requests_)[id].producible) return;
    if (requests_->constraints().scheme((*requests_)[id].constraint) != scheme_) return;
    if (std::ranges::find(offered_, id) == offered_.end()) offered_.push_back(id);
  }

  Value lead_;
  std::uint32_t scheme_;
  const RequestGraph* requests_;
  const Selection* selection_;
  std::vector<RequestId> offered_;
  std::vector<std::string> unasked_;  // what was offered besides, as text
  std::string refusal_;
};

}  // namespace

Decision::Decision(const SelectionProblem& problem)
    : problem_(problem),
      prices_(problem.graph, problem.registry, problem.requests.constraints(), problem.gains),
      selection_(problem.graph, problem.eligibility, problem.requests),
      converted_(problem.requests.requests().size(), 0),
      left_(problem.eligibility.numbering(), 0),
      uses_(problem.eligibility.numbering(), 0) {
  for (const NodeId node : problem.order) {
    for (const auto& read : selection_.reads_[node]) {
      if (!read.value.is_absent()) ++uses_[read.value];
    }
  }
}

// --- looking things up ---------------------------------------------------------------------------

std::uint32_t Decision::scheme_of(const Request& request) const {
  return problem_.requests.constraints().scheme(request.constraint);
}

std::optional<Value> Decision::selected_lead(NodeId node) const {
  for (std::uint32_t i = 0; i < problem_.eligibility.numbering()->result_count(node); ++i) {
    if (selection_.is_selected({node, i})) return Value{node, i};
  }
  return std::nullopt;
}

const Alternative& Decision::chosen(const Choice& choice) const {
  return problem_.requests.alternatives(problem_.requests[choice.request])[choice.alternative];
}

// --- what things are worth -----------------------------------------------------------------------

// What it costs one more reader to have the request, now that its value is decided. Empty: it
// cannot.
std::optional<Gain> Decision::cost_of_reading(RequestId id) const {
  if (id == no_request) return std::nullopt;
  const Request& request = problem_.requests[id];
  const ConstraintId form = selection_.produced(request.value);
  if (form == request.constraint || converted_[id] != 0) return Gain{};
  std::optional<Gain> best;
  if (form != float_form) best = prices_.convert(request.value, form, request.constraint);
  if (request.entry) {
    const bool is_float = form == float_form || left_[request.value] != 0;
    const Gain by_float = *request.entry + (is_float ? Gain{} : prices_.leave(request.value, form));
    best = std::max(best.value_or(by_float), by_float);
  }
  return best;
}

std::optional<Gain> Decision::cost_of_reading(const Alternative& alternative) const {
  Gain total;
  for (const Need& need : problem_.requests.needs(alternative)) {
    const std::optional<Gain> cost = cost_of_reading(need.request);
    if (!cost) return std::nullopt;
    total += *cost;
  }
  return total;
}

// What the readers of the request's value are worth who want something else: floats, or another
// form.
Gain Decision::gain_of_others(RequestId chosen_id) const {
  const Request& request = problem_.requests[chosen_id];
  Gain total;
  bool is_left = false;
  const Gain leave = prices_.leave(request.value, request.constraint);
  if (uses_[request.value] > problem_.requests.asked_uses(request.value)) {
    total += leave;
    is_left = true;
  }
  // A use that asks for several forms reads one: who gets the chosen form wants no other.
  if (problem_.requests.asked_uses(request.value) <= request.asking_uses) return total;
  Gain most;
  Gain sum;
  std::uint32_t asking = request.asking_uses;
  for_each_request(request.value, [&](RequestId id) {
    const Request& other = problem_.requests[id];
    if (id == chosen_id) return;
    std::optional<Gain> cost = prices_.convert(request.value, request.constraint, other.constraint);
    if (other.entry) {
      const Gain by_float = *other.entry + (is_left ? Gain{} : leave);
      cost = std::max(cost.value_or(by_float), by_float);
    }
    if (!cost) return;
    const Gain gain = other.flow + *cost;
    most = std::max(most, gain);
    sum += std::max(Gain{}, gain);
    asking += other.asking_uses;
  });
  const bool overlap = asking > problem_.requests.asked_uses(request.value);
  return total + (overlap ? most : sum);
}

// --- the walk ------------------------------------------------------------------------------------

void Decision::walk(const std::vector<NodeId>& order, const ValueMap<RequestId>* planned) {
  coupling_forms_ = find_coupling_forms(problem_, planned);
  coupled_ = find_coupled_forms(problem_, coupling_forms_);
  for (const NodeId node : order) {
    take_given(node);
    decide_results(node, planned);
    if (!selected_lead(node)) decide_reads(node);
    for (const auto& [value, form] : selection_.reads_[node]) {
      if (!value.is_absent() && form == float_form) left_[value] = 1;
    }
  }
}

// Results that came quantized are made as they came.
void Decision::take_given(NodeId node) {
  for_each_result(node, [&](Value value) {
    if (problem_.eligibility.state(value) == State::Quantized) {
      selection_.produced_[value] = problem_.eligibility.given(value);
    }
  });
}

void Decision::decide_results(NodeId node, const ValueMap<RequestId>* planned) {
  candidates_.clear();
  for (std::uint32_t scheme = 0; scheme < problem_.registry.scheme_count(); ++scheme) {
    if (problem_.eligibility.method(node, scheme) != nullptr) find_candidates(node, scheme);
  }
  if (planned != nullptr) keep_planned(*planned);
  if (candidates_.empty()) return;
  Candidate best;
  Candidate next;
  for (const Candidate& candidate : candidates_) {
    if (beats(candidate, best)) {
      next = best;
      best = candidate;
    } else if (beats(candidate, next)) {
      next = candidate;
    }
  }
  const Gain in_float = gain_in_float(node);
  const bool pays = planned != nullptr || best.gain >= in_float;
  for_each_real_result(problem_.requests[best.request], [&](Value value) {
    Choice& choice = selection_.choices_[value];
    choice.cause = pays ? SelectionCause::selected : SelectionCause::no_gain;
    choice.request = problem_.requests.find(value, problem_.requests[best.request].constraint);
    choice.alternative = best.alternative;
    choice.gain = best.gain;
    choice.own = best.own;
    choice.in_float = in_float;
    if (next.request != no_request) {
      const Request& second = problem_.requests[next.request];
      choice.runner_up = problem_.requests.find(value, second.constraint);
      choice.runner_up_gain = next.gain;
    }
  });
  if (pays) select(best);
}

void Decision::keep_planned(const ValueMap<RequestId>& planned) {
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    const Request& request = problem_.requests[candidate.request];
    bool is_planned = false;
    for_each_real_result(request, [&](Value value) {
      const RequestId id = planned[value];
      is_planned |= id != no_request && problem_.requests[id].constraint == request.constraint;
      selection_.choices_[value].cause = SelectionCause::not_planned;
    });
    return !is_planned;
  });
}

// The requests of one scheme that have become available, with what each is worth.
void Decision::find_candidates(NodeId node, std::uint32_t scheme) {
  std::optional<Value> lead;
  for_each_result(node, [&](Value value) {
    if (problem_.eligibility.state(value, scheme) != State::Quantizable) return;
    if (!lead) lead = value;
    SelectionCause& cause = selection_.choices_[value].cause;
    if (cause == SelectionCause::not_eligible) cause = SelectionCause::not_requested;
  });
  // Lazy: nobody asks, nothing is computed.
  if (!lead || problem_.requests.first(*lead) == no_request) return;
  Availability availability(*lead, scheme, problem_, selection_);
  const QuantizationMethod& method = *problem_.eligibility.method(node, scheme);
  method.erased_forward({&problem_.graph, node}, availability);
  SelectionCause cause = SelectionCause::refused;
  for_each_request(*lead, [&](RequestId id) {
    if (problem_.requests[id].producible) cause = SelectionCause::unavailable;
  });
  if (cause == SelectionCause::unavailable && availability.offered().empty()) {
    cause = SelectionCause::withheld;
    selection_.withheld_[node] = availability.why_not(method.name());
  }
  for (const RequestId id : availability.offered()) {
    if (!is_coupling_kept(problem_.requests[id])) {
      cause = SelectionCause::coupled;
    } else if (const auto found = candidate(id)) {
      candidates_.push_back(*found);
    }
  }
  // What stays if none of the candidates is taken.
  for_each_result(node, [&](Value value) {
    if (problem_.eligibility.state(value, scheme) == State::Quantizable) {
      selection_.choices_[value].cause = cause;
    }
  });
}

bool Decision::is_coupling_kept(const Request& request) const {
  if (coupled_.empty()) return true;
  bool is_kept = true;
  for_each_real_result(request, [&](Value value) {
    const auto coupled = coupled_.find(value);
    is_kept = is_kept && (coupled == coupled_.end() || coupled->second == request.constraint);
  });
  return is_kept;
}

std::optional<Decision::Candidate> Decision::candidate(RequestId id) const {
  const Request& request = problem_.requests[id];
  Candidate found{id, 0, {}, {}};
  bool is_available = false;
  const auto alternatives = problem_.requests.alternatives(request);
  for (std::uint32_t i = 0; i < alternatives.size(); ++i) {
    const std::optional<Gain> cost = cost_of_reading(alternatives[i]);
    if (!cost) continue;
    const Gain gain = alternatives[i].gain + *cost;
    if (is_available && gain <= found.gain) continue;
    found.alternative = i;
    found.gain = gain;
    is_available = true;
  }
  if (!is_available) return std::nullopt;
  const Gain storage = storage_gain(problem_, request);
  found.own = alternatives[found.alternative].gain + storage;
  found.gain += storage;
  for_each_real_result(request, [&](Value value) {
    const RequestId sibling = problem_.requests.find(value, request.constraint);
    found.gain += problem_.requests[sibling].flow + gain_of_others(sibling);
  });
  return found;
}

// What the node and its readers are worth when its results stay float.
Gain Decision::gain_in_float(NodeId node) const {
  Gain total;
  for_each_result(node, [&](Value value) {
    Gain most;
    Gain sum;
    std::uint32_t asking = 0;
    for_each_request(value, [&](RequestId id) {
      const Request& request = problem_.requests[id];
      if (!request.entry) return;
      const Gain gain = request.flow + *request.entry;
      most = std::max(most, gain);
      sum += std::max(Gain{}, gain);
      asking += request.asking_uses;
    });
    // A use that asks for several forms reads one.
    total += asking > problem_.requests.asked_uses(value) ? most : sum;
  });
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    if (benefit.is_of_taking()) {
      total += gain_alone(benefit);
    } else if (benefit.is_of_holding()) {
      const Request& request = problem_.requests[benefit.request];
      if (selection_.produced(request.value) == request.constraint) total += benefit.gain;
    }
  }
  // One of the sets comes true at most.
  Gain most;
  for (const auto& members : problem_.requests.taken_together(node)) {
    most = std::max(most, gain_together(members));
  }
  return total + most;
}

// What it is worth at most to read the codes of one operand, taken by itself.
Gain Decision::gain_alone(const Benefit& benefit) const {
  const auto cost = cost_of_reading(benefit.request);
  return cost ? std::max(Gain{}, benefit.gain + *cost) : Gain{};
}

// The same of all `members`, over what their operands are taken for alone.
Gain Decision::gain_together(std::span<const Benefit* const> members) const {
  Gain gain;
  for (const Benefit* member : members) {
    const std::optional<Gain> cost = cost_of_reading(member->request);
    if (!cost) return {};
    gain += member->gain + *cost;
    for (const Benefit& other : problem_.requests.benefits(member->consumer, member->operand)) {
      if (other.is_of_taking()) gain = gain - gain_alone(other);
    }
  }
  return gain;
}

// Canonical: the larger gain, then the smaller constraint, never who came first.
bool Decision::beats(const Candidate& a, const Candidate& b) const {
  if (b.request == no_request || a.gain != b.gain) {
    return b.request == no_request || a.gain > b.gain;
  }
  return problem_.requests.constraints().less(problem_.requests[a.request].constraint,
                                              problem_.requests[b.request].constraint);
}

void Decision::select(const Candidate& best) {
  const Request& request = problem_.requests[best.request];
  for_each_real_result(request,
                       [&](Value value) { selection_.produced_[value] = request.constraint; });
  const Alternative& alternative = problem_.requests.alternatives(request)[best.alternative];
  for (const Need& need : problem_.requests.needs(alternative)) {
    read(request.value.node, need.operand, problem_.requests[need.request]);
  }
}

// Decides which operands a node that makes floats reads as codes. Those are of one scheme, whose
// rewriter will see to it.
void Decision::decide_reads(NodeId node) {
  std::map<std::uint32_t, Reading> by_scheme = takes_alone(node);
  std::optional<Reading> winner;
  const auto consider = [&](Reading reading) {
    if (!winner || reading.gain > winner->gain) winner = std::move(reading);
  };
  for (const auto& members : problem_.requests.taken_together(node)) {
    const std::uint32_t scheme = problem_.requests.constraints().scheme(members[0]->constraint);
    const auto alone = by_scheme.find(scheme);
    auto all = with_all_of(members, alone == by_scheme.end() ? Reading{} : alone->second);
    if (all && all->gain >= Gain{}) consider(*std::move(all));
  }
  for (auto& [scheme, alone] : by_scheme) consider(std::move(alone));
  if (!winner) return;
  const auto take = [&](const Benefit& benefit) {
    selection_.realized_[problem_.requests.index(benefit)] = 1;
    read(node, benefit.operand, problem_.requests[benefit.request]);
  };
  for (const Benefit* member : winner->together) take(*member);
  for (const auto& [operand, taken] : winner->alone) take(*taken.benefit);
}

// By scheme: of each operand the best, if it is worth it. What is held is settled, too.
std::map<std::uint32_t, Decision::Reading> Decision::takes_alone(NodeId node) {
  std::map<std::uint32_t, Reading> by_scheme;
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    if (benefit.request == no_request || benefit.together != 0) continue;
    const Request& request = problem_.requests[benefit.request];
    if (!benefit.takes_codes) {
      const bool is_true = selection_.produced(request.value) == request.constraint;
      selection_.realized_[problem_.requests.index(benefit)] = is_true ? 1 : 0;
    } else if (const auto gain = gain_of_taking(benefit); gain && *gain >= Gain{}) {
      Taken& best = by_scheme[scheme_of(request)].alone[benefit.operand];
      if (beats({&benefit, *gain}, best)) best = {&benefit, *gain};
    }
  }
  for (auto& [scheme, reading] : by_scheme) {
    for (const auto& [operand, taken] : reading.alone) reading.gain += taken.gain;
  }
  return by_scheme;
}

// All of `members`, and of what is taken `alone` what goes with that. Empty: it cannot be had.
std::optional<Decision::Reading> Decision::with_all_of(std::span<const Benefit* const> members,
                                                       const Reading& alone) const {
  Reading found{alone.alone, {members.begin(), members.end()}, {}};
  for (const Benefit* member : members) {
    const std::optional<Gain> gain = gain_of_taking(*member);
    if (!gain) return std::nullopt;
    found.gain += *gain;
    found.alone.erase(member->operand);
    for (const Benefit& other : problem_.requests.benefits(member->consumer, member->operand)) {
      if (!other.is_of_taking() || other.constraint != member->constraint) continue;
      found.alone[member->operand] = {&other, other.gain};
    }
  }
  for (const auto& [operand, taken] : found.alone) found.gain += taken.gain;
  return found;
}

// What reading the codes is worth, over reading floats. Empty: they cannot be had.
std::optional<Gain> Decision::gain_of_taking(const Benefit& benefit) const {
  const auto cost = cost_of_reading(benefit.request);
  if (!cost) return std::nullopt;
  const Value value = problem_.requests[benefit.request].value;
  const ConstraintId form = selection_.produced(value);
  const bool came_quantized = problem_.eligibility.given(value) != float_form;
  const bool is_float_free = form == float_form || came_quantized || left_[value] != 0;
  const Gain gain = benefit.gain + *cost;
  return is_float_free ? gain : gain - prices_.leave(value, form);
}

bool Decision::beats(const Taken& a, const Taken& b) const {
  if (b.benefit == nullptr || a.gain != b.gain) return b.benefit == nullptr || a.gain > b.gain;
  return problem_.requests.constraints().less(a.benefit->constraint, b.benefit->constraint);
}

void Decision::read(NodeId user, std::uint32_t operand, const Request& request) {
  selection_.reads_[user][operand].form = request.constraint;
  const ConstraintId form = selection_.produced(request.value);
  if (form == request.constraint) return;
  converted_[problem_.requests.find(request.value, request.constraint)] = 1;
  const bool by_float =
      form != float_form && !prices_.convert(request.value, form, request.constraint);
  if (by_float) left_[request.value] = 1;
}

ValueMap<RequestId> Decision::selected() const {
  ValueMap<RequestId> requests(problem_.eligibility.numbering(), no_request);
  for (const NodeId node : problem_.order) {
    for_each_result(node, [&](Value value) {
      if (selection_.is_selected(value)) requests[value] = selection_[value].request;
    });
  }
  return requests;
}

void Decision::restore_reasons(const ValueMap<Choice>& earlier) {
  for (const NodeId node : problem_.order) {
    for_each_result(node, [&](Value value) {
      Choice& choice = selection_.choices_[value];
      if (choice.cause != SelectionCause::selected) {
        if (earlier[value].cause != SelectionCause::selected) choice = earlier[value];
      } else {
        choice.runner_up = earlier[value].runner_up;
        choice.runner_up_gain = earlier[value].runner_up_gain;
      }
    });
  }
}

void Decision::find_conversions() {
  selection_.conversions_.clear();
  for (const NodeId node : problem_.order) {
    for_each_result(node, [&](Value value) {
      if (problem_.requests.first(value) == no_request) return;  // floats, or as it was given
      for (Conversion& conversion :
           quadrant::find_conversions(problem_, prices_, selection_, value)) {
        selection_.conversions_.push_back(std::move(conversion));
      }
    });
  }
}

Gain Decision::objective() const {
  Gain objective;
  for (const NodeId node : problem_.order) {
    if (const auto lead = selected_lead(node)) objective += selection_[*lead].own;
    for (const Benefit& benefit : problem_.requests.benefits(node)) {
      if (selection_.is_realized(problem_.requests, benefit)) objective += benefit.gain;
    }
  }
  for (const Conversion& conversion : selection_.conversions_) objective += conversion.price;
  return objective;
}

Selection Decision::finish() && {
  explain_couplings();
  selection_.objective_ = objective();
  return std::move(selection_);
}

}  // namespace quadrant::inline v0
