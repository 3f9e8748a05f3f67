// In which order a tensor of the file holds the axes of a value of the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/shape.hpp"

namespace quadrant::inline v0::tflite {

/// Axis `i` of the tensor is axis `axes[i]` of the value.
using Axes = std::vector<std::int32_t>;

/// The value's own order.
[[nodiscard]] Axes plain_axes(std::int64_t rank);
/// Channels, axis 1, come last: 0, 2, 3, 1.
[[nodiscard]] Axes channels_last(std::int64_t rank);
[[nodiscard]] bool is_plain(const Axes& axes) noexcept;
/// Where axis `axis` of the value is in the tensor.
[[nodiscard]] std::int32_t position(const Axes& axes, std::int64_t axis) noexcept;
/// Axis `i` of a tensor laid out as `to` is axis `result[i]` of the same laid out as `from`.
[[nodiscard]] Axes between(const Axes& from, const Axes& to);
/// Of a tensor that moves its axes: axis `i` of the result is axis `perm[i]` of a value laid out as
/// `axes`. The same tensor, laid out as the result of this function, is that result.
[[nodiscard]] Axes moved(const Axes& axes, std::span<const std::int64_t> perm);
/// Whether elements lie in the same order both ways: only axes of extent 1 move.
[[nodiscard]] bool same_order(const Shape& shape, const Axes& from, const Axes& to);
/// The extents of the tensor.
[[nodiscard]] Shape arranged(const Shape& shape, const Axes& axes);
/// The tensor's elements.
[[nodiscard]] Constant arranged(const Constant& constant, const Axes& axes);

}  // namespace quadrant::inline v0::tflite
