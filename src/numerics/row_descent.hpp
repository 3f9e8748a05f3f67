// Descent: one code at a time becomes what is best with all others as they are.
#pragma once

#include <functional>
#include <vector>

#include "numerics/row_rounder.hpp"

namespace quadrant::inline v0 {

/// Codes, and, with `rounded`, scales, one at a time, until no change is better by the estimate, or
/// after `most_sweeps`. `rounded(scale)` is what can be stored; `products`: those of the errors as
/// they are. Returns e E[x x^T] e^T of each row.
[[nodiscard]] std::vector<double> descend(RowRounder& rows, std::vector<double> products,
                                          int most_sweeps,
                                          const std::function<float(double)>& rounded);

}  // namespace quadrant::inline v0
