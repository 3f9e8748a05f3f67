#include "io/tflite/layout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "io/tflite/failure.hpp"

namespace quadrant::inline v0::tflite {

Axes plain_axes(std::int64_t rank) {
  Axes axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Axes channels_last(std::int64_t rank) {
  Axes axes = plain_axes(rank);
  if (rank > 2) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return axes;
}

bool is_plain(const Axes& axes) noexcept { return std::ranges::is_sorted(axes); }

std::int32_t position(const Axes& axes, std::int64_t axis) noexcept {
  return static_cast<std::int32_t>(std::ranges::find(axes, axis) - axes.begin());
}

Axes between(const Axes& from, const Axes& to) {
  Axes result;
  for (const std::int32_t axis : to) result.push_back(position(from, axis));
  return result;
}

Axes moved(const Axes& axes, std::span<const std::int64_t> perm) {
  Axes result;
  for (const std::int32_t axis : axes) {
    result.push_back(static_cast<std::int32_t>(std::ranges::find(perm, axis) - perm.begin()));
  }
  return result;
}

bool same_order(const Shape& shape, const Axes& from, const Axes& to) {
  const auto is_one = [&](std::int32_t axis) { return surely_equal(shape[axis], 1); };
  Axes a;
  Axes b;
  std::ranges::remove_copy_if(from, std::back_inserter(a), is_one);
  std::ranges::remove_copy_if(to, std::back_inserter(b), is_one);
  return a == b;
}

Shape arranged(const Shape& shape, const Axes& axes) {
  std::vector<Extent> extents;
  for (const std::int32_t axis : axes) extents.push_back(shape[axis]);
  return Shape(std::move(extents));
}

Constant arranged(const Constant& constant, const Axes& axes) {
  const Shape shape = arranged(constant.shape(), axes);
  if (same_order(constant.shape(), plain_axes(constant.shape().rank()), axes)) {
    return constant.reshaped(shape);
  }
  const ConstantBytes from = value_of(constant.read());
  const auto width = static_cast<std::size_t>(byte_width(constant.element()));
  std::vector<std::byte> to(from.bytes().size());
  const std::vector<std::int64_t> strides = constant.shape().strides();
  std::vector<std::int64_t> index(axes.size(), 0);
  std::int64_t source = 0;
  for (std::size_t target = 0; target < to.size(); target += width) {
    std::memcpy(&to[target], &from.bytes()[static_cast<std::size_t>(source) * width], width);
    // The next index, the last axis first.
    for (std::size_t axis = index.size(); axis-- > 0;) {
      const std::int64_t stride = strides[static_cast<std::size_t>(axes[axis])];
      source += stride;
      if (++index[axis] < shape.known_extents()[axis]) break;
      source -= stride * index[axis];
      index[axis] = 0;
    }
  }
  return Constant::from_bytes(constant.element(), shape, std::move(to));
}

}  // namespace quadrant::inline v0::tflite
