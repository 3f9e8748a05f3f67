// Some rows of one matrix of a weight, and what their codes are: what rounds them changes these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/code_grid.hpp"

namespace quadrant::inline v0 {

/// What all rows of a matrix have in common.
struct RoundedMatrix {
  std::size_t columns = 0;
  std::vector<double> moments;     ///< E[x x^T] as measured; M, the estimate, is that with
  double shrinkage = 0;            ///< this part of what is off the diagonal taken away
  double unit = 0;                 ///< mean of the diagonal; 0: there are no inputs
  std::vector<float> in_units;     ///< `moments` in units of that, in single precision
  double damping = 0;              ///< what M has more on its diagonal where errors are fed back
  std::vector<std::size_t> order;  ///< of columns there, the first is rounded first
  /// How columns make up for errors of those before, [columns, columns] in that order: what is
  /// below the diagonal. Empty: there is no feedback.
  std::vector<float> feedback;
  std::vector<double> pivots;  ///< how what is left of the error of a column counts, squared

  [[nodiscard]] double moment(std::size_t column) const noexcept {
    return moments[column * columns + column];
  }
};

/// The groups of a row, which are where those of all rows of the matrix are.
struct RowBlocks {
  std::vector<std::uint32_t> of_column;  ///< which of them a column is in
  std::vector<std::vector<std::uint32_t>> columns;
};

/// All numbers are [columns, rows]: what is done to a column is done to its rows side by side.
struct RowRounder {
  static constexpr std::size_t most_rows = 64;

  const RoundedMatrix& matrix;
  const RowBlocks& blocks;
  std::size_t rows = 0;  ///< `most_rows` at most
  std::vector<float> weights;
  std::vector<CodeGrid> grids;  ///< [blocks, rows]
  struct Codes {
    std::vector<std::uint32_t> codes;
    std::vector<float> reals;
  };
  Codes now;

  [[nodiscard]] const CodeGrid& grid(std::size_t row, std::size_t column) const noexcept {
    return grids[blocks.of_column[column] * rows + row];
  }
  /// e E[x x^T] e^T of each row, with e for the errors of codes that stand for `reals`.
  [[nodiscard]] std::vector<double> errors(std::span<const float> reals) const;
  /// The same from what they would be by M with so much more on its diagonal.
  [[nodiscard]] std::vector<double> measured(std::vector<double> by_estimate, double damping,
                                             std::span<const float> reals) const;
  /// How far off single precision may be in what `measured` returns: `part`, of each product about,
  /// of what the errors would be if columns had nothing to do with one another.
  [[nodiscard]] std::vector<double> doubts(std::span<const float> reals, double part) const;
  /// The error of one weight.
  [[nodiscard]] double error(std::size_t i, std::span<const float> reals) const noexcept {
    return static_cast<double>(weights[i]) - static_cast<double>(reals[i]);
  }
  /// Of the rows for which `is_taken` is not 0.
  void take(std::span<const std::uint8_t> is_taken, const Codes& codes);
};

}  // namespace quadrant::inline v0
