// Tensors of float values as tensors of codes, and back, where float32 and int32 are too narrow.
#pragma once

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::interpreted {

/// Whether `type` is one for the functions below: its scales and what it expresses are float64, or
/// its codes have 32 bits without a sign.
[[nodiscard]] bool is_wide(const UniformType& type) noexcept;

/// Codes by quantize_value, in float64 where scales and expressed values are that, in float32
/// otherwise. `real` are numbers of any type. Refuses a type that does not fit the shape.
[[nodiscard]] Expected<Tensor> quantize_wide_tensor(const Tensor& real, const UniformType& type);

/// The float values of such codes in the same precision, as the expressed type.
[[nodiscard]] Expected<Tensor> dequantize_wide_tensor(const Tensor& codes, const UniformType& type);

}  // namespace quadrant::inline v0::interpreted
