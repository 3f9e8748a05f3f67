// The affine map over runs of elements: affine.hpp's functions, in a form that vectorises.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {

/// Parameters of a run of elements: the first element's, which all share or which the others'
/// follow.
struct RunParameters {
  const float* scales = nullptr;
  const std::int32_t* zero_points = nullptr;
  bool same_zero_point = false;  ///< the zero points are all the same
};

/// quantize_run, with scale i for element i where there is one for `each`, and zero points
/// likewise.
template <bool each_scale, bool each_zero_point, class Code>
void quantize_run_by(const float* __restrict real, Code* __restrict codes, std::size_t count,
                     RunParameters parameters, std::int32_t min, std::int32_t max) {
  // Adding 1.5 * 2^23 to a float of magnitude at most 2^22 rounds it to an integer, ties to even,
  // as std::nearbyint does; that one is a function call below SSE4.1. Clamped quotients are smaller
  // than 2^17.
  constexpr float rounder = 12582912.0F;
  const float* __restrict scales = parameters.scales;
  const std::int32_t* __restrict zero_points = parameters.zero_points;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t zero_point = zero_points[each_zero_point ? i : 0];
    const auto lowest = static_cast<float>(min - zero_point);
    const auto highest = static_cast<float>(max - zero_point);
    // A division: multiplying by the reciprocal moves ties.
    float quotient = real[i] / scales[each_scale ? i : 0];
    quotient = quotient == quotient ? quotient : 0.0F;  // NaN becomes the zero point
    quotient = quotient > lowest ? quotient : lowest;
    quotient = quotient < highest ? quotient : highest;
    const float rounded = (quotient + rounder) - rounder;
    codes[i] = static_cast<Code>(static_cast<std::int32_t>(rounded) + zero_point);
  }
}

/// quantize_value for codes of at most 16 bits. `each`: element i has parameters i, else all have
/// parameters 0.
template <bool each, class Code>
void quantize_run(const float* real, Code* codes, std::size_t count, RunParameters parameters,
                  std::int32_t min, std::int32_t max) {
  // The limits of one zero point are computed once: that is a quarter of the work.
  if (each && !parameters.same_zero_point) {
    quantize_run_by<each, each>(real, codes, count, parameters, min, max);
  } else {
    quantize_run_by<each, false>(real, codes, count, parameters, min, max);
  }
}

/// The same, rounded by `rounding`.
template <bool each, class Code>
void quantize_run(const float* real, Code* codes, std::size_t count, RunParameters parameters,
                  std::int32_t min, std::int32_t max, const RoundingProfile& rounding) {
  if (rounding == RoundingProfile::onnx()) {
    quantize_run<each>(real, codes, count, parameters, min, max);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t group = each ? i : 0;
    codes[i] = static_cast<Code>(quantize_value(static_cast<double>(real[i]),
                                                static_cast<double>(parameters.scales[group]),
                                                parameters.zero_points[group], min, max, rounding));
  }
}

/// dequantize_value for codes of at most 16 bits.
template <bool each, class Code>
void dequantize_run(const Code* __restrict codes, float* __restrict real, std::size_t count,
                    RunParameters parameters) {
  const float* __restrict scales = parameters.scales;
  const std::int32_t* __restrict zero_points = parameters.zero_points;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t difference = codes[i] - zero_points[each ? i : 0];
    real[i] = scales[each ? i : 0] * static_cast<float>(difference);
  }
}

}  // namespace quadrant::inline v0
