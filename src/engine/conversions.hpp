// How a value is had in every form in which it is read.
#pragma once

#include <vector>

#include "engine/prices.hpp"
#include "quadrant/engine/selection.hpp"

namespace quadrant::inline v0 {

/// The cheapest conversions that give each reader of `value` the form that `selection` says it
/// reads. One that others start from stands first.
[[nodiscard]] std::vector<Conversion> find_conversions(const SelectionProblem& problem,
                                                       const Prices& prices,
                                                       const Selection& selection, Value value);

}  // namespace quadrant::inline v0
