#include "numerics/format_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/scales.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> other_numbers(std::string_view what, const NumberFormat& format) {
  return fail(ErrorCode::impossible, fmt::format("other {} than {} has", what, to_string(format)));
}

// The numbers of a tree, if there are as many as it has groups.
bool take(LevelTree& tree, const std::vector<std::vector<float>>& numbers) {
  const bool fits = std::ranges::equal(tree.numbers, numbers, {}, &std::vector<float>::size,
                                       &std::vector<float>::size);
  if (fits) tree.numbers = numbers;
  return fits;
}

Expected<std::vector<std::vector<float>>> read_levels(const std::vector<Constant>& constants) {
  std::vector<std::vector<float>> levels;
  for (const Constant& constant : constants) {
    if (is_integer(constant.element())) {  // zero points
      QUADRANT_TRY(const auto integers, read_integers(constant, constant.element_count()));
      auto& level = levels.emplace_back(integers.size());
      std::ranges::transform(integers, level.begin(),
                             [](std::int64_t value) { return static_cast<float>(value); });
    } else {
      QUADRANT_TRY(levels.emplace_back(), read_scales(constant));
    }
  }
  return levels;
}

}  // namespace

Expected<FormatDecoder> FormatDecoder::make(const NumberFormat& format, const Shape& shape,
                                            const Encoded& numbers) {
  QUADRANT_CHECK(verify(format, shape));
  const int bits = bit_width(format.code);
  if (bits > 16) {
    return fail(ErrorCode::impossible, fmt::format("codes of {} bits: they have 16 at most", bits));
  }
  const auto* stored = std::get_if<StoredTable>(&format.code);
  QUADRANT_TRY(const Groups blocks, Groups::of(shape, innermost_groups(format)));
  QUADRANT_TRY(const Groups tables,
               Groups::of(shape, stored != nullptr ? stored->groups : Granularity::per_tensor()));
  FormatDecoder made(blocks, tables);
  QUADRANT_TRY(made.scales_, LevelTree::of(format.scales, shape, blocks));
  QUADRANT_TRY(made.minima_, LevelTree::of(format.offsets, shape, blocks));
  if (!take(made.scales_, numbers.scales)) return other_numbers("scales", format);
  if (format.offset == Offset::zero_point) {
    if (numbers.offsets.size() != 1 ||
        numbers.offsets[0].size() != static_cast<std::size_t>(blocks.group_count())) {
      return other_numbers("zero points", format);
    }
    made.zero_points_ = numbers.offsets[0];
  } else if (!take(made.minima_, numbers.offsets)) {
    return other_numbers("minima", format);
  }
  if (stored == nullptr) {
    made.values_ = CodeValues(format.code);
  } else {
    made.levels_ = static_cast<std::size_t>(stored->levels);
  }
  made.table_ = numbers.table;
  if (made.table_.size() != made.levels_ * static_cast<std::size_t>(tables.group_count())) {
    return other_numbers("tables", format);
  }
  made.width_ = bits > 8 ? 2 : 1;
  return made;
}

Expected<Encoded> numbers_of(const ScaledFormat& format) {
  Encoded numbers;
  QUADRANT_TRY(numbers.scales, read_levels(format.scales));
  QUADRANT_TRY(numbers.offsets, read_levels(format.offsets));
  if (format.table) {
    QUADRANT_TRY(numbers.table, read_scales(format.table));
  }
  return numbers;
}

Expected<FormatDecoder> FormatDecoder::make(const ScaledFormat& format, const Shape& shape) {
  QUADRANT_TRY(const Encoded numbers, numbers_of(format));
  return make(format.format, shape, numbers);
}

float FormatDecoder::level(std::span<const std::byte> codes, std::size_t i,
                           std::size_t table) const noexcept {
  auto code = std::to_integer<std::uint32_t>(codes[i * width_]);
  if (width_ == 2) code |= std::to_integer<std::uint32_t>(codes[i * 2 + 1]) << 8U;
  if (levels_ == 0) return values_.value_of(code);
  return table_[table * levels_ + std::min<std::size_t>(code, levels_ - 1)];
}

void FormatDecoder::decode(std::span<const std::byte> codes, std::size_t first,
                           std::span<float> out) const {
  tables_.for_each_element(first, out.size(), [&](std::size_t i, std::size_t table) {
    out[i] = level(codes, i, table);
  });
  if (scales_.size() == 0) return;
  auto known = static_cast<std::size_t>(blocks_.group_count());
  float scale = 1;
  float shift = 0;
  float minimum = 0;
  blocks_.for_each_element(first, out.size(), [&](std::size_t i, std::size_t block) {
    if (block != known) {
      scale = scales_.product(block, scales_.size());
      if (!zero_points_.empty()) shift = zero_points_[block];
      if (minima_.size() > 0) minimum = minima_.product(block, minima_.size());
      known = block;
    }
    out[i] = (out[i] - shift) * scale - minimum;
  });
}

}  // namespace quadrant::inline v0
