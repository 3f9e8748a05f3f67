// The float types of 4 to 8 bits, one element at a time, on their bit patterns.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0 {

/// How the bits of a small float are laid out, the sign first where there is one.
struct SmallFloat {
  int exponent = 0;  ///< bits of the exponent
  int mantissa = 0;  ///< bits behind it
  int bias = 0;      ///< the exponent of 1
  int finite = 0;    ///< patterns of finite numbers of one sign, from 0 on: the first of them
  bool has_sign = true;
};

/// OCP's formats: "8-bit Floating Point Specification" (2023) for those of 8 bits, "Microscaling
/// Formats" (2023) for those of 4 and 6 and for e8m0, whose numbers are powers of two from 2^-127
/// to 2^127. Empty for other types.
[[nodiscard]] constexpr std::optional<SmallFloat> small_float(ElementType type) noexcept {
  switch (type) {
    case ElementType::float4e2m1:
      return SmallFloat{2, 1, 1, 8};
    case ElementType::float6e2m3:
      return SmallFloat{2, 3, 1, 32};
    case ElementType::float6e3m2:
      return SmallFloat{3, 2, 3, 32};
    case ElementType::float8e4m3:
      return SmallFloat{4, 3, 7, 127};
    case ElementType::float8e5m2:
      return SmallFloat{5, 2, 15, 124};
    case ElementType::float8e8m0:
      return SmallFloat{8, 0, 127, 255, false};
    default:
      return std::nullopt;
  }
}

/// The value of a finite number's bits without the sign, exact; it grows with them.
[[nodiscard]] constexpr float widen_magnitude(const SmallFloat& type, int bits) noexcept {
  const int mantissa = bits & ((1 << type.mantissa) - 1);
  const int exponent = bits >> type.mantissa;
  const bool is_subnormal = exponent == 0 && type.has_sign;
  const int significand = is_subnormal ? mantissa : mantissa + (1 << type.mantissa);
  const int power = (is_subnormal ? 1 : exponent) - type.bias - type.mantissa;
  // In double every power is a normal number, and the last step is exact.
  constexpr int double_bias = 1023;
  const auto unit = std::bit_cast<double>(static_cast<std::uint64_t>(power + double_bias) << 52U);
  return static_cast<float>(static_cast<double>(significand) * unit);
}

/// The value of `bits`, sign included; not a number where they stand for no finite one.
[[nodiscard]] constexpr float widen_small_float(const SmallFloat& type, int bits) noexcept {
  const int sign = type.has_sign ? 1 << (type.exponent + type.mantissa) : 0;
  const int magnitude = bits & ~sign;
  if (magnitude >= type.finite) return std::numeric_limits<float>::quiet_NaN();
  const float value = widen_magnitude(type, magnitude);
  return (bits & sign) != 0 ? -value : value;
}

/// The bits that stand for no number, of several those with the largest mantissa; empty where all
/// stand for one.
[[nodiscard]] constexpr std::optional<std::uint32_t> nan_bits(const SmallFloat& type) noexcept {
  const std::uint32_t last = (1U << static_cast<unsigned>(type.exponent + type.mantissa)) - 1;
  return static_cast<std::uint32_t>(type.finite) > last ? std::nullopt : std::optional(last);
}

/// The bits of `value`, sign included; empty where the type lacks the number. Of 0, those without a
/// sign.
[[nodiscard]] constexpr std::optional<int> small_float_bits(const SmallFloat& type,
                                                            float value) noexcept {
  const float magnitude = value < 0 ? -value : value;
  int low = 0;  // magnitudes grow with the bits
  for (int high = type.finite - 1; low < high;) {
    const int middle = (low + high) / 2;
    if (widen_magnitude(type, middle) < magnitude) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (widen_magnitude(type, low) != magnitude || (value < 0 && !type.has_sign)) return std::nullopt;
  return value < 0 ? low | 1 << (type.exponent + type.mantissa) : low;
}

}  // namespace quadrant::inline v0
