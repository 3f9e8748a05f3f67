// Some rows of one matrix of a weight, and what their codes are: what rounds them changes these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/code_grid.hpp"
#include "numerics/rounded_matrix.hpp"

namespace quadrant::inline v0 {

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
