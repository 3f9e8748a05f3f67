// Rounding and encodings: what codes mean in the terms of a range, and how that is found or
// prescribed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// A value and how often it occurs.

struct WeightedValue {
  double value = 0;
  std::uint64_t count = 0;
  friend bool operator==(const WeightedValue&, const WeightedValue&) = default;
};

// The ways in which runtimes round floats to codes.

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

/// The code of a float value by `profile`, clamped to [min, max].
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

// The smallest and the largest of floats.

struct FloatRange {
  float min = 0;
  float max = 0;

  [[nodiscard]] bool is_finite() const noexcept { return std::isfinite(min) && std::isfinite(max); }
  [[nodiscard]] float largest_magnitude() const noexcept {
    return std::max(std::fabs(min), std::fabs(max));
  }
  friend bool operator==(const FloatRange&, const FloatRange&) = default;
};

/// The least range that holds both.
[[nodiscard]] inline FloatRange united(const FloatRange& a, const FloatRange& b) noexcept {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/// Of at least one value. Negative zero becomes zero. NaN lies outside of the infinities, so that a
/// range is finite when all values are.
[[nodiscard]] FloatRange range_of(std::span<const float> values) noexcept;

// What the codes of a quantized value mean, in the terms of a range.

/// Codes 0 to `steps` stand for the floats `min` to `max`, `scale` apart:
///
///   real = scale * (code + offset) = scale * (code - zero_point)
///
/// Zero is one of them. All in double: files hold ranges in decimal, and ties must not depend on
/// how a scale was rounded.
struct Encoding {
  int bits = 8;
  std::int64_t steps = 255;  ///< codes minus one: 2^bits - 1, or one less where symmetric strictly
  double scale = 1;          ///< above 0
  std::int64_t zero_point = 0;  ///< the code of zero, in 0 to `steps`
  double min = 0;               ///< of code 0
  double max = 255;             ///< of code `steps`
  bool symmetric = false;       ///< zero is the middle code, or the first by agreement

  [[nodiscard]] std::int64_t offset() const noexcept { return -zero_point; }

  friend bool operator==(const Encoding&, const Encoding&) = default;
};

/// clamp(round(real / scale + zero_point)), rounded by `profile`.
[[nodiscard]] inline std::int64_t quantize_value(
    double real, const Encoding& encoding,
    const RoundingProfile& profile = RoundingProfile::snpe()) noexcept {
  return quantize_value(real, encoding.scale, encoding.zero_point, 0, encoding.steps, profile);
}

[[nodiscard]] inline double dequantize_value(std::int64_t code, const Encoding& encoding) noexcept {
  return encoding.scale * static_cast<double>(code - encoding.zero_point);
}

/// Whether codes are stored as they are, or with zero moved down by ceil(steps / 2), so that a
/// symmetric encoding has zero point 0.
enum class CodeSign : std::uint8_t {
  unsigned_codes,  ///< 0 to steps
  signed_codes,    ///< 8 bits: -128 to 127, strict -127 to 127
};

/// The type of a tensor of shape `shape` with these encodings, one for each scale that
/// `granularity` gives it, in the order of scales. Its storage is the smallest of 4, 8, 16 and 32
/// bits that holds the codes. Scales are rounded to float32, so that codes by the type and by the
/// encoding can differ at ties.
///
/// `impossible`: a granularity that does not fit the shape, another number of encodings, encodings
/// that differ in their bits or steps, or that are none: a scale that is not above 0 and finite in
/// float32, a zero point outside 0 to steps, other than 2 to 16 bits or, as biases have, 32.
[[nodiscard]] Expected<UniformType> uniform_type(std::span<const Encoding> encodings,
                                                 const Shape& shape, const Granularity& granularity,
                                                 CodeSign sign);

// How encodings are found: methods, and the profiles of toolchains.

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

// Encodings of ranges, of values, and of whole constants.

/// Of values of which no more is known than their range: by `adjusted_weights` if that is the
/// rule's method, else by `minmax`.
///
///   {-1.8, 0.5}, snpe()  ->  {-1.803922, 0.496078}, scale 0.00901961, zero point 200
///
/// `impossible`: a bad rule; ends that are not finite, or the wrong way round.
[[nodiscard]] Expected<Encoding> find_encoding(double min, double max, const EncodingRule& rule);

/// Of all values, in any order. None: as of a range from 0 to 0. Sorts a copy, of 56 bytes a value,
/// unless the range is all that the method asks for. `enhanced` and `mse` take about 0.2 s for a
/// million values at 8 bits and some seconds at 16; for how exact they are, see
/// docs/encodings.md.
///
/// `impossible`: a bad rule. `invalid_model`: NaN or infinity, with its index.
[[nodiscard]] Expected<Encoding> find_encoding(std::span<const float> values,
                                               const EncodingRule& rule);

/// Of what a histogram knows of values: `values`, in ascending order, from `min` to `max`, the true
/// ends.
///
/// `impossible`: a bad rule. `invalid_model`: values that are not finite, not in order or not
/// within the ends.
[[nodiscard]] Expected<Encoding> find_encoding(std::span<const WeightedValue> values, double min,
                                               double max, const EncodingRule& rule);

/// Of each group of values that shares a scale, in the order of scales; uniform_type() makes a type
/// of them. `weights` is of any float type, read once; float64 is rounded to float32 first. Holds
/// the part of the tensor over which a group is spread.
///
/// Errors as above, and `impossible` for other types and for a granularity that does not fit.
[[nodiscard]] Expected<std::vector<Encoding>> find_encodings(const Constant& weights,
                                                             const Granularity& granularity,
                                                             const EncodingRule& rule);

/// The encoding that is prescribed by its ends. Bits and symmetry are the rule's; scale and zero
/// point are computed anew, whatever else was given with them. The ends of an encoding give that
/// encoding back: where symmetric, the scale is max(max / floor(n / 2), -min / ceil(n / 2)). Method
/// and minimum range do not count.
///
///   {-2.1006477, 1.70055947}  ->  zero point 141
///
/// `impossible` as of a range.
[[nodiscard]] Expected<Encoding> encoding_from_ends(double min, double max,
                                                    const EncodingRule& rule);

// Encodings that are prescribed for a model's values, in place of those that would be found.

/// Of one value.
struct PrescribedEncoding {
  std::vector<Encoding> encodings;  ///< one; or, of a constant, one for each of its channels
  /// Of the channels. Empty: whichever the operation keeps that the constant is a factor of.
  std::optional<std::int64_t> axis;

  friend bool operator==(const PrescribedEncoding&, const PrescribedEncoding&) = default;
};

/// By the name of the value.
using PrescribedEncodings = std::map<std::string, PrescribedEncoding, std::less<>>;

}  // namespace quadrant::inline v0
