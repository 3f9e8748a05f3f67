// What all rows of one matrix of a weight are rounded by.
#pragma once

#include <cstddef>
#include <vector>

#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Columns of one section have moments with one another; those of two sections count as 0. Tables
/// of them are [columns, section], each column with those of its own section.
struct RoundedMatrix {
  /// `shrinkage`: RoundWeightsOptions.
  RoundedMatrix(const SecondMoments& of, std::size_t matrix, double shrinkage);
  RoundedMatrix() = default;

  std::size_t columns = 0;
  std::size_t section = 0;      ///< columns of one, neighbours; the last may have fewer
  std::vector<double> moments;  ///< E[x x^T] as measured; M, the estimate, is that with
  double shrinkage = 0;         ///< this part of what is off the diagonal taken away
  double unit = 0;              ///< mean of the diagonal; 0: there are no inputs
  std::vector<float> in_units;  ///< `moments` in units of that, in single precision
  double damping = 0;           ///< what M has more on its diagonal where errors are fed back
  std::vector<std::size_t>
      order;  ///< of columns there: of each section, the first is rounded first
  /// How columns make up for errors of those before, in that order: what is below the diagonal.
  /// Empty: there is no feedback.
  std::vector<float> feedback;
  std::vector<double> pivots;  ///< how what is left of the error of a column counts, squared

  /// The section of a column.
  [[nodiscard]] std::size_t first_of(std::size_t column) const noexcept {
    return column - column % section;
  }
  [[nodiscard]] std::size_t end_of(std::size_t column) const noexcept {
    const std::size_t end = first_of(column) + section;
    return end < columns ? end : columns;
  }
  [[nodiscard]] double moment(std::size_t column) const noexcept {
    return moments[column * section + column % section];
  }

  /// Fills in `damping`, `order`, `feedback` and `pivots`.
  void find_feedback(Executor& executor);

 private:
  void find_feedback(std::size_t first, std::size_t size, Executor& executor);
};

}  // namespace quadrant::inline v0
