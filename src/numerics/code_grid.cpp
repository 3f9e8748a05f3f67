#include "numerics/code_grid.hpp"

#include <span>

#include "numerics/format_decoder.hpp"

namespace quadrant::inline v0 {

Expected<CodeGrids> CodeGrids::make(const NumberFormat& format, const Shape& shape,
                                    const Encoded& numbers) {
  QUADRANT_CHECK(FormatDecoder::make(format, shape, numbers));  // that all numbers are there
  QUADRANT_TRY(const Groups groups, Groups::of(shape, code_groups(format)));
  CodeGrids made(groups);
  QUADRANT_TRY(made.scales_, LevelTree::of(format.scales, shape, groups));
  QUADRANT_TRY(made.minima_, LevelTree::of(format.offsets, shape, groups));
  made.scales_.numbers = numbers.scales;
  if (format.offset == Offset::zero_point) {
    made.zero_points_ = numbers.offsets.front();
  } else {
    made.minima_.numbers = numbers.offsets;
  }
  if (const auto* const stored = std::get_if<StoredTable>(&format.code)) {
    QUADRANT_TRY(made.table_owners_, owners_of(stored->groups, shape, groups));
    const auto levels = static_cast<std::size_t>(stored->levels);
    for (std::size_t first = 0; first < numbers.table.size(); first += levels) {
      made.values_.emplace_back(std::span(numbers.table).subspan(first, levels));
    }
  } else {
    made.values_.emplace_back(format.code);
  }
  made.width_ = bit_width(format.code) > 8 ? 2 : 1;
  return made;
}

std::size_t CodeGrids::group_of(std::size_t element) const noexcept {
  std::size_t found = 0;
  groups_.for_each_run(static_cast<std::int64_t>(element), 1,
                       [&](std::size_t group, std::size_t, std::size_t) { found = group; });
  return found;
}

std::vector<std::uint32_t> CodeGrids::groups() const {
  std::vector<std::uint32_t> found(static_cast<std::size_t>(groups_.element_count()));
  groups_.for_each_element(0, found.size(), [&](std::size_t i, std::size_t group) {
    found[i] = static_cast<std::uint32_t>(group);
  });
  return found;
}

CodeGrid CodeGrids::grid(std::size_t group) const noexcept {
  CodeGrid grid;
  grid.values = &values_[table_owners_.empty() ? 0 : table_owners_[group]];
  if (scales_.size() > 0) grid.scale = scales_.product(group, scales_.size());
  if (minima_.size() > 0) grid.minimum = minima_.product(group, minima_.size());
  if (!zero_points_.empty()) grid.zero_point = zero_points_[group];
  return grid;
}

}  // namespace quadrant::inline v0
