// A matrix whose elements another stores column by column.
#pragma once

#include <cstdint>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::onnx {

/// The elements of `matrix`, row-major `[rows, columns]` whatever its shape says, in the order of
/// its transpose, under the shape `shape` of as many. Computed when it is read, any part at a time;
/// several threads may read.
[[nodiscard]] Constant transposed(Constant matrix, std::int64_t rows, std::int64_t columns,
                                  Shape shape);

}  // namespace quadrant::inline v0::onnx
