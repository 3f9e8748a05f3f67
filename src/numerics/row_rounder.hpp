// Codes of some rows of one matrix of a weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "numerics/code_grid.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

/// What all rows of a matrix have in common.
struct RoundedMatrix {
  std::size_t columns = 0;
  std::vector<double> moments;     ///< E[x x^T] as measured; M, the estimate, is that with
  double shrinkage = 0;            ///< this part of what is off the diagonal taken away
  std::vector<double> factor;      ///< lower triangular; empty: there is no feedback
  std::vector<std::size_t> order;  ///< of columns in `factor`; the last is rounded first
};

/// The groups of a row, which are where those of all rows of the matrix are.
struct RowBlocks {
  std::vector<std::uint32_t> of_column;  ///< which of them a column is in
  std::vector<std::vector<std::uint32_t>> columns;
};

/// Several rows of it, with what their codes are now.
class RowRounder {
 public:
  /// Of both, which outlive it. `weights`, `reals` and `codes` are [rows, columns]; `grids` are
  /// [rows, blocks].
  RowRounder(const RoundedMatrix& matrix, const RowBlocks& blocks, std::size_t rows)
      : matrix_(matrix), blocks_(blocks), rows_(rows) {}

  std::vector<double> weights;
  std::vector<CodeGrid> grids;
  struct Codes {
    std::vector<std::uint32_t> codes;
    std::vector<double> reals;
  };
  Codes now;

  /// With e for the errors of each row, [rows, columns], e E[x x^T], and its product with e.
  struct Errors {
    std::vector<double> products;
    std::vector<double> sums;
  };
  /// Of codes that stand for `reals`.
  [[nodiscard]] Errors errors(std::span<const double> reals) const;
  /// Error feedback over all columns, from the scales of `grids`.
  [[nodiscard]] Codes feedback() const;
  /// Of one row.
  void take(std::size_t row, const Codes& codes);
  /// Codes, and, with `rounded`, scales, one at a time. `rounded(scale)` is what can be stored;
  /// `products`: those of the errors now.
  void descend(std::vector<double> products, int most_sweeps,
               const std::function<float(double)>& rounded);

 private:
  [[nodiscard]] const CodeGrid& grid(std::size_t row, std::size_t column) const noexcept {
    return grids[row * blocks_.columns.size() + blocks_.of_column[column]];
  }
  /// Goes through `rows`, and leaves those in which something changed.
  void sweep_codes(std::vector<double>& gradients, std::vector<std::size_t>& rows);
  /// Of one group.
  struct BlockMoments {
    std::vector<double> levels;    ///< what its codes stand for before scales, [rows, columns]
    std::vector<double> products;  ///< of these with the estimate, [rows, columns of the matrix]
  };
  [[nodiscard]] BlockMoments moments_of(std::size_t block) const;
  /// Of all rows; returns those in which something changed.
  std::vector<std::size_t> sweep_scales(std::vector<double>& gradients,
                                        const std::function<float(double)>& rounded);

  const RoundedMatrix& matrix_;
  const RowBlocks& blocks_;
  std::size_t rows_ = 0;
};

}  // namespace quadrant::inline v0
