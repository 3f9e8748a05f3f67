#include "numerics/group_reader.hpp"

#include <algorithm>

namespace quadrant::inline v0 {

Expected<std::span<const float>> GroupReader::read(std::int64_t group) {
  const Members members = groups_.members(group);
  if (members.count == 1 && members.length <= std::int64_t{piece_elements}) {
    return read_neighbours(members.first, static_cast<std::size_t>(members.length));
  }
  QUADRANT_CHECK(hold(members.first, members.end()));
  if (non_finite_) return std::span<const float>();
  const float* chunk = held_.data() + (members.first - held_first_);
  const auto length = static_cast<std::size_t>(members.length);
  if (members.count == 1) return std::span(chunk, length);
  const auto count = static_cast<std::size_t>(members.count);
  const auto stride = static_cast<std::size_t>(members.stride);
  gathered_.resize(count * length);
  if (length == 1) {
    for (std::size_t i = 0; i < count; ++i) gathered_[i] = chunk[i * stride];
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(chunk + i * stride, length, gathered_.data() + i * length);
    }
  }
  return std::span<const float>(gathered_);
}

// A piece begins with the group that the one before does not have whole.
Expected<std::span<const float>> GroupReader::read_neighbours(std::int64_t first,
                                                              std::size_t length) {
  auto skip = static_cast<std::size_t>(first - piece_first_);
  if (skip + length > piece_.size()) {
    QUADRANT_TRY(piece_, reader_.read(first, piece_size(first, groups_.element_count())));
    piece_first_ = first;
    skip = 0;
    non_finite_ = first_non_finite(piece_, first);
    if (non_finite_) return std::span<const float>();
  }
  return piece_.subspan(skip, length);
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
