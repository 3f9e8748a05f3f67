// How much an element counts by its distance from where a tensor is read.
#pragma once

#include <algorithm>

namespace quadrant::inline v0::interpreted {

/// A straight line between two neighbours.
template <class T>
[[nodiscard]] constexpr T linear_curve(T distance) noexcept {
  return std::max(T{0}, 1 - distance);
}

/// Keys' curve: a cubic polynomial up to a distance of 1, and another up to 2 (Cubic Convolution
/// Interpolation for Digital Image Processing, 1981).
template <class T>
[[nodiscard]] constexpr T cubic_curve(T distance, T a) noexcept {
  const T x = distance;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

}  // namespace quadrant::inline v0::interpreted
