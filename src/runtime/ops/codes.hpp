// Codes, as products of them are computed: exactly, in float64, which holds every sum of products
// of 8-bit numbers that fits into memory.
#pragma once

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

/// Codes less their zero points, as float64. `zero_points`, of the same type, broadcast to them, or
/// are absent: 0. Refuses codes of more than 8 bits.
[[nodiscard]] Expected<Tensor> centered(const Tensor& codes, const Tensor& zero_points);

/// Whole float64 numbers as int32, wrapping around.
[[nodiscard]] Expected<Tensor> to_int32(const Tensor& sums);

/// The parameters by which sums of products become codes; each broadcasts to the sums.
struct Requantization {
  Tensor a_scale;  ///< all scales are float32
  Tensor b_scale;
  Tensor y_scale;
  Tensor y_zero_point;  ///< of the element type that the codes get
};

/// clamp(round(sum * (a_scale * b_scale / y_scale)) + y_zero_point), rounding halves to even,
/// computed in float32. `sums` are whole float64 numbers.
[[nodiscard]] Expected<Tensor> requantized(const Tensor& sums, const Requantization& parameters);

/// A list of parameters with `axes_behind` axes of extent 1 behind its own, so that it broadcasts
/// along that axis of another tensor. A list of one is for everything. Other shapes stay.
[[nodiscard]] Tensor along_axis(const Tensor& parameters, std::int64_t axes_behind);

}  // namespace quadrant::inline v0::interpreted
