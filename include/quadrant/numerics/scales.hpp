// The data pass over a weight: a scale and a zero point for each group of elements, and a look for
// NaN.
#pragma once

#include <cstdint>
#include <optional>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Where the zero point lies, and which sign a scale may have.
enum class Symmetry : std::uint8_t {
  symmetric,     ///< zero point 0, or the middle of an unsigned storage type (8, 128)
  signed_scale,  ///< the same; a negative scale turns the longer side of -8..7 up
  asymmetric,    ///< a zero point for each group
};

/// Which values a group's codes reach, and which are clipped to them.
enum class Clip : std::uint8_t {
  absmax,  ///< the largest magnitude decides
  minmax,  ///< nothing is clipped
  mse,     ///< the least sum of squared errors
};

/// How scales are found. Let w be the values of a group, a their largest magnitude,
/// mn = min(w, 0), mx = max(w, 0); z0 the fixed zero point, lo = storage_min - z0 and
/// hi = storage_max - z0.
///
///   symmetric     absmax   s = 2a / (hi - lo): a/127 for -127..127, a/7.5 for -8..7
///                 minmax   s = max(mx / hi, mn / lo)
///   signed_scale  absmax   |s| = a / max(hi, -lo), of the sign that puts a value of magnitude a on
///                          the longer side; positive when there is one of either sign
///                 minmax   the smaller of max(mx / hi, mn / lo) and -max(mx / -lo, mn / -hi), by
///                          magnitude; equal ones: positive. Sides of equal length: as symmetric
///   asymmetric    minmax   s = (mx - mn) / (max - min), z = round_half_even(min - mn / s), clamped
///                          to the range: the real zero has a code of its own
///                 absmax   the same with -a and a
///
/// These are the affine map of Jacob et al., arXiv 1712.05877, equation 1, section 3, and for
/// `symmetric` absmax and `asymmetric` what ONNX Runtime's quantization tools compute
/// (compute_scale_zp), bit by bit; `signed_scale` absmax is what its quantizer of blocks of 4 bits
/// does (MatMulNBits). Quotients are rounded to float32.
///
/// mse: the s and z that minimize sum (w - s (q - z))^2, q being quantize_value's, over
/// 0 < |s| <= k times the least scale that clips nothing: minmax's, of either sign where
/// `signed_scale`, and (mx - mn) / (max - min - 1), for every z, where `asymmetric`; k is 2 for
/// codes of up to 8 bits, else 1. The minimum is exact, but for rounding: of s to float32, and of
/// sums, by 1e-13 of sum w^2. Never worse than absmax or minmax.
///
/// A group whose scale would be zero or subnormal (all zeros, say) gets scale 1 and the code of
/// zero nearest 0: never 0/0. Near float32's end scales stay so small that codes do not become
/// infinite. No scale is less than `least`.
struct ScaleRule {
  ElementType storage = ElementType::int8;
  std::int64_t storage_min = -127;  ///< smallest code in use
  std::int64_t storage_max = 127;   ///< largest code in use
  Symmetry symmetry = Symmetry::symmetric;
  Clip clip = Clip::absmax;
  /// float32 or float16. float16: quotients are rounded to float16 instead; but where some scale of
  /// the tensor is no normal number there (2^-14 to 65504), its scales stay float32.
  ElementType scale = ElementType::float32;
  /// 0 or more. `scan_parameters` takes 2^-24 for float16 contents, if that is more: all their
  /// numbers are multiples of it, so the codes of a group of such small ones are exact, and the
  /// scale is a float16 number, too.
  float least = 0;
};

/// The first element, in row-major order, that is NaN or infinite.
struct NonFinite {
  std::int64_t index = 0;
  float value = 0;
};

/// What a UniformType needs. No constants when `non_finite` is set.
struct ParameterScan {
  Constant scales;       ///< of the rule's type, or float32, and of `parameter_shape`
  Constant zero_points;  ///< of the storage type, as many; none where the rule makes all of them 0
  std::optional<NonFinite> non_finite;
};

/// Scales and zero points by `rule`.
///
///   [2x2] {1, -254, 0, 0}, per axis 0, by default  ->  [2] {2, 1}
///
/// `weights`: float16, bfloat16, float32 or float64, of a static shape that `granularity` fits.
/// Float64 is rounded to float32 first: values beyond its range count as infinite. `impossible`,
/// with a message that names it: anything else; a storage type that is no integer of at most 16
/// bits; a range outside it, or, unless `asymmetric`, one without codes on both sides of z0.
///
/// Reads the contents once, in pieces of at most 256 KiB, and stops at the first NaN or infinity.
/// Besides the result it holds some bytes for each group; mse also the part of the tensor over
/// which a group is spread, as float32, and about 40 bytes for each element of a group: all of the
/// tensor for a scale for each index of an inner axis. May be called from any thread.
[[nodiscard]] Expected<ParameterScan> scan_parameters(const Constant& weights,
                                                      const Granularity& granularity,
                                                      const ScaleRule& rule);

}  // namespace quadrant::inline v0
