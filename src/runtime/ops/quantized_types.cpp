// `quantize`, `dequantize` and `storage_cast`, whose parameters are in the types of values; and
// `const_fake_quant` and `fake_quant`, which are the first two with a type that they say
// themselves.
#include "ir/scales.hpp"
#include "numerics/fake_quant_type.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/affine.hpp"
#include "runtime/ops/affine_wide.hpp"
#include "runtime/ops/cast.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// What `uniform` means for a tensor of that shape.
Expected<Parameters> parameters_of(const UniformType& uniform, const Shape& shape) {
  QUADRANT_CHECK(verify(uniform, shape));
  QUADRANT_TRY(std::vector<float> scales, read_scales(uniform.scales));
  QUADRANT_TRY(const auto zero_points, read_zero_points(uniform));
  QUADRANT_TRY(Parameters parameters, affine_parameters(shape, uniform.storage, uniform.granularity,
                                                        std::move(scales), zero_points));
  parameters.storage_min = static_cast<std::int32_t>(uniform.storage_min);
  parameters.storage_max = static_cast<std::int32_t>(uniform.storage_max);
  return parameters;
}

// The same of the type that the graph gives to a value.
Expected<Parameters> parameters_of(const TensorType& type, const Shape& shape) {
  if (!type.quantization) return KernelCall::refuse("codes without a quantized type");
  return parameters_of(*type.uniform(), shape);
}

Expected<Tensors> fake_quantized(const Tensor& real, std::span<const FakeQuantRange> ranges,
                                 std::optional<std::int64_t> axis) {
  // The graph need not have known the rank.
  if (axis) {
    QUADRANT_TRY(axis, axis_below(*axis, real.rank()));
  }
  QUADRANT_TRY(const auto type, fake_quant_type(ranges, axis, real.element()));
  QUADRANT_TRY(const Parameters parameters, parameters_of(*type, real.shape()));
  QUADRANT_TRY(const Tensor codes, quantize_tensor(real, parameters, type->storage));
  QUADRANT_TRY(Tensor rounded, dequantize_tensor(codes, parameters, real.element()));
  return Tensors{std::move(rounded)};
}

// Of formats that are not uniform.
Expected<Tensors> encoded(const Tensor& real, const Quantization& quantization) {
  QUADRANT_TRY(const Constant codes, quantized(real.to_constant(), quantization));
  QUADRANT_TRY(Tensor made, Tensor::from_constant(codes));
  return Tensors{std::move(made)};
}
Expected<Tensors> decoded(const Tensor& codes, const Quantization& quantization) {
  QUADRANT_TRY(const Constant numbers, dequantized(codes.to_constant(), quantization));
  QUADRANT_TRY(const Tensor real, Tensor::from_constant(numbers));
  QUADRANT_TRY(Tensor expressed, cast_to(real, quantization.expressed()));
  return Tensors{std::move(expressed)};
}

Expected<Tensors> quantize(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& real = call.operand(0);
  const TensorType& type = call.node().type();
  if (type.quantization.other()) return encoded(real, type.quantization);
  if (type.quantization && is_wide(*type.uniform())) {
    QUADRANT_TRY(Tensor wide, quantize_wide_tensor(real, *type.uniform()));
    return Tensors{std::move(wide)};
  }
  QUADRANT_TRY(const Parameters parameters, parameters_of(type, real.shape()));
  QUADRANT_TRY(Tensor codes, quantize_tensor(real, parameters, type.uniform()->storage));
  return Tensors{std::move(codes)};
}

Expected<Tensors> dequantize(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& codes = call.operand(0);
  const TensorType& type = *call.node().operand_type(0);
  if (type.quantization && codes.element() != type.quantization.storage()) {
    return KernelCall::refuse(fmt::format("codes of type {}, where the value's type has {}",
                                          to_string(codes.element()),
                                          to_string(type.quantization.storage())));
  }
  if (type.quantization.other()) return decoded(codes, type.quantization);
  if (type.quantization && is_wide(*type.uniform())) {
    QUADRANT_TRY(Tensor wide, dequantize_wide_tensor(codes, *type.uniform()));
    return Tensors{std::move(wide)};
  }
  QUADRANT_TRY(const Parameters parameters, parameters_of(type, codes.shape()));
  QUADRANT_TRY(Tensor real, dequantize_tensor(codes, parameters, type.uniform()->expressed));
  return Tensors{std::move(real)};
}

// A quantized value is a tensor of its codes, so there is nothing to do.
Expected<Tensors> storage_cast(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& bits = call.operand(0);
  const ElementType element = call.node().type().element;
  if (element == bits.element() || element == ElementType::undefined) return Tensors{bits};
  return KernelCall::refuse(
      fmt::format("codes of type {} stored as {}", to_string(bits.element()), to_string(element)));
}

Expected<Tensors> const_fake_quant(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const ops::ConstFakeQuant view{call.node()};
  QUADRANT_TRY(const auto ranges, view.ranges());
  QUADRANT_TRY(const auto axis, view.axis());
  return fake_quantized(call.operand(0), ranges, axis);
}

// Operands: X, min, max.
Expected<Tensors> fake_quant(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  const ops::FakeQuant view{call.node()};
  QUADRANT_TRY(const std::vector<double> min, reals_of(call.operand(1)));
  QUADRANT_TRY(const std::vector<double> max, reals_of(call.operand(2)));
  QUADRANT_TRY(const auto ranges, view.ranges(min, max));
  QUADRANT_TRY(const auto axis, view.axis());
  return fake_quantized(call.operand(0), ranges, axis);
}

}  // namespace

std::span<const KernelEntry> kernels::in_quantized_types() noexcept {
  // Scales and values may be of different types, which the kernels see to.
  static constexpr auto table = std::to_array<KernelEntry>({{"quantize", quantize},
                                                            {"dequantize", dequantize},
                                                            {"storage_cast", storage_cast},
                                                            {"const_fake_quant", const_fake_quant},
                                                            {"fake_quant", fake_quant}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
