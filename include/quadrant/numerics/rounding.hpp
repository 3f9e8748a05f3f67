// The ways in which runtimes round real values to codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace quadrant::inline v0 {

/// Where a quotient in the middle of two integers goes.
enum class TieRule : std::uint8_t {
  half_even,  ///< to the even one: 2.5 -> 2, 3.5 -> 4
  half_away,  ///< away from zero: 2.5 -> 3, -2.5 -> -3
};

/// When the zero point is added. That moves ties: at zero point 255, -76.5 half away is -77, code
/// 178; but -76.5 + 255 = 178.5 is code 179.
enum class RoundingOrder : std::uint8_t {
  round_then_add,
  add_then_round,
};

/// In which precision real / scale is computed.
enum class QuotientPrecision : std::uint8_t {
  float32,
  float64,
};

/// How a runtime computes codes, to the last tie.
struct RoundingProfile {
  TieRule ties = TieRule::half_even;
  RoundingOrder order = RoundingOrder::round_then_add;
  QuotientPrecision quotient = QuotientPrecision::float32;

  /// ONNX QuantizeLinear: saturate(round(x / scale) + zero_point).
  [[nodiscard]] static constexpr RoundingProfile onnx() noexcept { return {}; }
  /// MLIR's quant dialect; the same. (Its own folding of constants rounds half away.)
  [[nodiscard]] static constexpr RoundingProfile mlir() noexcept { return {}; }
  /// SNPE's quantizer: round(255 (x - min) / (max - min)), that is round(x / scale + zero_point).
  [[nodiscard]] static constexpr RoundingProfile snpe() noexcept {
    return {TieRule::half_away, RoundingOrder::add_then_round, QuotientPrecision::float64};
  }

  friend bool operator==(const RoundingProfile&, const RoundingProfile&) = default;
};

/// The nearest integer, as a double; infinities stay.
[[nodiscard]] inline double round_to_integer(double value, TieRule ties) noexcept {
  return ties == TieRule::half_even ? std::nearbyint(value) : std::round(value);
}

/// The code of a real value by `profile`, clamped to [min, max].
///
///   quantize_value(5, 10.0 / 255, 0, 0, 255, RoundingProfile::snpe())       ->  128
///   quantize_value(-6, 20.0 / 255, 255, 0, 255, RoundingProfile::snpe())    ->  179
///
/// By onnx() it is affine.hpp's quantize_value of the same floats, and as there: `scale` is finite
/// and not zero, infinities saturate, a NaN becomes `zero_point`; `zero_point`, `min` and `max` are
/// of at most 32 bits.
[[nodiscard]] inline std::int64_t quantize_value(double real, double scale, std::int64_t zero_point,
                                                 std::int64_t min, std::int64_t max,
                                                 const RoundingProfile& profile) noexcept {
  if (std::isnan(real)) return zero_point;
  const double quotient =
      profile.quotient == QuotientPrecision::float64
          ? real / scale
          : static_cast<double>(static_cast<float>(real) / static_cast<float>(scale));
  const std::int64_t added = profile.order == RoundingOrder::add_then_round ? zero_point : 0;
  const std::int64_t left = zero_point - added;  // to add after the rounding
  const double clamped =
      std::clamp(quotient + static_cast<double>(added), static_cast<double>(min - left),
                 static_cast<double>(max - left));
  return static_cast<std::int64_t>(round_to_integer(clamped, profile.ties)) + left;
}

}  // namespace quadrant::inline v0
