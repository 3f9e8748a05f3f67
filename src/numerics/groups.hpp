// Which scale an element of a row-major tensor has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// A tensor seen as [outer, groups, inner]: elements with the same middle index share parameters.
/// Per tensor, there is one group.
class Groups {
 public:
  /// `impossible` when the shape is not static, has no such axis, or the granularity is per block.
  [[nodiscard]] static Expected<Groups> of(const Shape& shape, const Granularity& granularity);

  [[nodiscard]] std::int64_t element_count() const noexcept { return element_count_; }
  [[nodiscard]] std::int64_t group_count() const noexcept { return group_count_; }

  /// Whether neighbours in memory belong to neighbouring groups (the axis is the innermost) rather
  /// than to the same group.
  [[nodiscard]] bool interleaved() const noexcept { return interleaved_; }

  /// Cuts the `count` elements from `first` on into runs and calls `body(group, position, length)`
  /// for each, in order; `position` counts from `first`. Element i of a run belongs to `group + i`
  /// when interleaved, else to `group`.
  template <class Body>
  void for_each_run(std::int64_t first, std::size_t count, Body body) const {
    if (count == 0) return;
    const std::int64_t run = first / run_length_;
    std::int64_t inside = first % run_length_;
    std::int64_t group = interleaved_ ? inside : run % group_count_;
    for (std::size_t position = 0; position < count;) {
      const std::size_t length =
          std::min(static_cast<std::size_t>(run_length_ - inside), count - position);
      body(static_cast<std::size_t>(group), position, length);
      position += length;
      inside = 0;
      ++group;
      if (interleaved_ || group == group_count_) group = 0;
    }
  }

 private:
  Groups() = default;

  std::int64_t element_count_ = 0;
  std::int64_t group_count_ = 1;
  std::int64_t run_length_ = 1;  ///< elements up to the next one that starts over or changes group
  bool interleaved_ = false;
};

}  // namespace quadrant::inline v0
