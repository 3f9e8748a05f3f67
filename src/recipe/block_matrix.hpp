// Blocks of a weight as a matrix: channels by blocks of a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quadrant::inline v0 {

/// Of the orders in which files list blocks, one goes channel by channel; the other one is that of
/// the tensor's own axes.
struct BlockMatrix {
  std::size_t channels = 1;
  std::size_t blocks = 1;         ///< of each channel
  bool blocks_are_outer = false;  ///< the axis of the blocks comes before that of the channels

  /// Where a block of a channel is in the tensor's order.
  [[nodiscard]] std::size_t index(std::size_t channel, std::size_t block) const noexcept {
    return blocks_are_outer ? block * channels + channel : channel * blocks + block;
  }
};

/// Of a grid of blocks along `block_axis`, one of its own. Empty where more than one other axis has
/// several blocks.
[[nodiscard]] inline std::optional<BlockMatrix> block_matrix(std::span<const std::int64_t> grid,
                                                             std::int64_t block_axis) noexcept {
  const auto axis = static_cast<std::size_t>(block_axis);
  BlockMatrix matrix;
  matrix.blocks = static_cast<std::size_t>(grid[axis]);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (i == axis || grid[i] == 1) continue;
    if (matrix.channels != 1) return std::nullopt;
    matrix.channels = static_cast<std::size_t>(grid[i]);
    matrix.blocks_are_outer = axis < i;
  }
  return matrix;
}

}  // namespace quadrant::inline v0
