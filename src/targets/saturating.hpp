// Sums and products that stay at the largest number instead of starting from 0 again.
#pragma once

#include <cstdint>
#include <limits>

namespace quadrant::inline v0 {

inline constexpr std::uint64_t saturated = std::numeric_limits<std::uint64_t>::max();

[[nodiscard]] constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? saturated : sum;
}

[[nodiscard]] constexpr std::uint64_t saturating_multiply(std::uint64_t a,
                                                          std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? saturated : product;
}

}  // namespace quadrant::inline v0
