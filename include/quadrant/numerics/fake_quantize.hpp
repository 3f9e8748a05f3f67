// Real values rounded to evenly spaced ones and back, one element at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

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

}  // namespace quadrant::inline v0
