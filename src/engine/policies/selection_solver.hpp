// What the two policies need of each other.
#pragma once

#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// The greedy policy's first walk, for its labels and reasons alone: nothing is given back, no
/// conversions are found, and its objective means nothing.
[[nodiscard]] Selection walk_once(const SelectionProblem& problem);

/// The decision that is worth most among those that make each value by its request in `planned`, or
/// in float; `walked` is one that does. Has no bound.
[[nodiscard]] Selection select_reads(const SelectionProblem& problem,
                                     const ValueMap<RequestId>& planned, Selection walked);

}  // namespace quadrant::inline v0
