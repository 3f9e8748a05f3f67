// One number as a tensor.
#pragma once

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::interpreted {

/// A scalar of the type, converted as ONNX casts.
[[nodiscard]] Expected<Tensor> scalar_of(ElementType element, double number);

}  // namespace quadrant::inline v0::interpreted
