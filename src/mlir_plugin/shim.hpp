#pragma once
#include "quadrant/ir/scales.hpp"
namespace quadrant::inline v0::mlir_plugin {
inline ElementType storage_element(int bits, bool is_signed) {
  if (bits <= 4) return is_signed ? ElementType::int4 : ElementType::uint4;
  if (bits <= 8) return is_signed ? ElementType::int8 : ElementType::uint8;
  if (bits <= 16) return is_signed ? ElementType::int16 : ElementType::uint16;
  return is_signed ? ElementType::int32 : ElementType::uint32;
}
inline int declared_bits(const UniformType& t) { return bit_width(t.storage); }
inline Constant make_scales(ElementType, const Shape& s, const std::vector<double>& v) {
  return quadrant::make_scales(ElementType::float32, s, std::vector<float>(v.begin(), v.end()));
}
inline Expected<std::vector<double>> read_exact_scales(const Constant& c) {
  QUADRANT_TRY(const std::vector<float> f, read_scales(c));
  return std::vector<double>(f.begin(), f.end());
}
}  // namespace quadrant::inline v0::mlir_plugin
