#include "transforms/channel_axes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "numerics/reals.hpp"

namespace quadrant::inline v0 {

namespace {

// Of each channel, the place that these strides give it.
std::vector<std::size_t> places(const ChannelAxes& channels,
                                std::span<const std::int64_t> strides) {
  std::vector<std::size_t> found{0};
  for (std::size_t i = 0; i < channels.axes.size(); ++i) {
    std::vector<std::size_t> more;
    more.reserve(found.size() * static_cast<std::size_t>(channels.extents[i]));
    for (const std::size_t place : found) {
      for (std::int64_t k = 0; k < channels.extents[i]; ++k) {
        more.push_back(place + static_cast<std::size_t>(k * strides[i]));
      }
    }
    found = std::move(more);
  }
  return found;
}

// Elements along all axes behind one, which is counted from the end.
OrReason<std::int64_t> behind(const Shape& shape, std::int64_t axis) {
  std::int64_t count = 1;
  for (std::int64_t i = axis + 1; i < 0; ++i) {
    const Extent extent = shape[shape.rank() + i];
    if (!extent.is_known() || extent.value() == 0) return because("its extents are not known");
    count *= extent.value();
  }
  return count;
}

}  // namespace

std::int64_t ChannelAxes::count() const noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

bool ChannelAxes::are_in(const Shape& shape) const noexcept {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!shape.is_ranked() || shape.rank() < -axes[i]) return false;
    if (!surely_equal(shape[shape.rank() + axes[i]], extents[i])) return false;
  }
  return true;
}

OrReason<std::vector<double>> read_along(const Constant& constant, const ChannelAxes& channels) {
  const Shape& shape = constant.shape();
  const std::vector<std::int64_t> all = shape.strides();
  std::vector<std::int64_t> strides(channels.axes.size());
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (surely_equal(shape[axis], 1)) continue;
    const auto found = std::ranges::find(channels.axes, axis - shape.rank());
    const auto i = static_cast<std::size_t>(found - channels.axes.begin());
    if (found == channels.axes.end() || !surely_equal(shape[axis], channels.extents[i])) {
      return because("its constant is not one number a channel");
    }
    strides[i] = all[static_cast<std::size_t>(axis)];
  }
  const Expected<std::vector<double>> values = read_reals(constant);
  if (!values) return because(to_string(values.error()));
  std::vector<double> result;
  for (const std::size_t place : places(channels, strides)) result.push_back((*values)[place]);
  return result;
}

Constant constant_along(const ChannelAxes& channels, std::span<const double> values,
                        ElementType element, std::int64_t rank) {
  for (const std::int64_t axis : channels.axes) rank = std::max(rank, -axis);
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
  for (std::size_t i = 0; i < channels.axes.size(); ++i) {
    extents[static_cast<std::size_t>(rank + channels.axes[i])] = channels.extents[i];
  }
  const Shape shape(extents);
  const std::vector<std::int64_t> all = shape.strides();
  std::vector<std::int64_t> strides;
  strides.reserve(channels.axes.size());
  for (const std::int64_t axis : channels.axes) {
    strides.push_back(all[static_cast<std::size_t>(rank + axis)]);
  }
  std::vector<double> laid(values.size());
  const std::vector<std::size_t> at = places(channels, strides);
  for (std::size_t i = 0; i < at.size(); ++i) laid[at[i]] = values[i];
  return rounded_constant(element, shape, laid);
}

OrReason<ChannelAxes> before_transpose(const ChannelAxes& channels,
                                       std::span<const std::int64_t> perm) {
  const auto rank = static_cast<std::int64_t>(perm.size());
  ChannelAxes before = channels;
  for (std::int64_t& axis : before.axes) {
    if (rank < -axis) return because("its axes are not known");
    axis = perm[static_cast<std::size_t>(rank + axis)] - rank;
  }
  return before;
}

OrReason<ChannelAxes> before_reshape(const ChannelAxes& channels, const Shape& from,
                                     const Shape& to) {
  if (!from.is_ranked() || !to.is_ranked() || to.rank() < -channels.axes.front()) {
    return because("its extents are not known");
  }
  for (std::size_t i = 1; i < channels.axes.size(); ++i) {
    if (channels.axes[i] != channels.axes[i - 1] + 1) return because("its channels are not a run");
  }
  const OrReason<std::int64_t> inner = behind(to, channels.axes.back());
  if (!inner) return because(inner.error());
  // From the last axis on, those behind the channels, then those that make up the channels.
  std::int64_t axis = -1;
  const auto gather = [&](std::int64_t wanted) {
    std::int64_t product = 1;
    for (; product < wanted && -axis <= from.rank(); --axis) {
      const Extent extent = from[from.rank() + axis];
      if (!extent.is_known() || extent.value() == 0) return false;
      product *= extent.value();
    }
    return product == wanted;
  };
  if (!gather(*inner)) return because("it mixes the channels with other axes");
  const std::int64_t last = axis;
  if (!gather(channels.count())) return because("it mixes the channels with other axes");
  ChannelAxes before;
  for (std::int64_t i = axis + 1; i <= last; ++i) {
    const std::int64_t extent = from[from.rank() + i].value();
    if (extent == 1 && last != axis + 1) continue;
    before.axes.push_back(i);
    before.extents.push_back(extent);
  }
  if (before.axes.empty())
    return because("it has no axis of the channels");  // there is one channel
  return before;
}

}  // namespace quadrant::inline v0
