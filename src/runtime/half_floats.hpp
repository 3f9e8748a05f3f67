// float16 and bfloat16, for kernels that know float32.
#pragma once

#include <vector>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] constexpr bool is_half_float(ElementType element) noexcept {
  return element == ElementType::float16 || element == ElementType::bfloat16;
}

/// A tensor of half floats as float32; any other as it is.
[[nodiscard]] Expected<Tensor> widened(const Tensor& tensor);
/// A float32 tensor as `half`, rounded to nearest even; any other as it is.
[[nodiscard]] Expected<Tensor> rounded_to(ElementType half, const Tensor& tensor);

/// Calls the entry's kernel as it wants to be called.
[[nodiscard]] Expected<Tensors> call_kernel(const KernelEntry& entry, NodeRef node,
                                            std::int64_t opset, std::vector<Tensor>& operands);

}  // namespace quadrant::inline v0
