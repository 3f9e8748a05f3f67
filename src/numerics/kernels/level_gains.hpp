// The gain of the best code of each value, for a scale.
#pragma once

#include <cstddef>

namespace quadrant::inline v0::kernels {

/// Numbers that codes stand for, before the scale.
struct LevelSet {
  const double* values = nullptr;  ///< ascending; of symmetric ones those from 0 on, or above
  std::size_t count = 0;
  bool is_linear = false;     ///< all integers from `low` to `high`; values are not looked at
  bool is_symmetric = false;  ///< with each its opposite
  double low = 0;
  double high = 0;
  /// Of symmetric ones that are floats, all from 0 to `high`: an octave has 2^mantissa_bits of them
  /// from `least_normal` on, and below they lie as close as in the first. 0: they are others.
  int mantissa_bits = 0;
  double least_normal = 0;
};

/// Values, of a count that is a multiple of 8, each with its weight; `shift` is added first.
struct WeightedValues {
  const float* values = nullptr;
  const float* weights = nullptr;
  std::size_t count = 0;
  double shift = 0;
};

/// Sum over values x = (value + shift) * inverse of weight * max over levels l of l (2 x - l).
/// Every eighth is added to the same of eight sums: the same on all processors.
[[nodiscard]] double level_gain(const WeightedValues& of, const LevelSet& levels,
                                double inverse) noexcept;

/// The same in float32 for several inverses at once, faster: off by 2^-24 times (count + 32) sum of
/// weight x^2, plus 8 times the weights if 0 is no level, with 1 for the least of them. Arrays have
/// room for `gains_at_once`, of which the first `count` mean something.
inline constexpr std::size_t gains_at_once = 32;
void level_gains(const WeightedValues& of, const LevelSet& levels, const float* inverses,
                 std::size_t count, float* gains) noexcept;

}  // namespace quadrant::inline v0::kernels
