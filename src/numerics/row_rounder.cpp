#include "numerics/row_rounder.hpp"

#include <algorithm>

#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr double most_shrinkage = 0.875;  // of which too little would be left

}  // namespace

std::vector<double> RowRounder::errors(std::span<const float> reals) const {
  const std::size_t n = matrix.columns;
  std::vector<double> difference(n * rows);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = error(i, reals);
  std::vector<double> products(n * rows);
  for (std::size_t first = 0; first < n; first = matrix.end_of(first)) {
    const std::size_t size = matrix.end_of(first) - first;
    kernels::add_product({.a = matrix.moments.data() + first * matrix.section,
                          .a_row = matrix.section,
                          .b = difference.data() + first * rows,
                          .b_row = rows,
                          .out = products.data() + first * rows,
                          .out_row = rows,
                          .rows = size,
                          .inner = size,
                          .columns = rows});
  }
  std::vector<double> sums(rows);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t row = 0; row < rows; ++row) {
      sums[row] += difference[i * rows + row] * products[i * rows + row];
    }
  }
  return sums;
}

std::vector<double> RowRounder::measured(std::vector<double> by_estimate, double damping,
                                         std::span<const float> reals) const {
  if (matrix.shrinkage > most_shrinkage) return errors(reals);
  for (std::size_t column = 0; column < matrix.columns; ++column) {
    const double more = matrix.shrinkage * matrix.moment(column) + damping;
    for (std::size_t row = 0; row < rows; ++row) {
      const double e = error(column * rows + row, reals);
      by_estimate[row] -= more * e * e;
    }
  }
  for (double& sum : by_estimate) sum = std::max(sum / (1 - matrix.shrinkage), 0.0);
  return by_estimate;
}

std::vector<double> RowRounder::doubts(std::span<const float> reals, double part) const {
  std::vector<double> found(rows);
  const double whole = part / (1 - std::min(matrix.shrinkage, most_shrinkage));
  for (std::size_t column = 0; column < matrix.columns; ++column) {
    const double counted = whole * (matrix.moment(column) + matrix.damping);
    for (std::size_t row = 0; row < rows; ++row) {
      const double e = error(column * rows + row, reals);
      found[row] += counted * e * e;
    }
  }
  return found;
}

void RowRounder::take(std::span<const std::uint8_t> is_taken, const Codes& codes) {
  for (std::size_t first = 0; first < now.codes.size(); first += rows) {
    for (std::size_t row = 0; row < rows; ++row) {
      if (is_taken[row] == 0) continue;
      now.codes[first + row] = codes.codes[first + row];
      now.reals[first + row] = codes.reals[first + row];
    }
  }
}

}  // namespace quadrant::inline v0
