// Numbers that are operands of operators.
#pragma once

#include <string_view>

#include "io/tflite/lower.hpp"

namespace quadrant::inline v0::tflite {

/// `value` beside data of type `type`, as a tensor of rank 0: a code where that has codes, the
/// nearest there is.
[[nodiscard]] TensorId number_tensor(Lowering& lowering, const NodeRef& node, std::string_view what,
                                     const TensorType& type, float value);

}  // namespace quadrant::inline v0::tflite
