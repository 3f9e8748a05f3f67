// Values that must not be quantized differently.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// The form that each coupling of the problem takes; `float_form`: none. It is the form of a member
/// that came quantized, else the planned one (`planned` may be null), else the one of which all
/// members together gain most.
[[nodiscard]] std::vector<ConstraintId> find_coupling_forms(const SelectionProblem& problem,
                                                            const ValueMap<RequestId>* planned);
/// The one quantized form that each coupled value may be made in, where its couplings take `forms`;
/// `float_form`: none.
[[nodiscard]] std::unordered_map<Value, ConstraintId> find_coupled_forms(
    const SelectionProblem& problem, std::span<const ConstraintId> forms);

/// Of couplings whose members would be made of different weights, those weights but for the ones of
/// one member, and why each must stay float: scales come from the contents of a weight, so two of
/// them come to two types. That member is one that came quantized, which none can keep from being
/// so, or else the one that is made of fewest, by name the first. Where a scheme finds parameters
/// of its own (`resolve`), values are made of weights by moves alone.
[[nodiscard]] Vetoes weights_that_meet(const SelectionProblem& problem, const Selection& selection);

/// Which values operations read. Walks the uses of each node that is asked for once.
class ReadValues {
 public:
  explicit ReadValues(const GraphView& graph) : graph_(graph) {}
  [[nodiscard]] bool contains(Value value);

 private:
  const GraphView& graph_;
  std::unordered_set<NodeId> known_;
  std::unordered_set<Value> read_;
};

/// Whether some of the members are made in codes, and others are not.
[[nodiscard]] bool is_torn(const Selection& selection, std::span<const Value> members);

}  // namespace quadrant::inline v0
