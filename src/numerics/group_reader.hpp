// The elements of one group after another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/groups.hpp"
#include "numerics/pieces.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Reads a float constant from its beginning to its end, and holds as much of it as the group that
/// was asked for is spread over. Once, but for groups at the ends of pieces. One reader a thread.
class GroupReader {
 public:
  GroupReader(const Constant& constant, const Groups& groups)
      : reader_(constant), groups_(groups) {}

  /// The elements of `group`, valid until the next read; groups are asked for in ascending order.
  /// Not what was asked for when there is a `non_finite` afterwards.
  [[nodiscard]] Expected<std::span<const float>> read(std::int64_t group);

  /// The first element that is not finite, if it has been met: by the last group, every element
  /// has.
  [[nodiscard]] const std::optional<NonFinite>& non_finite() const noexcept { return non_finite_; }

 private:
  [[nodiscard]] Expected<std::span<const float>> read_neighbours(std::int64_t first,
                                                                 std::size_t length);
  [[nodiscard]] Expected<void> hold(std::int64_t first, std::int64_t end);

  FloatReader reader_;
  Groups groups_;
  std::span<const float> piece_;  ///< the reader's last, for groups of neighbours
  std::int64_t piece_first_ = 0;
  std::vector<float> held_;  ///< elements from `held_first_` on
  std::int64_t held_first_ = 0;
  std::vector<float> gathered_;
  std::optional<NonFinite> non_finite_;
};

}  // namespace quadrant::inline v0
