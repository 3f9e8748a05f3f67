// Phase 3: which of the requested quantizations become true.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quadrant/engine/plan.hpp"
#include "quadrant/engine/propagation.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Why a value that phase 1 found Quantizable was selected or not.
enum class SelectionCause : std::uint8_t {
  selected,
  not_eligible,   ///< phase 1 said no
  not_requested,  ///< nobody downstream asks for it
  refused,        ///< requests came, but none could be accepted
  unavailable,    ///< the parents became something else
  no_gain,        ///< what it costs is more than what it gains
  unused,         ///< every user that asked for it chose otherwise
  not_planned,    ///< a given plan does not list it
};

/// One value's decision.
struct Choice {
  SelectionCause cause = SelectionCause::not_eligible;
  RequestId request = no_request;    ///< the selected request
  RequestId runner_up = no_request;  ///< the best available one that lost
  Gain gain;  ///< of the selected request, or of the best that had too little
  Gain runner_up_gain;
};

/// The result of phase 3.
class Selection {
 public:
  explicit Selection(std::shared_ptr<const ValueNumbering> numbering)
      : choices_(std::move(numbering), Choice{}) {}

  [[nodiscard]] const Choice& operator[](Value value) const noexcept { return choices_[value]; }
  [[nodiscard]] Choice& operator[](Value value) noexcept { return choices_[value]; }
  [[nodiscard]] bool is_selected(Value value) const noexcept {
    return choices_[value].cause == SelectionCause::selected;
  }
  /// Whether `user` takes operand `operand` in its quantized form.
  [[nodiscard]] bool takes_quantized(const GraphView& graph, const RequestGraph& requests,
                                     NodeId user, std::uint32_t operand) const noexcept;
  /// The uses of `value` that read it in float, by user and operand.
  [[nodiscard]] std::vector<Use> float_uses(const GraphView& graph, const RequestGraph& requests,
                                            Value value) const;

  /// The worth of the decision itself: every realized benefit and every stored value once. Never a
  /// sum of flows.
  Gain objective;

 private:
  ValueMap<Choice> choices_;
};

/// Walks forward and takes the requested and available constraint of largest gain;
/// equal gains are decided by the constraints' order. Values that nobody takes after all are given
/// back. Linear; independent of the order in which the graph was built.
[[nodiscard]] Selection select_greedy(const GraphView& graph, const std::vector<NodeId>& order,
                                      const Eligibility& eligibility, RequestGraph& requests,
                                      const GainModel& gains);

/// Selects exactly what `plan` lists. An entry that names no value, or that the graph does not
/// allow, is `impossible` and says why.
[[nodiscard]] Expected<Selection> select_planned(const GraphView& graph,
                                                 const std::vector<NodeId>& order,
                                                 const Registry& registry,
                                                 const Eligibility& eligibility,
                                                 RequestGraph& requests, const GainModel& gains,
                                                 const Plan& plan);

}  // namespace quadrant::inline v0
