// The matrix of small rank that is nearest to another one, as two factors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A, [rows, rank], and B, [rank, columns], row by row.
struct LowRankFactors {
  std::size_t rank = 0;
  std::vector<double> left;
  std::vector<double> right;
};

/// Of D, `matrix`, row by row, the A B of rank `rank` at most with the least |L^T (D - A B)|, a sum
/// of squares (Eckart and Young, Psychometrika 1, 1936): with L L^T = E[x x^T], the least mean
/// squared x (D - A B). `root`: L, a lower triangle of as many rows as D, or what is in blocks on
/// its diagonal, as `SecondMoments::block_factor` has it; empty: the identity. With the first right
/// singular vectors V of L^T D, it is A B = D V V^T, which needs no inverse of L, and which,
/// whatever L is, is no farther from D than 0 is: what the samples say little of is no worse than
/// before. A term's two vectors have the same length. `rank` is at least 1. Time: n^3 for the
/// lesser n of rows and columns, some ten times, and products; memory: four such matrices, and with
/// a root one as large as D. One thread. `impossible` where numbers are not finite.
[[nodiscard]] Expected<LowRankFactors> low_rank_factors(std::span<const double> matrix,
                                                        std::size_t columns,
                                                        std::span<const double> root,
                                                        std::size_t rank);

/// A B.
[[nodiscard]] std::vector<double> product_of(const LowRankFactors& factors);

/// Takes A B off a matrix, in its place.
void subtract_product(std::span<double> matrix, const LowRankFactors& factors);

/// The sum of e E[x x^T] e^T over the columns e of `matrix`, [rows, columns]. `moments`: [rows,
/// rows], or what is in blocks on its diagonal, as `SecondMoments::block_means` has it; empty: the
/// identity. Memory: some rows.
[[nodiscard]] double weighted_squares(std::span<const double> matrix, std::size_t columns,
                                      std::span<const double> moments);

}  // namespace quadrant::inline v0
