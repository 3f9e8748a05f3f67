#include "numerics/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t block = 96;

/// Some columns of the matrix from the diagonal on, transposed: rows side by side.
struct Panel {
  std::size_t columns = 0;
  std::size_t rows = 0;
  std::vector<double> numbers;

  // Not a power of two apart, or the cache holds few of them.
  [[nodiscard]] std::size_t apart() const noexcept { return rows + 8; }
  [[nodiscard]] double* column(std::size_t column) noexcept {
    return numbers.data() + column * apart();
  }
};

// Once all columns before are taken off.
void factorize_panel(Panel& panel, double least) {
  std::vector<double> above(panel.columns);
  for (std::size_t column = 0; column < panel.columns; ++column) {
    double* const l = panel.column(column);
    for (std::size_t k = 0; k < column; ++k) above[k] = -panel.column(k)[column];
    kernels::add_product({.a = above.data(),
                          .a_row = column,
                          .b = panel.column(0) + column,
                          .b_row = panel.apart(),
                          .out = l + column,
                          .out_row = panel.apart(),
                          .rows = 1,
                          .inner = column,
                          .columns = panel.rows - column});
    l[column] = std::sqrt(std::max(l[column], least));
    for (std::size_t row = column + 1; row < panel.rows; ++row) l[row] /= l[column];
  }
}

}  // namespace

void factorize(std::span<double> matrix, std::size_t n, double least, Executor& executor) {
  Panel panel;
  for (std::size_t first = 0; first < n; first += block) {
    panel.columns = std::min(block, n - first);
    panel.rows = n - first;
    panel.numbers.resize(panel.columns * panel.apart());
    double* const corner = matrix.data() + first * n + first;
    for (std::size_t row = 0; row < panel.rows; ++row) {
      for (std::size_t k = 0; k < panel.columns; ++k) panel.column(k)[row] = corner[row * n + k];
    }
    factorize_panel(panel, least);
    for (std::size_t row = 0; row < panel.rows; ++row) {
      for (std::size_t k = 0; k < std::min(panel.columns, row + 1); ++k) {
        corner[row * n + k] = panel.column(k)[row];
        panel.column(k)[row] *= -1;  // to be taken off
      }
    }
    const std::size_t rest = panel.rows - panel.columns;
    executor.parallel_for((rest + block - 1) / block, [&](std::size_t part) {
      const std::size_t top = panel.columns + part * block;
      const std::size_t rows = std::min(block, panel.rows - top);
      kernels::add_product({.a = corner + top * n,
                            .a_row = n,
                            .b = panel.column(0) + panel.columns,
                            .b_row = panel.apart(),
                            .out = corner + top * n + panel.columns,
                            .out_row = n,
                            .rows = rows,
                            .inner = panel.columns,
                            .columns = top + rows - panel.columns});
    });
  }
}

}  // namespace quadrant::inline v0
