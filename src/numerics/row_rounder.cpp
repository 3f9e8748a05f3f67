#include "numerics/row_rounder.hpp"

#include <algorithm>
#include <functional>

#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr double most_shrinkage = 0.875;  // of which too little would be left

}  // namespace

RowRounder::Errors RowRounder::errors(std::span<const double> reals) const {
  const std::size_t n = matrix.columns;
  std::vector<double> difference(n * rows);
  std::ranges::transform(weights, reals, difference.begin(), std::minus<>());
  Errors found{std::vector<double>(n * rows), std::vector<double>(rows)};
  kernels::add_product({.a = matrix.moments.data(),
                        .a_row = n,
                        .b = difference.data(),
                        .b_row = rows,
                        .out = found.products.data(),
                        .out_row = rows,
                        .rows = n,
                        .inner = n,
                        .columns = rows});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t row = 0; row < rows; ++row) {
      found.sums[row] += difference[i * rows + row] * found.products[i * rows + row];
    }
  }
  return found;
}

std::vector<double> RowRounder::measured(std::vector<double> by_estimate, double damping,
                                         std::span<const double> reals) const {
  if (matrix.shrinkage > most_shrinkage) return errors(reals).sums;
  for (std::size_t column = 0; column < matrix.columns; ++column) {
    const double more = matrix.shrinkage * matrix.moment(column) + damping;
    for (std::size_t row = 0; row < rows; ++row) {
      const double error = weights[column * rows + row] - reals[column * rows + row];
      by_estimate[row] -= more * error * error;
    }
  }
  for (double& sum : by_estimate) sum = std::max(sum / (1 - matrix.shrinkage), 0.0);
  return by_estimate;
}

std::vector<double> RowRounder::doubts(std::span<const double> reals, double part) const {
  std::vector<double> found(rows);
  const double whole = part / (1 - std::min(matrix.shrinkage, most_shrinkage));
  for (std::size_t column = 0; column < matrix.columns; ++column) {
    const double counted = whole * (matrix.moment(column) + matrix.damping);
    for (std::size_t row = 0; row < rows; ++row) {
      const double error = weights[column * rows + row] - reals[column * rows + row];
      found[row] += counted * error * error;
    }
  }
  return found;
}

void RowRounder::take(std::span<const std::uint8_t> is_taken, const Codes& codes) {
  for (std::size_t i = 0; i < now.codes.size(); ++i) {
    if (is_taken[i % rows] == 0) continue;
    now.codes[i] = codes.codes[i];
    now.reals[i] = codes.reals[i];
  }
}

}  // namespace quadrant::inline v0
