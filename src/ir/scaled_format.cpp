#include "quadrant/ir/scaled_format.hpp"

#include <utility>

namespace quadrant::inline v0 {

ScaledFormat ScaledFormat::of(const UniformType& type) {
  ScaledFormat result{NumberFormat::of(type), {type.scales}, {}, {}};
  if (type.zero_points) result.offsets.push_back(type.zero_points);
  return result;
}

std::optional<UniformType> ScaledFormat::uniform() const {
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

ScaledFormat scaled_format(const Quantization& quantization) {
  return quantization.uniform() ? ScaledFormat::of(*quantization.uniform()) : *quantization.other();
}

std::vector<FormatPart> parts_of(const ScaledFormat& format) {
  std::vector<FormatPart> parts;
  const auto contents = [](const std::vector<Constant>& of, std::size_t level) {
    return level < of.size() ? &of[level] : nullptr;
  };
  const NumberFormat& numbers = format.format;
  for (std::size_t i = 0; i < numbers.scales.size(); ++i) {
    parts.push_back({contents(format.scales, i), ElementType::float32, numbers.scales[i].groups});
  }
  for (std::size_t i = 0; i < numbers.offsets.size(); ++i) {
    parts.push_back({contents(format.offsets, i), ElementType::float32, numbers.offsets[i].groups});
  }
  if (numbers.offset == Offset::zero_point) {
    parts.push_back(
        {contents(format.offsets, 0), storage_element(numbers), innermost_groups(numbers)});
  }
  if (const auto* table = std::get_if<StoredTable>(&numbers.code)) {
    parts.push_back({&format.table, ElementType::float32, table->groups, table->levels});
  }
  return parts;
}

Shape shape_of(const FormatPart& part, const Shape& tensor) {
  const Shape groups = parameter_shape(tensor, part.groups);
  if (part.values == 0) return groups;
  std::vector<Extent> extents(groups.extents().begin(), groups.extents().end());
  extents.emplace_back(part.values);
  return Shape(std::move(extents));
}

}  // namespace quadrant::inline v0
