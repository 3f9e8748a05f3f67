// Shapes of results.
#pragma once

#include "quadrant/ir/shape.hpp"

namespace quadrant::inline v0::tflite {

/// The shape that both broadcast to; where one of two extents is not known, it is the other if that
/// is not 1.
[[nodiscard]] Shape broadcast_shape(const Shape& a, const Shape& b);

}  // namespace quadrant::inline v0::tflite
