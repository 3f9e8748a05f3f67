#include "transforms/hadamard.hpp"

#include <array>

namespace quadrant::inline v0 {

std::int64_t rotation_block(std::int64_t width) noexcept {
  std::int64_t block = 1;
  for (; width % 4 == 0; width /= 4) block *= 4;
  return block;
}

void rotate_along(std::span<double> values, const AxisView& axis, std::int64_t block) noexcept {
  for (std::size_t stride = 1; stride < static_cast<std::size_t>(block); stride *= 4) {
    // A group is four numbers that are `step` apart.
    const std::size_t step = stride * axis.inner;
    const std::size_t groups = axis.outer * axis.extent / (4 * stride);
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::size_t i = 0; i < step; ++i) {
        const std::size_t first = group * 4 * step + i;
        const std::array places{first, first + step, first + 2 * step, first + 3 * step};
        double half = 0;
        for (const std::size_t place : places) half += values[place] / 2;
        for (const std::size_t place : places) values[place] = half - values[place];
      }
    }
  }
}

}  // namespace quadrant::inline v0
