// Which scale an element of a row-major tensor has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

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

/// Runs of the same length, one behind the other. Where groups are interleaved, element i of each
/// run belongs to `group` + i; else the elements of run i do.
struct RunBatch {
  std::size_t group = 0;
  std::size_t position = 0;  ///< of the first element
  std::size_t length = 0;
  std::size_t runs = 0;
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

  /// How many groups a run has elements of, at most.
  [[nodiscard]] std::int64_t groups_of_run() const noexcept {
    return interleaved_ ? run_length_ : 1;
  }

  /// The elements of a group. Both ends of where groups lie grow with their number.
  [[nodiscard]] Members members(std::int64_t group) const noexcept;

  /// Cuts the `count` elements from `first` on into batches of runs and calls `body(batch)` for
  /// each, in order.
  template <class Body>
  void for_each_batch(std::int64_t first, std::size_t count, Body body) const {
    for (std::size_t position = 0; position < count;) {
      const auto left = static_cast<std::int64_t>(count - position);
      const RunBatch batch = batch_at(first + static_cast<std::int64_t>(position), left, position);
      body(batch);
      position += batch.runs * batch.length;
    }
  }

  /// The same run by run: calls `body(group, position, length)`.
  template <class Body>
  void for_each_run(std::int64_t first, std::size_t count, Body body) const {
    for_each_batch(first, count, [&](const RunBatch& batch) {
      for (std::size_t run = 0; run < batch.runs; ++run) {
        body(interleaved_ ? batch.group : batch.group + run, batch.position + run * batch.length,
             batch.length);
      }
    });
  }

  /// The same element by element: calls `body(i, group)`, elements counted from `first`.
  template <class Body>
  void for_each_element(std::size_t first, std::size_t count, Body body) const {
    for_each_run(static_cast<std::int64_t>(first), count,
                 [&](std::size_t group, std::size_t position, std::size_t length) {
                   for (std::size_t i = 0; i < length; ++i) {
                     body(position + i, interleaved_ ? group + i : group);
                   }
                 });
  }

  /// How many of the `count` runs of `length` neighbours, `step` apart from `first` on, are in the
  /// same groups as the first, place by place, and those groups neighbours as well: at least 1.
  [[nodiscard]] std::size_t runs_alike(std::int64_t first, std::int64_t step, std::size_t length,
                                       std::size_t count) const noexcept;

  /// How many neighbouring groups, from each multiple of that number on, together are one stretch
  /// of memory: 0 where groups are spread over the whole tensor.
  [[nodiscard]] std::int64_t groups_together() const noexcept {
    if (groups_per_cycle_ != 0) return interleaved_ ? inner_ : 1;
    return !interleaved_ && cycle_length_ == element_count_ ? 1 : 0;
  }

  /// The elements of such a stretch, but for what the last block of an axis is short of; 0 where
  /// groups are spread.
  [[nodiscard]] std::int64_t elements_together() const noexcept {
    if (groups_together() == 0 || element_count_ == 0) return 0;
    return run_length_ * runs_per_group_;
  }

  /// How many groups to look at together, from each multiple of that number on: as many stretches
  /// as have about so many `elements`, and at least one; where groups are spread, all.
  [[nodiscard]] std::int64_t groups_in(std::int64_t elements) const noexcept {
    const std::int64_t size = elements_together();
    if (size == 0) return std::max<std::int64_t>(group_count_, 1);
    return std::max<std::int64_t>(elements / size, 1) * groups_together();
  }

  /// Whether every such stretch, and where there are none every row, begins at an even element.
  [[nodiscard]] bool begin_even() const noexcept {
    const bool one_cycle = cycle_length_ == element_count_;
    return run_length_ * runs_per_group_ % 2 == 0 && (one_cycle || cycle_length_ % 2 == 0);
  }

 private:
  Groups() = default;

  /// As long as can be, and at most `most` elements.
  [[nodiscard]] RunBatch batch_at(std::int64_t element, std::int64_t most,
                                  std::size_t position) const noexcept;

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
  bool seamless_ = false;  ///< runs go on from one cycle to the next as they do inside
};

}  // namespace quadrant::inline v0
