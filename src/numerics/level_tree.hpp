// The scales of a tensor in a number format, level by level, and which of them a group has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/groups.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

/// Levels of scales, or of minima, above the innermost groups of a tensor. All numbers are 1 at
/// first.
class LevelTree {
 public:
  LevelTree() = default;
  /// `blocks`: the innermost groups, which lie in those of all levels.
  [[nodiscard]] static Expected<LevelTree> of(std::span<const ScaleLevel> levels,
                                              const Shape& shape, const Groups& blocks);

  [[nodiscard]] std::size_t size() const noexcept { return levels_.size(); }
  [[nodiscard]] const ScaleLevel& level(std::size_t i) const noexcept { return levels_[i]; }
  [[nodiscard]] std::size_t groups(std::size_t level) const noexcept {
    return numbers[level].size();
  }
  /// The group of a level that holds a block.
  [[nodiscard]] std::size_t group(std::size_t level, std::size_t block) const noexcept {
    if (one_[level]) return 0;
    return owners_[level].empty() ? block : owners_[level][block];
  }
  /// Of the first `count` levels, multiplied in float32 as `decode` does; 1 for none.
  [[nodiscard]] float product(std::size_t block, std::size_t count) const noexcept {
    float result = count == 0 ? 1.0F : numbers[0][group(0, block)];
    for (std::size_t i = 1; i < count; ++i) result *= numbers[i][group(i, block)];
    return result;
  }
  /// Of all levels above the innermost.
  [[nodiscard]] float outer(std::size_t block) const noexcept {
    return product(block, levels_.size() - 1);
  }

  std::vector<std::vector<float>> numbers;  ///< by level and group

 private:
  std::vector<ScaleLevel> levels_;
  std::vector<std::vector<std::uint32_t>> owners_;  ///< none: one group, or each block is one
  std::vector<bool> one_;
};

/// For each of `blocks`, the group of that granularity that it lies in.
[[nodiscard]] Expected<std::vector<std::uint32_t>> owners_of(const Granularity& granularity,
                                                             const Shape& shape,
                                                             const Groups& blocks);

}  // namespace quadrant::inline v0
