// The smallest and the largest of floats, and whether all are finite, in a form that vectorises.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quadrant::inline v0 {

// The bit pattern of a value without its sign: as integers these order as the magnitudes do, and
// infinity and NaN are above all others. Unlike a maximum of floats, one of integers may be
// reordered, so that compilers vectorise it.
[[nodiscard]] inline std::int32_t magnitude_bits(float value) noexcept {
  return std::bit_cast<std::int32_t>(value) & 0x7fffffff;
}

/// Whether none of `values` is NaN or infinite.
[[nodiscard]] inline bool are_finite(std::span<const float> values) noexcept {
  // Carried into the sign's place from infinity's bits on. A maximum would take more instructions.
  constexpr std::uint32_t above_infinity = 0x80000000 - 0x7f800000;
  std::uint32_t carries = 0;
  for (const float value : values) {
    carries |= static_cast<std::uint32_t>(magnitude_bits(value)) + above_infinity;
  }
  return (carries & 0x80000000) == 0;
}

/// min(w, 0) and max(w, 0) of finite values; each of a number of groups has its own.
class Extremes {
 public:
  explicit Extremes(std::size_t groups) : min_(groups), max_(groups) {}

  [[nodiscard]] std::size_t size() const noexcept { return min_.size(); }
  [[nodiscard]] float min(std::size_t group) const noexcept { return min_[group]; }
  [[nodiscard]] float max(std::size_t group) const noexcept { return max_[group]; }

  /// `values` belong to `group`.
  void add(std::size_t group, std::span<const float> values) noexcept {
    float min = min_[group];
    float max = max_[group];
    // Compilers may not reorder a minimum of floats, and so vectorise many side by side instead.
    constexpr std::size_t lanes = 64;
    if (values.size() >= 4 * lanes) {
      std::array<float, lanes> mins{};
      std::array<float, lanes> maxs{};
      for (; values.size() >= lanes; values = values.subspan(lanes)) {
        extend_each(mins.data(), maxs.data(), values.first(lanes));
      }
      min = std::min(min, std::ranges::min(mins));
      max = std::max(max, std::ranges::max(maxs));
    }
    constexpr std::size_t many = 32;
    if (values.size() < many) {
      for (const float value : values) extend(min, max, value);
    } else {
      // In few, as integers: a sign makes the integer negative, which is no maximum with 0.
      std::int32_t above = 0;
      std::int32_t below = 0;
      for (const float value : values) {
        above = std::max(above, std::bit_cast<std::int32_t>(value));
        below = std::max(below, std::bit_cast<std::int32_t>(-value));
      }
      extend(min, max, std::bit_cast<float>(above));
      extend(min, max, -std::bit_cast<float>(below));
    }
    min_[group] = min;
    max_[group] = max;
  }

  /// Value i belongs to group `first` + i.
  void add_each(std::size_t first, std::span<const float> values) noexcept {
    extend_each(min_.data() + first, max_.data() + first, values);
  }

 private:
  // In the order of operands that is one instruction each.
  static void extend(float& min, float& max, float value) noexcept {
    min = value < min ? value : min;
    max = value > max ? value : max;
  }

  // Of value i, its own.
  static void extend_each(float* __restrict min, float* __restrict max,
                          std::span<const float> values) noexcept {
    for (std::size_t i = 0; i < values.size(); ++i) extend(min[i], max[i], values[i]);
  }

  std::vector<float> min_;
  std::vector<float> max_;
};

}  // namespace quadrant::inline v0
