// The two 16-bit float types, one element at a time, on their bit patterns.
#pragma once

#include <bit>
#include <cstdint>

namespace quadrant::inline v0 {

// Bits are selected, not branched on, and no step goes through a subnormal float32: loops over the
// widening functions vectorise, and a caller's flush-to-zero mode cannot change a result.

/// All finite binary16 numbers are multiples of it.
inline constexpr float float16_spacing = 0x1p-24F;
inline constexpr float largest_float16 = 65504;

/// The value of IEEE 754 binary16 `bits`, exact; a NaN keeps its sign and payload.
[[nodiscard]] constexpr float widen_float16(std::uint16_t bits) noexcept {
  const std::uint32_t magnitude = bits & 0x7fffU;
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  // Both formats lay out exponent and mantissa alike: shift, then correct the exponent's bias
  // (127 - 15 = 112), twice for infinity and NaN, whose exponent is all ones.
  const std::uint32_t rebias = magnitude < 0x7c00U ? 112U << 23 : 224U << 23;
  const std::uint32_t normal = (magnitude << 13) + rebias;
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  const std::uint32_t wide = magnitude < 0x0400U ? std::bit_cast<std::uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(wide | sign);
}

/// The value of bfloat16 `bits`: the upper half of a float32, exact.
[[nodiscard]] constexpr float widen_bfloat16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// The nearest binary16, ties to even. From 65520 on: infinity. NaN stays NaN, made quiet.
[[nodiscard]] constexpr std::uint16_t round_to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000U) {
    result = 0x7e00U | ((magnitude >> 13) & 0x03ffU);
  } else if (magnitude >= 0x477ff000U) {  // halfway between the largest binary16 and 65536
    result = 0x7c00U;
  } else if (magnitude < 0x38800000U) {  // below 2^-14 binary16 is subnormal, in units of 2^-24
    // 0.5 has units of 2^-24 too: the addition rounds, and leaves the count of units.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    result = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    const std::uint32_t odd = (magnitude >> 13) & 1U;
    result = (magnitude - (112U << 23) + 0x0fffU + odd) >> 13;
  }
  return static_cast<std::uint16_t>(result | sign);
}

/// The nearest bfloat16, ties to even. NaN stays NaN, made quiet.
[[nodiscard]] constexpr std::uint16_t round_to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const std::uint32_t odd = (bits >> 16) & 1U;
  return static_cast<std::uint16_t>((is_nan ? bits | 0x00400000U : bits + 0x7fffU + odd) >> 16);
}

}  // namespace quadrant::inline v0
