// Float values rounded to evenly spaced ones and back, one element at a time; and the range that
// MLIR's fake quantization has.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The ends of the interval whose values are told apart, and of the one that they come out in.
/// Either may run backwards, and may have no length.
template <std::floating_point Real>
struct FakeQuantizeBounds {
  Real input_low = 0;
  Real input_high = 0;
  Real output_low = 0;
  Real output_high = 0;

  friend bool operator==(const FakeQuantizeBounds&, const FakeQuantizeBounds&) = default;
};

/// Which of `levels` evenly spaced values `x` is taken for: an integer from 0 to levels - 1, ties
/// to even. 0 for what is not above both input bounds, levels - 1 for what is above both; in
/// between, round((x - input_low) / (input_high - input_low) * (levels - 1)). A NaN stays one.
///
///   fake_quantize_level(2.5F, {0, 4, 0, 4}, 5)  ->  2
///   fake_quantize_level(1.0F, {4, 0, 0, 4}, 5)  ->  3
///
/// `levels` is at least 2. Each operation is rounded to `Real`, in this order: this is how OpenVINO
/// computes it, and another order moves ties. Assumes the default rounding mode.
template <std::floating_point Real>
[[nodiscard]] Real fake_quantize_level(Real x, const FakeQuantizeBounds<Real>& bounds,
                                       std::int64_t levels) noexcept {
  const auto last = static_cast<Real>(levels - 1);
  if (x <= std::min(bounds.input_low, bounds.input_high)) return 0;
  if (x > std::max(bounds.input_low, bounds.input_high)) return last;
  return std::nearbyint((x - bounds.input_low) / (bounds.input_high - bounds.input_low) * last);
}

/// OpenVINO's FakeQuantize-1 (https://docs.openvino.ai, "FakeQuantize"): the output bound for what
/// the input bounds cut off, else fake_quantize_level / (levels - 1) * (output_high - output_low) +
/// output_low, rounded as there.
///
///   fake_quantize(1.5F, {0, 4, 0, 4}, 5)             ->  2
///   fake_quantize(0.0F, {-1.28F, 1.27F, -1.28F, 1.27F}, 256)  ->  1.1920929e-07
template <std::floating_point Real>
[[nodiscard]] Real fake_quantize(Real x, const FakeQuantizeBounds<Real>& bounds,
                                 std::int64_t levels) noexcept {
  // The formula need not meet the bounds: (high - low) + low is rounded twice.
  if (x <= std::min(bounds.input_low, bounds.input_high)) return bounds.output_low;
  if (x > std::max(bounds.input_low, bounds.input_high)) return bounds.output_high;
  return fake_quantize_level(x, bounds, levels) / static_cast<Real>(levels - 1) *
             (bounds.output_high - bounds.output_low) +
         bounds.output_low;
}

/// Codes, and the float values that they stand for: scale * (code - zero_point).
struct NudgedRange {
  ElementType storage = ElementType::int8;
  std::int64_t storage_min = -128;
  std::int64_t storage_max = 127;
  double scale = 1;
  std::int64_t zero_point = 0;

  [[nodiscard]] std::int64_t levels() const noexcept { return storage_max - storage_min + 1; }
  /// The bounds of the fake_quantize with as many levels that computes the same: of input and
  /// output alike, the float values of the first and of the last code.
  template <std::floating_point Real>
  [[nodiscard]] FakeQuantizeBounds<Real> bounds() const noexcept {
    const auto low = static_cast<Real>(scale * static_cast<double>(storage_min - zero_point));
    const auto high = static_cast<Real>(scale * static_cast<double>(storage_max - zero_point));
    return {low, high, low, high};
  }
};

/// What MLIR's `quant-convert-simulated-quantization` makes of it (mlir/lib/Dialect/Quant,
/// LLVM 15): codes are all that an integer of 8, 16 or 32 bits, whichever first holds `num_bits`,
/// has; the zero point is computed from the end where this loses less, rounded half away from zero,
/// and moved into the codes, so that a range without zero is shifted. A range without length has
/// scale 1, and its first code for zero.
///
/// Fails as `check` of the range does.
[[nodiscard]] Expected<NudgedRange> nudged_range(const FakeQuantRange& given);

}  // namespace quadrant::inline v0
