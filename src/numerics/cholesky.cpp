#include "numerics/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t block = 64;

// Columns `first` to `end` of the rows from `first` on, once all columns before are taken off.
void factorize_columns(std::span<double> matrix, std::size_t n, std::size_t first, std::size_t end,
                       double least) {
  for (std::size_t row = first; row < n; ++row) {
    double* const l = matrix.data() + row * n;
    for (std::size_t column = first; column < std::min(end, row + 1); ++column) {
      const double* const above = matrix.data() + column * n;
      double sum = l[column];
      for (std::size_t k = first; k < column; ++k) sum -= l[k] * above[k];
      l[column] = column == row ? std::sqrt(std::max(sum, least)) : sum / above[column];
    }
  }
}

}  // namespace

void factorize(std::span<double> matrix, std::size_t n, double least, Executor& executor) {
  std::vector<double> across;  // of the block's columns, those below it, with their sign changed
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t end = std::min(first + block, n);
    factorize_columns(matrix, n, first, end, least);
    const std::size_t rest = n - end;
    if (rest == 0) return;
    across.resize(block * rest);
    for (std::size_t row = 0; row < rest; ++row) {
      for (std::size_t k = first; k < end; ++k) {
        across[(k - first) * rest + row] = -matrix[(end + row) * n + k];
      }
    }
    executor.parallel_for((rest + block - 1) / block, [&](std::size_t part) {
      const std::size_t top = part * block;
      const std::size_t rows = std::min(block, rest - top);
      kernels::add_product({.a = matrix.data() + (end + top) * n + first,
                            .a_row = n,
                            .b = across.data(),
                            .b_row = rest,
                            .out = matrix.data() + (end + top) * n + end,
                            .out_row = n,
                            .rows = rows,
                            .inner = end - first,
                            .columns = top + rows});
    });
  }
}

}  // namespace quadrant::inline v0
