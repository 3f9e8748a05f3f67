// Mean 0 and variance 1: what normalizations are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

/// What a row is divided by: its standard deviation, or, without subtracting the mean, its root
/// mean square.
enum class Spread : std::uint8_t { deviation, root_mean_square };

/// Rows that were standardized, with the statistics of each.
struct Standardized {
  Tensor values;
  std::vector<double> mean;            ///< zeros for Spread::root_mean_square
  std::vector<double> inverse_spread;  ///< 1 / sqrt(variance + epsilon)
};

/// Standardizes each `row_length` elements of `x`, which is float32 or float64.
[[nodiscard]] Expected<Standardized> standardize_rows(const Tensor& x, std::int64_t row_length,
                                                      Spread spread, double epsilon);

/// `y * scale + bias` in place, where `y` is seen under `shape`, and scale and bias broadcast to
/// that. They are of y's element type; either may be absent. `y` must be the only handle.
[[nodiscard]] Expected<void> scale_and_shift(Tensor& y, const Shape& shape, const Tensor& scale,
                                             const Tensor& bias);

/// `per_channel`, of shape `[C]`, as a column, so that it broadcasts to `[N, C, rest]`. Refused
/// when it is absent or there are not that many.
[[nodiscard]] Expected<Tensor> channel_column(const Tensor& per_channel, std::int64_t channels);

}  // namespace quadrant::inline v0::interpreted
