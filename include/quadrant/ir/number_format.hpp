// Number formats: how floats are stored in few bits.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// How floats are stored in few bits: what a code stands for, and the scales around it.

/// Codes or scales that are integers, min to max, of which there are at most 2^bits.
struct IntegerCode {
  int bits = 8;
  bool is_signed = true;
  std::int64_t min = -128;
  std::int64_t max = 127;
  /// All of that width.
  [[nodiscard]] static IntegerCode of(int bits, bool is_signed) noexcept;
  friend auto operator<=>(const IntegerCode&, const IntegerCode&) = default;
};

/// Codes that are floats of 4 to 8 bits: see small_float.hpp. Those of e8m0 have no scales.
struct FloatCode {
  ElementType type = ElementType::float8e4m3;
  friend auto operator<=>(const FloatCode&, const FloatCode&) = default;
};

/// Tables that formats and runtimes fix; code i is their value i.
enum class FixedTable : std::uint8_t {
  nf4,      ///< bitsandbytes' NormalFloat (arXiv 2305.14314), which OpenVINO has, too
  fp4_bnb,  ///< bitsandbytes' own float of 4 bits
  iq4nl,    ///< llama.cpp's kvalues_iq4nl
};
[[nodiscard]] std::span<const float> table_values(FixedTable table) noexcept;

/// A table that is stored with the codes, which are indices into it.
struct StoredTable {
  int levels = 16;                            ///< 4 to 256
  ElementType values = ElementType::float16;  ///< float32, float16 or bfloat16
  Granularity groups;                         ///< which elements share one
  friend auto operator<=>(const StoredTable&, const StoredTable&) = default;
};

using NumberCode = std::variant<IntegerCode, FloatCode, FixedTable, StoredTable>;

/// Scales that are floats: float64, float32, float16, bfloat16, e4m3 or e8m0.
struct FloatScale {
  ElementType type = ElementType::float32;
  bool has_sign = false;  ///< whether some may be negative
  friend auto operator<=>(const FloatScale&, const FloatScale&) = default;
};

/// One level of scales: floats, or integers, which are multiples of the level above.
struct ScaleLevel {
  Granularity groups;
  std::variant<FloatScale, IntegerCode> type;
  friend auto operator<=>(const ScaleLevel&, const ScaleLevel&) = default;
};

enum class Offset : std::uint8_t {
  none,        ///< real = scale * value
  zero_point,  ///< real = scale * (code - zero point): a code for each of the innermost scales
  minimum,     ///< real = scale * value - minimum: levels of its own
};

// clang-format off
/// A value of one type for all formats: int8 channels, blocks of int4, NF4, MXFP4, NVFP4, FP8,
/// LPBQ, K-quants, codebooks. With `value` for what a code stands for, and levels multiplied:
///
///   i4 * +-f16[axis=1 block=32] : f32                     blocks of int4, scales of any sign
///   (u8 - z) * f32[axis=0] : f32                          uint8 channels with zero points
///   f4e2m1 * f32[tensor] * f8e4m3[axis=1 block=16] : f32  NVFP4
///   nf4 * f32[axis=1 block=64] : f32                      NF4
///   u4 * f16[axis=1 block=256] * u6[axis=1 block=32]
///      - f16[axis=1 block=256] * u6[axis=1 block=32] : f32          Q4_K
///   table<16 x f16>[axis=0] : f32                         a table for each channel
// clang-format on
struct NumberFormat {
  NumberCode code;
  std::vector<ScaleLevel> scales;  ///< outermost first; none: codes stand for floats
  Offset offset = Offset::none;
  std::vector<ScaleLevel> offsets;  ///< of `minimum`, outermost first
  ElementType expressed = ElementType::float32;

  /// What a uniform type says but for its numbers. Whether scales are negative is not looked at.
  [[nodiscard]] static NumberFormat of(const UniformType& type);

  [[nodiscard]] std::size_t hash() const noexcept;
  friend auto operator<=>(const NumberFormat&, const NumberFormat&) = default;
};

/// What tensors of codes have as their elements: the least that holds them. Codes that are no
/// integers are unsigned ones: bits of floats, indices.
[[nodiscard]] ElementType storage_element(const NumberFormat& format) noexcept;

/// Bits of one code, of one scale.
[[nodiscard]] int bit_width(const NumberCode& code) noexcept;
[[nodiscard]] int bit_width(const ScaleLevel& level) noexcept;
/// What each pattern of the bits of a code stands for, integers by their sign; not a number where
/// it is for no finite one. Of codes of at most 16 bits that are not in a stored table.
[[nodiscard]] std::vector<float> code_values(const NumberCode& code);
/// Whether some scales of the level may be negative.
[[nodiscard]] bool has_sign(const ScaleLevel& level) noexcept;
/// The elements that share the innermost scale; all where there is none.
[[nodiscard]] Granularity innermost_groups(const NumberFormat& format) noexcept;
/// The elements whose codes stand for the same floats: those groups, or, without scales, the
/// table's.
[[nodiscard]] Granularity code_groups(const NumberFormat& format) noexcept;
/// Whether it is what UniformType can say: integer codes, at most a zero point, one level of
/// float64, float32 or float16.
[[nodiscard]] bool is_uniform(const NumberFormat& format) noexcept;

/// Bits that a tensor of shape `shape`, which is static, takes in all: codes, scales, offsets,
/// tables. Nothing is added for what files align.
[[nodiscard]] double stored_bits(const NumberFormat& format, const Shape& shape);
/// The same in whole bytes.
[[nodiscard]] std::uint64_t stored_bytes(const NumberFormat& format, const Shape& shape);
/// The same for one element: 4.5 for Q4_K. 0 where there are none.
[[nodiscard]] double bits_per_weight(const NumberFormat& format, const Shape& shape);

/// `invalid_model`, with what is wrong: integer codes of 1 to 32 bits, as in UniformType, scales
/// and zero points inside their widths; tables of 4 to 256 values; levels that nest, the outermost
/// a float; a minimum with the groups of the innermost scale, which lie in those of a table.
[[nodiscard]] Expected<void> verify(const NumberFormat& format);
/// The same as the format of a tensor of that shape, which has to have the axes.
[[nodiscard]] Expected<void> verify(const NumberFormat& format, const Shape& shape);

/// The axes that names leave open: weights of matrix products are [channels, inputs].
struct FormatAxes {
  std::int64_t channel = 0;  ///< a scale, or a table, for each index of it
  std::int64_t block = 1;    ///< along which blocks lie
};

/// As above. Every format reads back as what it was.
[[nodiscard]] std::string to_string(const NumberFormat& format);
/// Reads that, or a name: `int4`, `nvfp4`, `codebook:16:channel`. In text, too, `channel` and
/// `block=32` stand for `axes`. `usage`, with the column, for what is no format.
[[nodiscard]] Expected<NumberFormat> parse_number_format(std::string_view text,
                                                         const FormatAxes& axes = {});

/// The same with blocks of `size`: those of the innermost scales, and of minima; tables and outer
/// levels keep their groups. `usage` where there are no blocks, or they are no parts of those.
[[nodiscard]] Expected<NumberFormat> with_block_size(NumberFormat format, std::int64_t size);
/// The same with outermost scales, and minima, of another type; `usage` where there are none.
[[nodiscard]] Expected<NumberFormat> with_scale_type(NumberFormat format, ElementType type);

/// A name, what it stands for with axes left open, and where it is from.
struct NamedFormat {
  std::string_view name;
  std::string_view text;
  std::string_view source;
};
/// All of them; `codebook:N` with its groups is not among them.
[[nodiscard]] std::span<const NamedFormat> named_formats() noexcept;

// A number format with its scales: what the codes of one tensor mean.

struct ScaledFormat {
  NumberFormat format;
  /// Of each level, of `parameter_shape`: float32 numbers that the level can hold. Those of a
  /// uniform type stay as they are there.
  std::vector<Constant> scales;
  /// Of each level, as the scales; the zero points alone where there are such, of the type of
  /// codes.
  std::vector<Constant> offsets;
  /// Where it is stored, as float32: `parameter_shape` of its groups, with one more axis.
  Constant table;

  /// Shares scales and zero points. `uniform` gives back what `of` was given, but for a
  /// `storage_bits` that is that of the storage and becomes 0.
  [[nodiscard]] static ScaledFormat of(const UniformType& type);
  /// Empty for a format that is not uniform.
  [[nodiscard]] std::optional<UniformType> uniform() const;

  friend bool operator==(const ScaledFormat&, const ScaledFormat&) = default;
};

/// The format and the numbers of `quantization`, which is not none, whether it is uniform or not.
[[nodiscard]] ScaledFormat scaled_format(const Quantization& quantization);

/// What a format holds besides codes: a constant of scales, offsets or tables.
struct FormatPart {
  const ScaleLevel* level = nullptr;  ///< of the format; null for zero points and tables
  ElementType element = ElementType::float32;
  Granularity groups;
  int values = 0;  ///< of each group, for tables; 0: one number
};
/// Scales by level, offsets, the table, in this order. Refers to `format`.
[[nodiscard]] std::vector<FormatPart> parts_of(const NumberFormat& format);
std::vector<FormatPart> parts_of(NumberFormat&&) = delete;
/// The shape that `part` has for a tensor of that shape, which has the axes.
[[nodiscard]] Shape shape_of(const FormatPart& part, const Shape& tensor);

/// The constants of the parts, in that order, as far as they are there.
[[nodiscard]] std::vector<Constant> contents_of(const ScaledFormat& format);
/// The opposite. Parts that are missing are empty.
[[nodiscard]] ScaledFormat with_contents(NumberFormat format, std::span<const Constant> contents);

}  // namespace quadrant::inline v0
