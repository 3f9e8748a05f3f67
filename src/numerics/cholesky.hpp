// Triangular factors of symmetric matrices.
#pragma once

#include <cstddef>
#include <span>

#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Replaces the lower triangle of a matrix of n rows, which is symmetric and positive definite, by
/// L with L L^T = A; what is above the diagonal is unspecified then. A pivot of less than `least`,
/// where rounding leaves no more, becomes that. n^3 / 3 multiplications, some blocks of them on
/// `executor`; the numbers do not depend on it.
void factorize(std::span<double> matrix, std::size_t n, double least, Executor& executor);

}  // namespace quadrant::inline v0
