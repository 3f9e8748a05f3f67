// Sums and products of counts that stay at the largest number instead of overflowing.
#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

namespace quadrant::inline v0 {

template <std::integral T>
inline constexpr T saturated = std::numeric_limits<T>::max();

/// `a + b`, of numbers of 0 or more.
template <std::integral T>
[[nodiscard]] constexpr T saturating_add(T a, std::type_identity_t<T> b) noexcept {
  T sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? saturated<T> : sum;
}

/// `a * b`, of numbers of 0 or more.
template <std::integral T>
[[nodiscard]] constexpr T saturating_multiply(T a, std::type_identity_t<T> b) noexcept {
  T product = 0;
  return __builtin_mul_overflow(a, b, &product) ? saturated<T> : product;
}

}  // namespace quadrant::inline v0
