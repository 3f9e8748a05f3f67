// Error feedback: column after column is rounded, those that follow making up for the errors.
#pragma once

#include <vector>

#include "numerics/row_rounder.hpp"

namespace quadrant::inline v0 {

struct FedBack {
  RowRounder::Codes codes;
  std::vector<double> errors;  ///< e E[x x^T] e^T of each row
};

/// Over all columns of the rows, whose matrix has `feedback`, with their grids as they are.
/// Products are computed in single precision: the errors have six digits.
[[nodiscard]] FedBack feed_back(const RowRounder& rows);

}  // namespace quadrant::inline v0
