// Which of a few levels is nearest to each value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quadrant::inline v0::kernels {

/// x = (value + shift) * inverse.
struct ScaledValues {
  const float* values = nullptr;
  std::size_t count = 0;
  double shift = 0;
  double inverse = 1;
};

/// indices[i] = how many of `count` ascending thresholds x lies above.
void count_thresholds(const ScaledValues& of, const double* thresholds, std::size_t count,
                      std::uint16_t* indices) noexcept;

/// indices[i] = round(clamp(x, low, high)) - low, which is below 2^16; ties to even.
void nearest_integers(const ScaledValues& of, double low, double high,
                      std::uint16_t* indices) noexcept;

/// Numbers side by side, each with a grid of its own: (integer - zero point) * scale - minimum.
struct OnGrids {
  const double* wanted = nullptr;
  const float* scales = nullptr;  ///< where it is 0, the code stays what it is, and the real
  const float* minima = nullptr;
  const float* zero_points = nullptr;
  std::size_t count = 0;
};

/// Of each, the nearest integer from `low` to `high`, of two the even one, as a code of 32 bits,
/// and what it stands for.
void nearest_on_grids(const OnGrids& of, double low, double high, std::uint32_t* codes,
                      float* reals) noexcept;

}  // namespace quadrant::inline v0::kernels
