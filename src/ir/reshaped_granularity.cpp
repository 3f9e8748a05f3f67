// A row-major index is a number with the shape's extents as its digits, and a group joins the
// elements that differ in some run of the digits alone: along an axis of stride s, a block of b
// joins what differs between place values s and s b; a channel joins what differs below the axis or
// above it. Place values are the same in whichever shape the number is read.
#include "ir/reshaped_granularity.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace quadrant::inline v0 {
namespace {

// Digits from place value `low` to `high`; none where both are 1.
struct Digits {
  std::int64_t low = 1;
  std::int64_t high = 1;
  friend bool operator==(const Digits&, const Digits&) = default;
};

// Two runs of digits at most, the lower one first, a gap between them.
using Joined = std::array<Digits, 2>;

Joined joined(Digits lower, Digits upper) {
  if (lower.low == lower.high) lower = Digits{};
  if (upper.low == upper.high) return {lower, Digits{}};
  if (lower == Digits{}) return {upper, Digits{}};
  if (lower.high == upper.low) return {Digits{lower.low, upper.high}, Digits{}};
  return {lower, upper};
}

// One axis among `count` elements.
struct Axis {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  friend bool operator==(const Axis&, const Axis&) = default;
};

std::vector<Axis> axes_of(const Shape& shape) {
  const std::vector<std::int64_t> strides = shape.strides();
  std::vector<Axis> axes;
  axes.reserve(strides.size());
  for (std::size_t i = 0; i < strides.size(); ++i) {
    axes.push_back({shape.known_extents()[i], strides[i]});
  }
  return axes;
}

Joined joined_by_channel(const Axis& axis, std::int64_t count) {
  return joined({1, axis.stride}, {axis.stride * axis.extent, count});
}

// `size` divides the extent.
Joined joined_by_block(const Axis& axis, std::int64_t size) {
  return joined({axis.stride, axis.stride * size}, {});
}

// The groups of a tensor with these axes that join these digits.
std::optional<Granularity> groups_that_join(const Joined& wanted, const std::vector<Axis>& axes,
                                            std::int64_t count) {
  if (wanted == joined({1, count}, {})) return Granularity::per_tensor();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (joined_by_channel(axes[i], count) == wanted) {
      return Granularity::per_axis(static_cast<std::int64_t>(i));
    }
  }
  const std::int64_t size = wanted[0].high / wanted[0].low;
  if (size == 1) return std::nullopt;  // nothing is joined
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].extent % size == 0 && joined_by_block(axes[i], size) == wanted) {
      return Granularity::per_block(static_cast<std::int64_t>(i), size);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Granularity> reshaped_granularity(const Shape& from, const Shape& to,
                                                const Granularity& wanted) {
  const Granularity& granularity = wanted;
  if (granularity.kind == Granularity::Kind::tensor) return wanted;
  const auto count = from.element_count();
  if (!count || *count == 0 || count != to.element_count() || granularity.axis >= to.rank()) {
    return std::nullopt;
  }
  const std::vector<Axis> axes = axes_of(from);
  const Axis axis = axes_of(to)[static_cast<std::size_t>(granularity.axis)];
  if (granularity.kind == Granularity::Kind::axis) {
    return groups_that_join(joined_by_channel(axis, *count), axes, *count);
  }
  const std::int64_t size = std::min(granularity.block_size, axis.extent);
  if (axis.extent % size != 0) {
    // The last block is short: the axis, with its extent and its stride, must still be there.
    const auto same = std::ranges::find(axes, axis);
    if (same == axes.end()) return std::nullopt;
    return Granularity::per_block(same - axes.begin(), size);
  }
  return groups_that_join(joined_by_block(axis, size), axes, *count);
}

}  // namespace quadrant::inline v0
