#include "quadrant/ir/quantization.hpp"

namespace quadrant::inline v0 {

Quantization Quantization::of(const UniformType& type) {
  Quantization result{NumberFormat::of(type), {type.scales}, {}, {}};
  if (type.zero_points) result.offsets.push_back(type.zero_points);
  return result;
}

std::optional<UniformType> Quantization::uniform() const {
  if (!is_uniform(format)) return std::nullopt;
  const auto& code = std::get<IntegerCode>(format.code);
  UniformType type;
  type.storage = storage_element(code.bits, code.is_signed);
  type.storage_bits = code.bits == bit_width(type.storage) ? 0 : code.bits;
  type.expressed = format.expressed;
  type.granularity = format.scales.front().groups;
  type.storage_min = code.min;
  type.storage_max = code.max;
  type.scales = scales.front();
  if (!offsets.empty()) type.zero_points = offsets.front();
  return type;
}

}  // namespace quadrant::inline v0
