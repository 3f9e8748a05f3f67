// The affine map between float values and codes, one element at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace quadrant::inline v0 {

/// clamp(round_half_even(real / scale) + zero_point, min, max): ONNX QuantizeLinear
/// (https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html), the division in float32.
///
///   quantize_value(2.5F, 1.0F, 0, -128, 127)   ->  2
///   quantize_value(-1e9F, 0.5F, 3, -128, 127)  ->  -128
///   quantize_value(8.0F, -1.0F, 0, -8, 7)      ->  -8
///
/// `scale` is finite and not zero; infinities saturate; a NaN becomes `zero_point`. `zero_point`,
/// `min` and `max` are of at most 32 bits, and min <= max. Assumes the default rounding mode.
[[nodiscard]] inline std::int64_t quantize_value(float real, float scale, std::int64_t zero_point,
                                                 std::int64_t min, std::int64_t max) noexcept {
  if (std::isnan(real)) return zero_point;
  // Clamped before the conversion: a float outside the integer's range has no conversion. That may
  // come before the rounding, which is monotone and leaves the bounds, being integers, where they
  // are. In double, because 2^31 - 1 is not a float.
  const auto quotient = static_cast<double>(real / scale);
  const auto lowest = static_cast<double>(min - zero_point);
  const auto highest = static_cast<double>(max - zero_point);
  const double rounded = std::nearbyint(std::clamp(quotient, lowest, highest));
  return static_cast<std::int64_t>(rounded) + zero_point;
}

/// scale * (code - zero_point) (Jacob et al., arXiv 1712.05877, equation 1), in float32; the
/// difference is exact for codes of at most 16 bits and rounded once otherwise.
[[nodiscard]] inline float dequantize_value(std::int64_t code, float scale,
                                            std::int64_t zero_point) noexcept {
  return scale * static_cast<float>(code - zero_point);
}

}  // namespace quadrant::inline v0
