// MLIR's quantized types, as it writes them (https://mlir.llvm.org/docs/Dialects/QuantDialect).
//
//   !quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:3}>    UniformType
//   !quant.any<i8<-16:15>>                              codes whose meaning is not said
//   !quant.calibrated<f32<-0.998:1.2321>>               floats of a known range
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Codes that stand for floats in a way that is not said.
struct AnyQuantizedType {
  ElementType storage = ElementType::int8;
  int storage_bits = 0;  ///< as in UniformType
  std::int64_t storage_min = -128;
  std::int64_t storage_max = 127;
  std::optional<ElementType> expressed;
  friend bool operator==(const AnyQuantizedType&, const AnyQuantizedType&) = default;
};

/// Floats that were observed between `min` and `max`, not yet quantized.
struct CalibratedType {
  ElementType expressed = ElementType::float32;
  double min = -1;
  double max = 1;
  friend bool operator==(const CalibratedType&, const CalibratedType&) = default;
};

using QuantizedType = std::variant<UniformType, AnyQuantizedType, CalibratedType>;

/// Reads MLIR's text. Scales become float64, one for each index of an axis as there are of them: a
/// type alone has no shape. `invalid_model`, with the column, for what MLIR 22 refuses, and for
/// zero points that are no codes, which it does not look at; `impossible` for blocks along several
/// axes. Linear; takes memory in proportion to the text.
[[nodiscard]] Expected<QuantizedType> parse_quantized_type(std::string_view text);

/// MLIR's text, which versions 19 and 22 read; blocks are for versions from 20 on, and want the
/// rank of their scales. Reads the scales whole. `impossible` where `verify_quantized_type` refuses
/// the type.
[[nodiscard]] Expected<std::string> print_quantized_type(const QuantizedType& type);

/// MLIR's rules: codes of 1 to 32 bits in a range of two and more; a float type is expressed;
/// scales are above zero and inside the expressed type's range, subnormal numbers included; zero
/// points are codes; a calibrated range has two ends, and zero need not be inside.
[[nodiscard]] Expected<void> verify_quantized_type(const QuantizedType& type);

/// The same, as the element type of a tensor of shape `shape`: the axis is one of it, with as many
/// scales as indices; blocks divide their axis.
[[nodiscard]] Expected<void> verify_quantized_type(const QuantizedType& type, const Shape& shape);

}  // namespace quadrant::inline v0
