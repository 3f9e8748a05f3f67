// From floats to codes and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// Tensors, between floats and codes.

/// The codes of `real`, a tensor of any float type: a tensor of the storage type. Per tensor, axis
/// or block, as the type says; each element by quantize_value of `rounding`, float64 rounded to
/// float32 first. Infinities saturate, NaN becomes the zero point. Of a format that is not uniform,
/// what quantized() says. `quantization`: not none.
///
/// Errors are those of quantized() (below). May be called from any thread.
[[nodiscard]] Expected<Tensor> quantize_tensor(
    const Tensor& real, const Quantization& quantization,
    const RoundingProfile& rounding = RoundingProfile::onnx());

/// The float values of `codes`, of the type's storage, as float32: dequantize_value of each.
[[nodiscard]] Expected<Tensor> dequantize_tensor(const Tensor& codes,
                                                 const Quantization& quantization);

/// The same for values that lie in some memory of yours, row by row; `shape` has as many elements.
///
///   {-1.8, -1, 0, 0.5}, [4], uint8 of scale 0.00901961, zero point 200, snpe()
///     ->  {0, 89, 200, 255}
///
/// `impossible` as well for a shape of another size.
[[nodiscard]] Expected<std::vector<std::int32_t>> quantize_values(
    std::span<const float> real, const Shape& shape, const UniformType& type,
    const RoundingProfile& rounding = RoundingProfile::onnx());

/// `impossible` as well for codes that the storage type does not hold.
[[nodiscard]] Expected<std::vector<float>> dequantize_values(std::span<const std::int32_t> codes,
                                                             const Shape& shape,
                                                             const UniformType& type);

// The data pass over a weight: a scale and a zero point for each group of elements, and a look for
// NaN.

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
///                          to the range: zero has a code of its own
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

// Whole constants between floats and codes, computed when they are read.

/// `real` (any float type) quantized by `type`, as a constant of the storage type. Its contents are
/// computed when they are read, any part at a time, with at most 512 KiB of memory for each read;
/// several threads may read. `rounding` says how each element is rounded; float64 is rounded to
/// float32 first.
///
///   {0.5, 1.5, -400} by i8<-127:127>, scale 1  ->  i8 {0, 2, -127}
///
/// In a format that is not uniform, each element becomes the code of what is nearest, whatever
/// `rounding` says. Floats are what a cast makes of value / scale, both in float32: to nearest,
/// ties to even, within the finite ones (ONNX QuantizeLinear with `saturate`); NaN becomes NaN. In
/// other formats NaN is as 0.
///
/// `quantization`: not none.
///
/// Scales and zero points are read and checked right away, but where the scales are deferred and
/// more than 16,384: then as they are needed, by those who read. `impossible`, with a message that
/// names it: a storage type of more than 16 bits, a granularity that does not fit the shape, scales
/// that are zero or not finite, zero points outside the range of codes.
[[nodiscard]] Expected<Constant> quantized(
    const Constant& real, const Quantization& quantization,
    const RoundingProfile& rounding = RoundingProfile::onnx());

/// The float values of `codes`, as float32: dequantize_value of each, or, of a format that is not
/// uniform, what `decode` of encode.hpp says. The rest is as above.
///
///   i8 {0, 2, -127} of scale 0.5, zero point 1  ->  f32 {-0.5, 0.5, -64}
[[nodiscard]] Expected<Constant> dequantized(const Constant& codes,
                                             const Quantization& quantization);

/// Widens `bytes`, little-endian elements of a float type, into `out`, which has room for all.
/// Float64 is rounded; values beyond float32's range become infinite. `bytes` may lie anywhere.
void widen_to_float(ElementType element, std::span<const std::byte> bytes, std::span<float> out);

// Numbers in a number format: codes, scales and tables of least squared error, and back.

/// A tensor in a format. Scales are numbers, not bits: each is one that its level can hold.
struct Encoded {
  /// One after the other in row-major order, not packed: integers in two's complement, bits of
  /// floats, indices; a byte each, little-endian two where the format has more than 8 bits.
  std::vector<std::byte> codes;
  std::vector<std::vector<float>> scales;   ///< by level; each of `parameter_shape`
  std::vector<std::vector<float>> offsets;  ///< of the minimum, by level; or the zero points
  std::vector<float> table;  ///< where it is stored: in ascending order, group after group

  double error = 0;  ///< squared and weighted, of what `decode` gives
  /// No scales, offsets, table and codes have less, but for rounding in double, about 1e-12 of the
  /// sum of squares. 0 where nothing is known.
  double bound = 0;
};

struct EncodeOptions {
  /// Of each element's squared error, not negative; none: 1 for all.
  std::span<const float> weights = {};
  /// false: the rule that a format comes with, see `encode`.
  bool search = true;
  /// Whether to prove a `bound` where that takes far longer than to encode: for formats with a
  /// minimum.
  bool prove = false;
  /// Of a format whose table is stored: the values of all tables, in place of those that would be
  /// found, rounded to their type, within whose range they are cut, and sorted: a code is the place
  /// in that order. As many as it has levels, finite; scales and codes are those of least error for
  /// them.
  std::span<const float> table = {};
  /// Of refinements, where levels or tables are found in turn.
  int most_rounds = 100;
  /// Null: the calling thread alone. Results do not depend on it.
  Executor* executor = nullptr;
};

/// `values` of the static shape `shape` in `format`.
///
/// By the usual rule the largest magnitude of a group gets the last code: of integers the end of
/// the range that contains all, or, if scales have signs, the longer one, as in llama.cpp's Q4_0;
/// with zero points min and max get the ends; e8m0 is floor(log2(max)) minus the exponent of the
/// codes' largest number (OCP Microscaling 1.0, 6.3). Of two levels, the outer maps the largest
/// inner scale to the last that its type has, as NVFP4 and K-quants do.
///
/// By search, what has the least error, never more than by the rule:
/// - One level of scales of any type, any codes, weights, zero points: exact. All scales that the
///   type can hold take part; those that cannot be best are left out by the bound of ScaleSearch
///   (numerics/scale_search.hpp): the gain over the square of the scale is convex in its inverse.
///   MXFP4 and MXFP8 are among these. Subnormal scales of float32 and bfloat16 take no part.
/// - A table without scales: exact for up to 2^20 values in a group (1-D k-means by dynamic
///   programming, arXiv 1701.07204), then rounded to its type. Of more, neighbours are first joined
///   to 2^20; `bound` knows of both.
/// - More levels, also NVFP4's: inner scales given the outer are exact, outer ones given codes and
///   inner ones are least squares, rounded to the better side; in turn, while the error falls.
///   `bound`: each block with an unrounded scale of its own.
/// - A minimum: scale and minimum of a block by descent among pairs that the levels can hold; outer
///   ones are least squares of both. `bound`, if asked for: each block with an unrounded scale and
///   minimum of its own, to 1 % of its error.
/// - A table with scales: in turn with the levels, by Lloyd's steps.
///
/// `impossible`: sizes that do not fit; a value that is not finite; a weight that is negative or
/// not finite; integers of more than 16 bits. `invalid_model` for what `verify` refuses. Memory:
/// some 300 bytes for each of the innermost groups; some 60 for each value of a group of more than
/// 512 that is searched.
[[nodiscard]] Expected<Encoded> encode(std::span<const float> values, const Shape& shape,
                                       const NumberFormat& format,
                                       const EncodeOptions& options = {});

/// The float values, in float32 at each step, in the order in which runtimes compute:
///
///   scale = outermost * next * ...     value = scale * code     real = value - minimum
///
/// with `minimum` multiplied as the scale is, and the zero point taken from the code first. So do
/// llama.cpp (ggml-quants.c, dequantize_row_q4_K: d * sc, then * q, then - dmin * m; q6_K: d * sc,
/// then * q), ONNX DequantizeLinear ((x - zero point) * scale; NVFP4's scales are dequantized
/// first), and bitsandbytes (table * absmax). `impossible` where sizes do not fit.
[[nodiscard]] Expected<void> decode(const Encoded& encoded, const Shape& shape,
                                    const NumberFormat& format, std::span<float> out);

/// Sum of weight (value - approximation)^2, in double, by pieces of 2^15, one after the other.
/// Spans of equal size; no weights: 1.
[[nodiscard]] double squared_error(std::span<const float> values,
                                   std::span<const float> approximation,
                                   std::span<const float> weights = {});

}  // namespace quadrant::inline v0
