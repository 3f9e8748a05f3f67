#include <bit>
#include <cstdint>
#include <limits>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {
namespace {

// Integers in the order of the floats; both zeros are neighbours. Unlike extremes of floats, those
// of integers may be found in any order, so that compilers vectorise the loop.
std::int32_t ordered_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

float from_ordered_bits(std::int32_t ordered) noexcept {
  return std::bit_cast<float>(ordered ^ ((ordered >> 31) & 0x7fffffff));
}

}  // namespace

FloatRange range_of(std::span<const float> values) noexcept {
  std::int32_t min = std::numeric_limits<std::int32_t>::max();
  std::int32_t max = std::numeric_limits<std::int32_t>::min();
  for (const float value : values) {
    const std::int32_t ordered = ordered_bits(value);
    min = std::min(min, ordered);
    max = std::max(max, ordered);
  }
  return {from_ordered_bits(min) + 0.0F, from_ordered_bits(max) + 0.0F};
}

}  // namespace quadrant::inline v0
