#include "io/tflite/extents.hpp"

#include <algorithm>

#include "io/tflite/failure.hpp"

namespace quadrant::inline v0::tflite {

Shape broadcast_shape(const Shape& a, const Shape& b) {
  const std::int64_t rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t x = axis < rank - a.rank() ? 1 : a[axis - (rank - a.rank())];
    const std::int64_t y = axis < rank - b.rank() ? 1 : b[axis - (rank - b.rank())];
    std::int64_t& extent = extents[static_cast<std::size_t>(axis)];
    if (x == y || y == 1) {
      extent = x;
    } else if (x == 1) {
      extent = y;
    } else if (x == Shape::dynamic || y == Shape::dynamic) {
      extent = std::max(x, y);
    } else {
      invalid("operands whose shapes do not broadcast");
    }
  }
  return Shape(std::move(extents));
}

}  // namespace quadrant::inline v0::tflite
