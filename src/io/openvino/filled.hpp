// Constants of one number.
#pragma once

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::openvino_ir {

/// `value`, rounded to `element`, a float type, for each element of `shape`, which is static.
[[nodiscard]] Constant filled(ElementType element, const Shape& shape, double value);

}  // namespace quadrant::inline v0::openvino_ir
