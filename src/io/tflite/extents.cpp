#include "io/tflite/extents.hpp"

#include <algorithm>

#include "io/tflite/failure.hpp"

namespace quadrant::inline v0::tflite {

Shape broadcast_shape(const Shape& a, const Shape& b) {
  const std::int64_t rank = std::max(a.rank(), b.rank());
  std::vector<Extent> extents(static_cast<std::size_t>(rank), 1);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const Extent x = axis < rank - a.rank() ? Extent(1) : a[axis - (rank - a.rank())];
    const Extent y = axis < rank - b.rank() ? Extent(1) : b[axis - (rank - b.rank())];
    Extent& extent = extents[static_cast<std::size_t>(axis)];
    if (surely_equal(y, 1)) {
      extent = x;
    } else if (surely_equal(x, 1)) {
      extent = y;
    } else if (may_equal(x, y)) {
      extent = known_one(x, y);
    } else {
      invalid("operands whose shapes do not broadcast");
    }
  }
  return Shape(std::move(extents));
}

}  // namespace quadrant::inline v0::tflite
