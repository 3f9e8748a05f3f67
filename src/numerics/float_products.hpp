// Products of large matrices in single precision, whose errors do not grow with the matrices.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {

/// How many rows of a product, and how many columns, `add_long_product` computes at most.
constexpr std::size_t most_of_product = 64;

/// out += a b, where `product` has all but `out`, [rows, columns] without gaps: sums of some
/// products, and these are added up in double.
void add_long_product(kernels::MatrixProduct<float> product, double* out);

/// A power of two; in units of it numbers up to `magnitude` are none that single precision cannot
/// hold.
[[nodiscard]] double power_of_two_near(double magnitude) noexcept;

/// Such a power for each column of `x`, [n, rows].
[[nodiscard]] std::vector<double> units_of(std::span<const float> x, std::size_t rows);

/// x A x^T of each column of `x`, [n, rows], with rows of at most `most_of_product`. A is
/// symmetric, and 0 outside of squares of `section` numbers along its diagonal, which lie one below
/// the other, the last cut off: [n, section]. Of a square, row i is looked at up to `seen_of_row(i,
/// size)`.
[[nodiscard]] std::vector<double> quadratic_forms(std::span<const float> a, std::size_t section,
                                                  std::span<const float> x, std::size_t rows);
[[nodiscard]] constexpr std::size_t seen_of_row(std::size_t row, std::size_t n) noexcept {
  const std::size_t end = (row / most_of_product + 1) * most_of_product;
  return end < n ? end : n;
}

}  // namespace quadrant::inline v0
