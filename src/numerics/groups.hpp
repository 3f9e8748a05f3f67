// Which scale an element of a row-major tensor has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Where the elements of one group lie: `count` times `length` neighbours, `stride` apart.
struct Members {
  std::int64_t first = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  std::int64_t count = 0;

  /// Just behind the last of them; `first` when there are none.
  [[nodiscard]] std::int64_t end() const noexcept {
    return count == 0 ? first : first + (count - 1) * stride + length;
  }
};

/// A tensor seen as [outer, extent, inner], the middle being the axis of the scales: per axis,
/// elements with the same middle index form a group; per block, those of the same outer and inner
/// index whose middle indices lie in the same block. Groups are numbered as their scales are.
class Groups {
 public:
  /// `impossible` when the shape is not static, has no such axis, or blocks are smaller than 1.
  [[nodiscard]] static Expected<Groups> of(const Shape& shape, const Granularity& granularity);

  [[nodiscard]] std::int64_t element_count() const noexcept { return element_count_; }
  [[nodiscard]] std::int64_t group_count() const noexcept { return group_count_; }

  /// Whether neighbours in memory belong to neighbouring groups rather than to the same group: the
  /// axis is the innermost, or, for blocks, it is not.
  [[nodiscard]] bool interleaved() const noexcept { return interleaved_; }

  /// The elements of a group. Both ends of where groups lie grow with their number.
  [[nodiscard]] Members members(std::int64_t group) const noexcept;

  /// Cuts the `count` elements from `first` on into runs and calls `body(group, position, length)`
  /// for each, in order; `position` counts from `first`. Element i of a run belongs to `group + i`
  /// when interleaved, else to `group`.
  template <class Body>
  void for_each_run(std::int64_t first, std::size_t count, Body body) const {
    if (count == 0) return;
    std::int64_t inside = first % cycle_length_;
    std::int64_t left = cycle_length_ - inside;
    const std::int64_t run = inside / run_length_;
    inside %= run_length_;
    std::int64_t repeat = run % runs_per_group_;
    std::int64_t group =
        first / cycle_length_ * groups_per_cycle_ + run / runs_per_group_ * group_step_;
    for (std::size_t position = 0; position < count;) {
      const std::size_t length = std::min(
          static_cast<std::size_t>(std::min(run_length_ - inside, left)), count - position);
      body(static_cast<std::size_t>(interleaved_ ? group + inside : group), position, length);
      position += length;
      left -= static_cast<std::int64_t>(length);
      inside = 0;
      ++repeat;
      if (left == 0) {
        left = cycle_length_;
        repeat = 0;
        group = groups_per_cycle_ == 0 ? 0 : group + group_step_;
      } else if (repeat == runs_per_group_) {
        repeat = 0;
        group += group_step_;
      }
    }
  }

 private:
  Groups() = default;

  std::int64_t element_count_ = 0;
  std::int64_t group_count_ = 1;
  // Runs make up a cycle, one step along the outer axis; the last one of a cycle may be short.
  std::int64_t cycle_length_ = 1;
  std::int64_t groups_per_cycle_ = 0;  ///< 0: each cycle has the same groups
  std::int64_t run_length_ = 1;
  std::int64_t runs_per_group_ = 1;
  std::int64_t group_step_ = 1;  ///< from a run's group to the next one's that is not the same
  std::int64_t inner_ = 1;
  bool interleaved_ = false;
};

}  // namespace quadrant::inline v0
