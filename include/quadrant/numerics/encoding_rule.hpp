// How encodings are found: methods, and the profiles of toolchains.
#pragma once

#include <cstdint>

#include "quadrant/numerics/encoding.hpp"
#include "quadrant/numerics/rounding.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Which range an encoding spans; docs/encodings.md says when to use which. "Cost" is, summed over
/// the values x with codes q, (x - scale (q - zero_point))^2, times `gamma` where x lies outside
/// the encoding's range.
enum class EncodingMethod : std::uint8_t {
  /// The true smallest and largest value.
  minmax,
  /// The range of least cost (SNPE's "enhanced quantizer": a range that may leave out long tails
  /// and is more accurate than min-max). Known implementations try some ranges on a histogram;
  /// this finds the least cost there is over the scales up to minmax's (asymmetric: n / (n - 1) of
  /// it), up to 1e-13 of the values' sum of squares and, unless gamma is 1, 1e-7 of the cost. Never
  /// worse than minmax, neither in cost nor in squared error: where the least cost has more of the
  /// latter, it is minmax.
  enhanced,
  /// The least range whose zero is exact and that still holds every value. SNPE's documentation
  /// says of its "adjusted weights" mode, which is for 8-bit weights, only that the largest value
  /// is expanded, or the smallest decreased, if necessary, and that a minimum range and an exact
  /// zero are kept; this is our rule for that: of the zero points next to the true one the one
  /// that needs the smaller scale, max(-min / z, max / (steps - z)), gives both. Where minmax
  /// shifts its range by up to half a step, and clips at one end, this clips nothing.
  adjusted_weights,
  /// At each end, as many values are left out as `percentile` allows: the ends are the values of
  /// rank ceil(percentile / 100 n), counted from either side.
  percentile,
  /// The threshold t of least Kullback-Leibler divergence between the values clipped to [-t, t] and
  /// what quantization to [max(min, -t), min(max, t)] tells of them, as in TensorRT's calibration,
  /// on 4097 bins; see docs/encodings.md. Where fewer bins than codes are left, it is minmax: with
  /// more than 11 or 12 bits, always.
  entropy,
  /// `enhanced` with gamma 1: the least squared error.
  mse,
};

enum class EncodingSymmetry : std::uint8_t {
  asymmetric,
  symmetric,         ///< 8 bits: -128 to 127; the largest magnitude is code 127
  symmetric_strict,  ///< -127 to 127
  /// Zero is the first code, all others lie above it; where there are values below zero,
  /// `symmetric`.
  symmetric_unsigned,
};

/// When the range is widened to the minimum: max is raised to min + minimum_range.
enum class MinimumRangeOrder : std::uint8_t {
  before_zero,  ///< of the true range. {5, 5} becomes {5, 5.01}, and with zero {0, 5.01}
  after_zero,   ///< of the range with zero: {0, 5} is wide enough (AIMET)
};

/// Let lo and hi be the ends of the range with zero in it and n = 2^bits - 1 (strict: - 2).
///
///   asymmetric          scale = (hi - lo) / n, zero_point = round(-lo n / (hi - lo)), ties by
///                       `rounding`: zero is exact, and the range shifts by at most half a step
///   symmetric, strict   scale = max(-lo, hi) / floor(n / 2), zero_point = ceil(n / 2)
///   symmetric_unsigned  scale = hi / n, zero_point = 0
///
/// in double. The quotient for the zero point comes out as exactly n / 2 for lo = -hi; lo divided
/// by the rounded scale does not. A range of no width, or one whose scale is no normal float32,
/// gets scale 1; values beyond (1 - 2^(1 - bits)) of float32's largest are clipped, so that no code
/// is infinite there.
struct EncodingRule {
  EncodingMethod method = EncodingMethod::minmax;
  EncodingSymmetry symmetry = EncodingSymmetry::asymmetric;
  int bits = 8;              ///< 2 to 16
  double minimum_range = 0;  ///< 0 or more; in the unit of the values
  MinimumRangeOrder minimum_range_order = MinimumRangeOrder::before_zero;
  RoundingProfile rounding = RoundingProfile::onnx();
  /// 1 to 100, of `enhanced`. 1 gives the least squared error, and the best signal-to-noise ratio;
  /// known implementations weigh clipped values with 3.
  double gamma = 1;
  double percentile = 99.99;  ///< above 50, up to 100; of `percentile`

  /// SNPE: minimum range 0.01.
  [[nodiscard]] static constexpr EncodingRule snpe() noexcept {
    return {.minimum_range = 0.01, .rounding = RoundingProfile::snpe()};
  }
  /// SNPE's successor: minimum range 0.0001.
  [[nodiscard]] static constexpr EncodingRule qairt() noexcept {
    return {.minimum_range = 0.0001, .rounding = RoundingProfile::snpe()};
  }
  /// ONNX: no minimum range.
  [[nodiscard]] static constexpr EncodingRule onnx() noexcept { return {}; }

  friend bool operator==(const EncodingRule&, const EncodingRule&) = default;
};

/// `impossible`, with a message that names it: a number outside what is said above.
[[nodiscard]] Expected<void> check(const EncodingRule& rule);

}  // namespace quadrant::inline v0
