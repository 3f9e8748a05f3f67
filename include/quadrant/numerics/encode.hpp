// Numbers in a number format: codes, scales and tables of least squared error, and back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

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
///   `bound`: each block with a real scale of its own.
/// - A minimum: scale and minimum of a block by descent among pairs that the levels can hold; outer
///   ones are least squares of both. `bound`, if asked for: each block with a real scale and
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

/// The reals, float32 at each step, in the order in which runtimes compute:
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
