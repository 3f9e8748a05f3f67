// Descent: one code at a time becomes what is best with all others as they are.
#pragma once

#include <functional>
#include <vector>

#include "numerics/row_rounder.hpp"

namespace quadrant::inline v0 {

/// Codes, and, with `rounded`, scales, one at a time, until no change is better by the estimate, or
/// after `most_sweeps`. `rounded(scale)` is what can be stored. Returns e E[x x^T] e^T of each row.
/// Products are computed in single precision: the errors have six digits.
[[nodiscard]] std::vector<double> descend(RowRounder& rows, int most_sweeps,
                                          const std::function<float(double)>& rounded);

}  // namespace quadrant::inline v0
