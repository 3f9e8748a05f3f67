// The smallest and the largest of floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace quadrant::inline v0 {

struct FloatRange {
  float min = 0;
  float max = 0;

  [[nodiscard]] bool is_finite() const noexcept { return std::isfinite(min) && std::isfinite(max); }
  [[nodiscard]] float largest_magnitude() const noexcept {
    return std::max(std::fabs(min), std::fabs(max));
  }
  friend bool operator==(const FloatRange&, const FloatRange&) = default;
};

/// The least range that holds both.
[[nodiscard]] inline FloatRange united(const FloatRange& a, const FloatRange& b) noexcept {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/// Of at least one value. Negative zero becomes zero. NaN lies outside of the infinities, so that a
/// range is finite when all values are.
[[nodiscard]] FloatRange range_of(std::span<const float> values) noexcept;

}  // namespace quadrant::inline v0
