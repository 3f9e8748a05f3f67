// Phase 3: which of the requested quantizations become true.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/phases/propagation.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Why a value that phase 1 found Quantizable was selected or not.
enum class SelectionCause : std::uint8_t {
  selected,
  not_eligible,   ///< phase 1 said no
  not_requested,  ///< no operation downstream requests it
  refused,        ///< requests came, but none could be accepted
  unavailable,    ///< the parents became something else
  withheld,       ///< the method's `forward` offers nothing that was asked for
  no_gain,        ///< in float it is worth more, here
  loss,           ///< with all that is quantized only with it, it costs more than it gains
  unused,         ///< every user that asked for it chose otherwise
  coupled,        ///< the values that it is coupled with were quantized otherwise
  contradicted,   ///< so they were, and in forms that differ: it cannot be coupled with all of them
  outweighed,     ///< the decision that is worth most leaves it in float
  not_planned,    ///< a given plan does not list it
};

/// One value's decision.
struct Choice {
  SelectionCause cause = SelectionCause::not_eligible;
  RequestId request = no_request;    ///< the selected request
  std::uint32_t alternative = 0;     ///< which of the request's alternatives holds
  RequestId runner_up = no_request;  ///< the best available one that lost
  /// Of the selected request, or of the best that had too little. Where the decision is optimal,
  /// what the value adds to the objective: what is its own, what readers gain, and conversions.
  Gain gain;
  Gain own;       ///< of this, the node's own: of the alternative, and of storage
  Gain in_float;  ///< what the walk found staying in float to be worth
  Gain runner_up_gain;
};

/// A form of a value besides the one that it is made in. Made once, for all its readers.
struct Conversion {
  Value value;
  ConstraintId from = float_form;  ///< the form it is made in, or `float_form`
  ConstraintId to = float_form;
  RequestId request = no_request;  ///< for `to`; no_request for floats
  Gain price;
  std::vector<Use> readers;  ///< none where only another conversion reads it
};

/// Values that must not be quantized differently: those of a group that are made in a quantized
/// form are made in the same one, and share their parameters. So of several weights, whose scales
/// come from their contents, the first by name alone is quantized.
using Couplings = std::vector<std::vector<Value>>;

/// All couplings of a run: those that the graph cannot do without (`Capabilities::of_one_type`),
/// and those of the options.
class CouplingTable {
 public:
  CouplingTable(const GraphView& graph, const Couplings& others);

  [[nodiscard]] const Couplings& all() const noexcept { return all_; }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// Those whose members are all quantized in one form, or none is. A group of which some came
  /// quantized with the model is a coupling like any other. They stand before the others.
  [[nodiscard]] std::span<const std::vector<Value>> strict() const noexcept {
    return std::span(all_).first(strict_);
  }

  /// Whether the value is of a strict one and no operation reads it: then it needs no reader.
  [[nodiscard]] bool follows(Value value) const { return followers_.contains(value); }

 private:
  Couplings all_;
  std::size_t strict_ = 0;
  std::unordered_set<Value> followers_;
};

/// A form that a coupling takes, for a value that stays float because it cannot take it, too.
struct CouplingDemand {
  Value value;   ///< what stays float
  Value member;  ///< of the coupling, and of another node: made in the form, where one is
  ConstraintId form = float_form;  ///< `float_form`: the two have one type, and the member is float
};

/// The result of phase 3.
class Selection {
 public:
  Selection(const GraphView& graph, const Eligibility& eligibility, const RequestGraph& requests)
      : choices_(eligibility.numbering(), Choice{}),
        produced_(eligibility.numbering(), float_form),
        reads_(graph, [](Value operand) { return Read{operand, float_form}; }),
        realized_(requests.benefits().size(), 0) {}

  [[nodiscard]] const Choice& operator[](Value value) const noexcept { return choices_[value]; }
  [[nodiscard]] bool is_selected(Value value) const noexcept {
    return choices_[value].cause == SelectionCause::selected;
  }
  /// The form that the value is made in: selected, or given with the model.
  [[nodiscard]] ConstraintId produced(Value value) const noexcept { return produced_[value]; }
  /// The form that `user` reads its operand in.
  [[nodiscard]] ConstraintId read(NodeId user, std::uint32_t operand) const noexcept {
    return reads_[user][operand].form;
  }
  [[nodiscard]] bool is_realized(const RequestGraph& requests,
                                 const Benefit& benefit) const noexcept {
    return realized_[requests.index(benefit)] != 0;
  }
  /// In topological order of their values; one that another reads stands before it.
  [[nodiscard]] std::span<const Conversion> conversions() const noexcept { return conversions_; }
  /// Of the values that are `coupled` or `contradicted`, in topological order: each form once, by
  /// name of the member. A member that shares the value's node is no obstacle. Behind them, for
  /// values that have one type with others, the first of those that keeps them in float.
  [[nodiscard]] std::span<const CouplingDemand> coupling_demands() const noexcept {
    return coupling_demands_;
  }
  /// Why the node's method offers nothing that was asked for, where that is known; else null.
  [[nodiscard]] const std::string* why_withheld(NodeId node) const noexcept {
    const auto found = withheld_.find(node);
    return found == withheld_.end() ? nullptr : &found->second;
  }
  /// The worth of the decision itself: every realized benefit, every node's own gain, every stored
  /// value and every conversion once. Never a sum of flows.
  [[nodiscard]] Gain objective() const noexcept { return objective_; }
  /// No decision is worth more, as far as the policy knows; empty: it does not. Where it equals the
  /// objective, this is a best decision.
  [[nodiscard]] std::optional<Gain> bound() const noexcept { return bound_; }

 private:
  friend class Decision;
  struct Read {
    Value value;
    ConstraintId form;
  };
  ValueMap<Choice> choices_;
  ValueMap<ConstraintId> produced_;
  OperandMap<Read> reads_;
  std::vector<std::uint8_t> realized_;  // by benefit
  std::vector<Conversion> conversions_;
  std::vector<CouplingDemand> coupling_demands_;
  std::unordered_map<NodeId, std::string> withheld_;
  Gain objective_;
  std::optional<Gain> bound_;
};

/// What a policy decides on: the results of phases 1 and 2. Refers to them.
struct SelectionProblem {
  const GraphView& graph;
  const std::vector<NodeId>& order;
  const Registry& registry;
  const Eligibility& eligibility;
  const RequestGraph& requests;
  const GainModel& gains;
  const CouplingTable& couplings;
};

/// Walks forward and gives each value the requested and available constraint of largest gain; equal
/// gains are decided by the constraints' order. What no reader takes after all, and what in the end
/// costs more than it gains, is given back. Linear; independent of the order in which the graph was
/// built. The objective is never below that of leaving everything in float.
[[nodiscard]] Selection select_greedy(const SelectionProblem& problem);

/// The decision that is worth most, by docs/selection.md, or one that `bound` says how near it is.
/// Parts of the graph that are not connected are solved one by one: exactly by elimination where
/// they are like trees, however large; exactly by a minimum cut where there are floats and one
/// form, or two forms with floats between them; else by improving what `select_greedy` finds, with
/// a bound from the dual. Never worth less than that. Of decisions that are worth the same it takes
/// one that does not depend on the order in which the graph was built. Best for the sum of gains
/// and prices, which is not the accuracy of the model.
[[nodiscard]] Selection select_optimal(const SelectionProblem& problem);

/// Makes the values that `plan` lists, and no other, in their planned form; how they are read is
/// decided by the plan's policy. An entry that names no value, or that the graph does not allow, is
/// `impossible` and says why.
[[nodiscard]] Expected<Selection> select_planned(const SelectionProblem& problem, const Plan& plan);

// Which quantized values share their scales and zero points, and which take them from others.
//
// What a constraint leaves open (the range of an activation) is a variable for each value and form.
// Variables are unified after selection, for what was selected alone; the data pass gives each its
// parameters.

/// A value in one of its quantized forms; the request names both.
struct ParameterGroup {
  ConstraintId constraint = float_form;
  std::vector<RequestId> members;  ///< by name of their values; one at least
  /// What a method derives its parameters from, each a group that stands before this one; empty:
  /// they are found from data.
  std::vector<std::uint32_t> sources;
};

/// The parameter variables of one selection. Empty where no values share parameters and no scheme
/// resolves them.
class ParameterTable {
 public:
  [[nodiscard]] std::span<const ParameterGroup> groups() const noexcept { return groups_; }
  /// Index into `groups` for a value's form that is in use; `none` for others.
  [[nodiscard]] std::uint32_t group(RequestId request) const noexcept {
    return request < group_of_.size() ? group_of_[request] : none;
  }
  static constexpr std::uint32_t none = 0xFFFFFFFF;

 private:
  friend class ParameterUnifier;
  std::vector<ParameterGroup> groups_;
  std::vector<std::uint32_t> group_of_;  // by request
};

/// Calls the `tie` hook of each node that takes part, and unifies.
/// Linear. Parameters that would be derived from themselves, or in two different ways, are
/// `impossible`, and so is sharing between different constraints.
[[nodiscard]] Expected<ParameterTable> unify_parameters(const SelectionProblem& problem,
                                                        const Selection& selection);

}  // namespace quadrant::inline v0
