#include "runtime/half_floats.hpp"

#include <algorithm>

#include "ir/float16.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {

Expected<Tensor> widened(const Tensor& tensor) {
  if (!is_half_float(tensor.element())) return tensor;
  QUADRANT_TRY(Tensor wide, Tensor::make(ElementType::float32, tensor.shape()));
  widen_to_float(tensor.element(), tensor.bytes(), wide.fill<float>());
  return wide;
}

Expected<Tensor> rounded_to(ElementType half, const Tensor& tensor) {
  if (tensor.element() != ElementType::float32) return tensor;
  QUADRANT_TRY(Tensor narrow, Tensor::make(half, tensor.shape()));
  const bool brain = half == ElementType::bfloat16;
  std::ranges::transform(
      tensor.as<float>(), narrow.fill<std::uint16_t>().begin(),
      [&](float value) { return brain ? round_to_bfloat16(value) : round_to_float16(value); });
  return narrow;
}

Expected<Tensors> call_kernel(const KernelEntry& entry, NodeRef node, std::int64_t opset,
                              std::vector<Tensor>& operands) {
  const bool has_half = std::ranges::any_of(
      operands, [](const Tensor& operand) { return is_half_float(operand.element()); });
  if (entry.half_floats == HalfFloats::kept || !has_half) {
    return entry.kernel(KernelCall(node, opset, operands));
  }
  // Others may be half floats beside float32 data: a resize's region, say.
  const ElementType element = std::ranges::find_if(operands, [](const Tensor& operand) {
                                return is_float(operand.element());
                              })->element();
  for (Tensor& operand : operands) {
    QUADRANT_TRY(operand, widened(operand));
  }
  QUADRANT_TRY(Tensors results, entry.kernel(KernelCall(node, opset, operands)));
  if (!is_half_float(element)) return results;
  for (Tensor& result : results) {
    QUADRANT_TRY(result, rounded_to(element, result));
  }
  return results;
}

}  // namespace quadrant::inline v0
