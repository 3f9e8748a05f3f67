#include "runtime/broadcast.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrant::inline v0 {

Expected<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  const bool a_is_longer = a.rank() >= b.rank();
  const Shape& longer = a_is_longer ? a : b;
  const Shape& shorter = a_is_longer ? b : a;
  std::vector<std::int64_t> extents(longer.known_extents().begin(), longer.known_extents().end());
  const auto first = static_cast<std::size_t>(longer.rank() - shorter.rank());
  for (std::size_t axis = first; axis < extents.size(); ++axis) {
    const std::int64_t extent = shorter[static_cast<std::int64_t>(axis - first)].value();
    if (extent == extents[axis] || extent == 1) continue;
    if (extents[axis] != 1) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("operands of shapes [{}] and [{}] do not go together", to_string(a),
                              to_string(b)));
    }
    extents[axis] = extent;
  }
  return Shape(extents);
}

Expected<Shape> broadcast_shape(std::span<const Tensor> operands) {
  Shape shape = Shape::scalar();
  for (const Tensor& operand : operands) {
    QUADRANT_TRY(shape, broadcast_shape(shape, operand.shape()));
  }
  return shape;
}

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> own = from.strides();
  std::vector<std::int64_t> strides(static_cast<std::size_t>(to.rank()), 0);
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    const std::size_t target = strides.size() - own.size() + axis;
    const bool repeats = from.known_extents()[axis] == 1 && to.known_extents()[target] != 1;
    strides[target] = repeats ? 0 : own[axis];
  }
  return strides;
}

}  // namespace quadrant::inline v0
