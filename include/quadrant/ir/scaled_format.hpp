// A number format with its scales: what the codes of one tensor mean.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

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

/// What `quantization`, which is not none, says, whether it is uniform or not.
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
