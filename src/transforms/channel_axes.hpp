// Channels that lie along one axis of a value, or along several: heads, and what a head has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/shape.hpp"
#include "quadrant/support/error.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

/// Channel number (i, j, ...) in row-major order is at i along the first axis, j along the second.
struct ChannelAxes {
  std::vector<std::int64_t> axes;  ///< counted from the end, below 0, none twice
  std::vector<std::int64_t> extents;

  [[nodiscard]] std::int64_t count() const noexcept;
  /// Whether a value of that shape is known to have all of them.
  [[nodiscard]] bool are_in(const Shape& shape) const noexcept;
  friend bool operator==(const ChannelAxes&, const ChannelAxes&) = default;
};

/// One number for each channel, of a constant that broadcasts to a value with such channels and is
/// the same along its other axes.
[[nodiscard]] OrReason<std::vector<double>> read_along(const Constant& constant,
                                                       const ChannelAxes& channels);
/// The opposite: of `rank` axes, or as many as it takes.
[[nodiscard]] Constant constant_along(const ChannelAxes& channels, std::span<const double> values,
                                      ElementType element, std::int64_t rank);

/// Where channels of a transpose's result lie in its operand.
[[nodiscard]] OrReason<ChannelAxes> before_transpose(const ChannelAxes& channels,
                                                     std::span<const std::int64_t> perm);
/// The same of an operation that keeps the order of elements, by the shapes of both.
[[nodiscard]] OrReason<ChannelAxes> before_reshape(const ChannelAxes& channels, const Shape& from,
                                                   const Shape& to);

}  // namespace quadrant::inline v0
