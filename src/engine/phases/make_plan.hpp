// A selection, put down by name.
#pragma once

#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// The plan of a selection. Linear in values and the letters of their names.
[[nodiscard]] Plan make_plan(const SelectionProblem& problem, SelectionPolicy policy,
                             const Selection& selection, const ParameterTable& parameters);

}  // namespace quadrant::inline v0
