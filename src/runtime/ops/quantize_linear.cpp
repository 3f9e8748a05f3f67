// ONNX's QuantizeLinear and DequantizeLinear, and com.microsoft's: with scales and zero points that
// are operands, so that they may be computed.
#include "ir/ops/codes.hpp"
#include "quadrant/ir/ops.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/affine.hpp"
#include "runtime/ops/cast.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// The element type that an attribute numbers; `fallback` where it is 0 or missing.
ElementType element_attribute(const KernelCall& call, std::string_view name, ElementType fallback) {
  return numbered_element_type(call.attribute_or<std::int64_t>(name, 0)).value_or(fallback);
}

// Which elements share a scale is what the shape of the scales tells.
Expected<Granularity> granularity_of(const KernelCall& call) {
  const Shape& shape = call.operand(0).shape();
  const Shape& scales = call.operand(1).shape();
  const auto block_size = call.attribute_or<std::int64_t>("block_size", 0);
  const bool blocks = block_size > 0 && scales.rank() == shape.rank() && shape.rank() > 0;
  if (!blocks && scales.rank() <= 1 && call.operand(1).element_count() == 1) {
    return Granularity::per_tensor();
  }
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, 1, shape.rank()));
  const Granularity granularity =
      blocks ? Granularity::per_block(axis, block_size) : Granularity::per_axis(axis);
  if (scales == parameter_shape(shape, granularity)) return granularity;
  return KernelCall::refuse(fmt::format(
      "scales of shape [{}] for an operand of shape [{}], along axis {}, where [{}] is needed",
      to_string(scales), to_string(shape), axis, to_string(parameter_shape(shape, granularity))));
}

Expected<Parameters> parameters_of(const KernelCall& call, ElementType storage) {
  const Tensor& zero_point = call.operand(2);
  if (zero_point && zero_point.element() != storage) {
    return KernelCall::refuse(fmt::format("zero points of type {} for codes of type {}",
                                          to_string(zero_point.element()), to_string(storage)));
  }
  QUADRANT_TRY(const Granularity granularity, granularity_of(call));
  QUADRANT_TRY(const Tensor scales, cast_to(call.operand(1), ElementType::float32));
  Tensor zero_points;
  if (zero_point) {
    QUADRANT_TRY(zero_points, cast_to(zero_point, ElementType::int64));
  }
  const auto values = scales.as<float>();
  return affine_parameters(call.operand(0).shape(), storage, granularity,
                           {values.begin(), values.end()}, zero_points.as<std::int64_t>());
}

// Divides in float32 whatever the types are, as ONNX Runtime does.
Expected<Tensors> quantize_linear(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& zero_point = call.operand(2);
  const ElementType storage = zero_point
                                  ? zero_point.element()
                                  : element_attribute(call, "output_dtype", ElementType::uint8);
  QUADRANT_TRY(const Parameters parameters, parameters_of(call, storage));
  QUADRANT_TRY(Tensor codes, quantize_tensor(call.operand(0), parameters, storage));
  return Tensors{std::move(codes)};
}

Expected<Tensors> dequantize_linear(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& codes = call.operand(0);
  const ElementType expressed = element_attribute(call, "output_dtype", call.operand(1).element());
  if (!is_float(expressed)) {
    return KernelCall::refuse(
        fmt::format("results of type {}, which is not float", to_string(expressed)));
  }
  QUADRANT_TRY(const Parameters parameters, parameters_of(call, codes.element()));
  QUADRANT_TRY(Tensor real, dequantize_tensor(codes, parameters, expressed));
  return Tensors{std::move(real)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_quantize_linear() noexcept {
  // Scales and values may be of different types, which the kernels see to.
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::QuantizeLinear::kind, quantize_linear},
                                  {"onnx.com.microsoft::QuantizeLinear", quantize_linear},
                                  {ops::DequantizeLinear::kind, dequantize_linear},
                                  {"onnx.com.microsoft::DequantizeLinear", dequantize_linear}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
