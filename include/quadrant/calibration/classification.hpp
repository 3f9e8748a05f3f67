// How often a classifier is right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/ir/tensor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Rows of scores whose class is known, and how many have it on top.
struct ClassificationScore {
  std::uint64_t rows = 0;
  std::uint64_t top1 = 0;  ///< the class has the highest score
  std::uint64_t top5 = 0;  ///< one of the five highest

  [[nodiscard]] double top1_share() const noexcept;  ///< 0 without rows
  [[nodiscard]] double top5_share() const noexcept;

  friend bool operator==(const ClassificationScore&, const ClassificationScore&) = default;
};

/// Adds rows: `scores` are `[..., classes]`, real, with a label for each row, in order. Of equal
/// scores the first counts as the higher; NaN as lower than all. Negative labels are passed over.
/// `usage` when the number of labels is not that of the rows, or one is no class.
[[nodiscard]] Expected<void> add_scores(ClassificationScore& score, const Tensor& scores,
                                        std::span<const std::int64_t> labels);

/// The class with the highest score of each row, the first of equal ones; -1 where all are NaN.
[[nodiscard]] Expected<std::vector<std::int64_t>> top_classes(const Tensor& scores);

/// How many rows of scores a tensor `[..., classes]` has.
[[nodiscard]] std::int64_t row_count(const Tensor& scores) noexcept;

}  // namespace quadrant::inline v0
