// A selection in the making: the walk that decides value after value, and what mends it afterwards.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/policies/prices.hpp"
#include "engine/policies/selection_model.hpp"
#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

class Decision {
 public:
  explicit Decision(const SelectionProblem& problem);

  /// Decides every node in `order`, producers before users. `planned`, if there is one, has the
  /// request to select for each value, or no_request; otherwise the largest gain wins.
  void walk(const std::vector<NodeId>& order, const ValueMap<RequestId>* planned);
  /// Gives back, users first, what is not read in a quantized form after all and what gains
  /// nothing by itself. Whether there was any.
  [[nodiscard]] bool release_unused();
  /// Finds the conversions, and gives back whatever hangs together and is worth less than nothing.
  /// Whether there was any.
  [[nodiscard]] bool drop_losses();
  /// Gives back the members of strict couplings that are not quantized as a whole, or also those of
  /// all that hang together with them. Whether there were any: then what reads them has to be
  /// decided anew, by another walk.
  enum class Torn : std::uint8_t { alone, with_all_in_doubt };
  [[nodiscard]] bool release_torn(Torn which);
  /// The requests that came true, for another walk.
  [[nodiscard]] ValueMap<RequestId> selected() const;
  [[nodiscard]] const ValueMap<Choice>& choices() const noexcept { return selection_.choices_; }
  /// Values that stay float get the reason that an earlier walk had for it.
  void restore_reasons(const ValueMap<Choice>& earlier);
  /// Finds the conversions that the reads need.
  void find_conversions();
  /// Decides everything as `labelling` says, whose labels are those of `model`. Values that stay
  /// float get the reasons of `walked`, except where it has no good ones.
  void adopt(const SelectionModel& model, const Labelling& labelling, const Selection& walked);
  /// Gives back what was adopted and is not read as it is made.
  void release_adopted();
  /// The same selection, of which it is known what no decision exceeds.
  [[nodiscard]] static Selection with_bound(Selection selection, Gain bound);
  /// What everything is worth, conversions included.
  [[nodiscard]] Gain objective() const;
  [[nodiscard]] Selection finish() &&;

 private:
  // One way for a node to make its results: all of them in one form.
  struct Candidate {
    RequestId request = no_request;  // of the first result that can be quantized
    std::uint32_t alternative = 0;
    Gain gain;  // here, with what readers gain and conversions cost
    Gain own;   // the alternative's, and that of storage
  };
  // An operand that a node in float reads as codes.
  struct Taken {
    const Benefit* benefit = nullptr;
    Gain gain;  // over reading floats
  };
  // What a node in float reads as codes of one scheme.
  struct Reading {
    std::map<std::uint32_t, Taken> alone;  // by operand
    std::vector<const Benefit*> together;
    Gain gain;  // over reading floats
  };

  // The walk.
  void decide_results(NodeId node, const ValueMap<RequestId>* planned);
  void find_candidates(NodeId node, std::uint32_t scheme);
  void keep_planned(const ValueMap<RequestId>& planned);
  void decide_reads(NodeId node);
  void read(NodeId user, std::uint32_t operand, const Request& request);
  [[nodiscard]] bool is_coupling_kept(const Request& request) const;
  [[nodiscard]] std::optional<Candidate> candidate(RequestId id) const;
  [[nodiscard]] Gain gain_in_float(NodeId node) const;
  [[nodiscard]] Gain gain_alone(const Benefit& benefit) const;
  [[nodiscard]] Gain gain_together(std::span<const Benefit* const> members) const;
  [[nodiscard]] bool beats(const Candidate& a, const Candidate& b) const;
  [[nodiscard]] std::map<std::uint32_t, Reading> takes_alone(NodeId node);
  [[nodiscard]] std::optional<Reading> with_all_of(std::span<const Benefit* const> members,
                                                   const Reading& alone) const;
  [[nodiscard]] std::optional<Gain> gain_of_taking(const Benefit& benefit) const;
  [[nodiscard]] bool beats(const Taken& a, const Taken& b) const;
  void select(const Candidate& best);

  // What hangs together.
  void give_back(NodeId node, SelectionCause cause);
  [[nodiscard]] bool is_requantized(Value value) const;
  [[nodiscard]] bool comes_true_by_itself(const Benefit& benefit) const;
  [[nodiscard]] std::vector<std::uint32_t> what_hangs_together(bool with_couplings) const;
  [[nodiscard]] std::vector<Gain> totals_of_what_hangs_together();
  [[nodiscard]] Gain gain_over_float(NodeId node) const;

  void take_given(NodeId node);

  // Why couplings keep values in float.
  void explain_couplings();
  void explain_strict_couplings();
  [[nodiscard]] bool follows_operands(Value value) const;
  [[nodiscard]] std::optional<SelectionCause> cause_of(
      NodeId node, std::span<const CouplingDemand> demands) const;

  // What a solver found.
  [[nodiscard]] const Label* first_in_codes(std::span<const Label> labels) const;
  void adopt_label(const Label& label);
  void adopt_reads(NodeId node, std::span<const ConstraintId> forms, std::uint32_t together);
  void adopt_reason(NodeId node, const Label* open, const Selection& walked);
  void find_contributions();

  // What things are worth.
  [[nodiscard]] std::optional<Gain> cost_of_reading(RequestId id) const;
  [[nodiscard]] std::optional<Gain> cost_of_reading(const Alternative& alternative) const;
  [[nodiscard]] Gain gain_of_others(RequestId chosen_id) const;

  // Looking things up.
  [[nodiscard]] std::uint32_t scheme_of(const Request& request) const;
  [[nodiscard]] std::optional<Value> selected_lead(NodeId node) const;
  [[nodiscard]] const Alternative& chosen(const Choice& choice) const;
  template <class Visit>
  void for_each_result(NodeId node, Visit visit) const;
  template <class Visit>
  void for_each_real_result(const Request& request, Visit visit) const;
  template <class Visit>
  void for_each_request(Value value, Visit visit) const;

  SelectionProblem problem_;
  Prices prices_;
  Selection selection_;
  // The walk's estimate of what is shared; what counts in the end is `find_conversions`.
  std::vector<std::uint8_t> converted_;  // by request: made by a conversion already
  ValueMap<std::uint8_t> left_;          // made in float by a conversion already
  ValueMap<std::uint32_t> uses_;
  std::vector<ConstraintId> coupling_forms_;         // the walk's; what a solver found has none
  std::unordered_map<Value, ConstraintId> coupled_;  // the one constraint that a coupling allows
  std::vector<Candidate> candidates_;                // scratch of decide_results
};

template <class Visit>
void Decision::for_each_result(NodeId node, Visit visit) const {
  const std::uint32_t count = problem_.eligibility.numbering()->result_count(node);
  for (std::uint32_t i = 0; i < count; ++i) visit(Value{node, i});
}

// Calls `visit` for the values that the request's node would make in its form: all real results.
template <class Visit>
void Decision::for_each_real_result(const Request& request, Visit visit) const {
  for_each_result(request.value.node, [&](Value value) {
    if (problem_.eligibility.state(value, scheme_of(request)) == State::Quantizable) visit(value);
  });
}

template <class Visit>
void Decision::for_each_request(Value value, Visit visit) const {
  for (RequestId id = problem_.requests.first(value); id != no_request;
       id = problem_.requests[id].next) {
    visit(id);
  }
}

}  // namespace quadrant::inline v0
