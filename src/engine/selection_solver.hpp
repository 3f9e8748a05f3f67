// How values are read, once it is decided how they are made.
#pragma once

#include "quadrant/engine/selection.hpp"

namespace quadrant::inline v0 {

/// The decision that is worth most among those that make each value by its request in `planned`, or
/// in float; `walked` is one that does. Has no bound.
[[nodiscard]] Selection select_reads(const SelectionProblem& problem,
                                     const ValueMap<RequestId>& planned, Selection walked);

}  // namespace quadrant::inline v0
