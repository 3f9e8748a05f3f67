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
  std::vector<double> moments;          ///< E[x x^T], as estimated
  std::vector<double> factor;           ///< lower triangular; empty: there is no feedback
  std::vector<std::size_t> order;       ///< of columns in `factor`; the last is rounded first
  std::vector<std::uint32_t> block_of;  ///< of each column: which of the row's groups it is in
  std::vector<std::vector<std::uint32_t>> blocks;  ///< the columns of each
};

/// Several rows of it, with what their codes are now.
class RowRounder {
 public:
  /// `weights`, `reals` and `codes` are [rows, columns]; `grids` are [rows, blocks].
  RowRounder(const RoundedMatrix& matrix, std::size_t rows) : matrix_(matrix), rows_(rows) {}

  std::vector<double> weights;
  std::vector<CodeGrid> grids;
  struct Codes {
    std::vector<std::uint32_t> codes;
    std::vector<double> reals;
  };
  Codes now;

  /// e M e^T of each row, for codes that stand for `reals`, and the matrix [columns, columns] M.
  [[nodiscard]] std::vector<double> errors(std::span<const double> reals,
                                           std::span<const double> moments) const;
  /// Error feedback over all columns, from the scales of `grids`.
  [[nodiscard]] Codes feedback() const;
  /// Codes, and, with `rounded`, scales, one at a time. `rounded(scale)` is what can be stored.
  /// Returns whether it ended because there was nothing left.
  bool descend(int most_sweeps, const std::function<float(double)>& rounded);

 private:
  [[nodiscard]] const CodeGrid& grid(std::size_t row, std::size_t column) const noexcept {
    return grids[row * matrix_.blocks.size() + matrix_.block_of[column]];
  }
  /// What the error of each row is multiplied with the moments: [rows, columns].
  [[nodiscard]] std::vector<double> gradients() const;
  bool sweep_codes(std::vector<double>& gradients);
  bool sweep_scales(std::vector<double>& gradients, const std::function<float(double)>& rounded);

  const RoundedMatrix& matrix_;
  std::size_t rows_ = 0;
};

}  // namespace quadrant::inline v0
