#include "numerics/group_reader.hpp"

#include <algorithm>

namespace quadrant::inline v0 {

Expected<std::span<const float>> GroupReader::read(std::int64_t group) {
  const Members members = groups_.members(group);
  QUADRANT_CHECK(hold(members.first, members.end()));
  if (non_finite_) return std::span<const float>();
  const float* chunk = held_.data() + (members.first - held_first_);
  const auto length = static_cast<std::size_t>(members.length);
  if (members.count == 1) return std::span(chunk, length);
  gathered_.clear();
  for (std::int64_t i = 0; i < members.count; ++i) {
    gathered_.insert(gathered_.end(), chunk, chunk + length);
    if (i + 1 < members.count) chunk += members.stride;
  }
  return std::span<const float>(gathered_);
}

Expected<void> GroupReader::hold(std::int64_t first, std::int64_t end) {
  auto next = held_first_ + static_cast<std::int64_t>(held_.size());
  if (end <= next) return {};
  // Only when that frees much: each time, what is left moves.
  if (const std::int64_t passed = first - held_first_; passed >= next - first) {
    held_.erase(held_.begin(), held_.begin() + passed);
    held_first_ = first;
  }
  constexpr auto margin = static_cast<std::int64_t>(piece_elements);
  held_.reserve(static_cast<std::size_t>(
      std::min(groups_.element_count() - held_first_, 2 * (end - first + margin))));
  while (next < end && !non_finite_) {
    const std::size_t count = piece_size(next, groups_.element_count());
    QUADRANT_TRY(const std::span<const float> piece, reader_.read(next, count));
    non_finite_ = first_non_finite(piece, next);
    held_.insert(held_.end(), piece.begin(), piece.end());
    next += static_cast<std::int64_t>(count);
  }
  return {};
}

}  // namespace quadrant::inline v0
