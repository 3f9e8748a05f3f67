// Values that must not be quantized differently.
#pragma once

#include <unordered_map>

#include "quadrant/engine/selection.hpp"

namespace quadrant::inline v0 {

/// The one quantized form that each coupled value may be made in; `float_form`: none. It is the
/// form of a member that came quantized, else the planned one (`planned` may be null), else the one
/// of which all members together gain most.
[[nodiscard]] std::unordered_map<Value, ConstraintId> find_coupled_forms(
    const SelectionProblem& problem, const ValueMap<RequestId>* planned);

}  // namespace quadrant::inline v0
