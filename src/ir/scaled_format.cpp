#include <algorithm>
#include <cstddef>
#include <utility>

#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

ScaledFormat ScaledFormat::of(const UniformType& type) {
  ScaledFormat result{NumberFormat::of(type), {type.scales}, {}, {}};
  if (type.zero_points) result.offsets.push_back(type.zero_points);
  return result;
}

std::optional<UniformType> ScaledFormat::uniform() const {
  if (!is_uniform(format) || scales.empty()) return std::nullopt;
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

std::vector<FormatPart> parts_of(const NumberFormat& format) {
  std::vector<FormatPart> parts;
  for (const auto* const levels : {&format.scales, &format.offsets}) {
    for (const ScaleLevel& level : *levels) {
      parts.push_back({&level, ElementType::float32, level.groups});
    }
  }
  if (format.offset == Offset::zero_point) {
    parts.push_back({nullptr, storage_element(format), innermost_groups(format)});
  }
  if (const auto* table = std::get_if<StoredTable>(&format.code)) {
    parts.push_back({nullptr, ElementType::float32, table->groups, table->levels});
  }
  return parts;
}

std::vector<Constant> contents_of(const ScaledFormat& format) {
  std::vector<Constant> contents = format.scales;
  contents.insert(contents.end(), format.offsets.begin(), format.offsets.end());
  if (format.table) contents.push_back(format.table);
  return contents;
}

ScaledFormat with_contents(NumberFormat format, std::span<const Constant> contents) {
  ScaledFormat made{std::move(format), {}, {}, {}};
  const std::size_t scales = std::min(made.format.scales.size(), contents.size());
  made.scales.assign(contents.begin(), contents.begin() + static_cast<std::ptrdiff_t>(scales));
  contents = contents.subspan(scales);
  if (std::holds_alternative<StoredTable>(made.format.code) && !contents.empty()) {
    made.table = contents.back();
    contents = contents.first(contents.size() - 1);
  }
  made.offsets.assign(contents.begin(), contents.end());
  return made;
}

Shape shape_of(const FormatPart& part, const Shape& tensor) {
  Shape groups = parameter_shape(tensor, part.groups);
  if (part.values == 0 || !groups.is_ranked()) return groups;
  std::vector<Extent> extents(groups.extents().begin(), groups.extents().end());
  extents.emplace_back(part.values);
  return Shape(std::move(extents));
}

}  // namespace quadrant::inline v0
