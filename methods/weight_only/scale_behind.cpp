#include "weight_only/scale_behind.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "weight_only/quotient.hpp"
#include "weight_only/relabel.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

std::string name_of(Value value, RewriteContext& context) {
  return std::string(context.view().value_name(value));
}

// The codes as real numbers, not scaled: what their scale is now, is 1.
Expected<Value> emit_unscaled(Value codes, RewriteContext& context) {
  const TensorType coded = context.view().type(codes);
  auto unit = std::make_shared<UniformType>(*coded.uniform());
  if (!unit->zero_points) unit->granularity = Granularity::per_tensor();
  const Shape shape = parameter_shape(coded.shape, unit->granularity);
  const std::vector<double> ones(static_cast<std::size_t>(shape.element_count().value_or(1)), 1);
  unit->scales = rounded_constant(ElementType::float32, shape, ones);

  const std::string name = name_of(codes, context) + "_unscaled";
  QUADRANT_TRY(const Value unscaled, relabel(codes, std::move(unit), name, context));
  return context.emit(ops::Dequantize::kind, {unscaled}, name, coded.expressed());
}

// The scales of the weight's channels, in their order along the axis of the result.
Expected<std::vector<double>> result_scales(const UniformType& type, const Weight& weight) {
  QUADRANT_TRY(const std::vector<float> stored, read_scales(type.scales));
  const std::vector<double> scales(stored.begin(), stored.end());
  std::vector<double> repeated;
  for (std::int64_t i = 0; i < weight.repeats; ++i) {
    repeated.insert(repeated.end(), scales.begin(), scales.end());
  }
  return type.granularity.kind == Granularity::Kind::tensor ? scales : repeated;
}

// Broadcasts along the result's axes, the channels being at `result_axis` from the end.
Shape scale_shape(const UniformType& type, const Weight& weight, std::size_t count) {
  if (type.granularity.kind == Granularity::Kind::tensor) {
    return Shape(std::vector<std::int64_t>{});
  }
  std::vector<std::int64_t> extents(static_cast<std::size_t>(weight.result_axis), 1);
  extents.front() = static_cast<std::int64_t>(count);
  return Shape(extents);
}

// A bias that is divided by all scales can stay where it was added: the multiplications behind undo
// it. Empty where it cannot.
Expected<Constant> divided_bias(NodeRef node, const Bias& bias, std::span<const Constant> scales) {
  const Constant* before = node.operand_constant(bias.operand);
  if (before == nullptr || !*before || node.operand_type(bias.operand)->is_quantized()) {
    return Constant{};
  }
  Constant divided = *before;
  for (const Constant& scale : scales) {
    const Constant divisor =
        bias.is_channelwise ? scale.reshaped(Shape{scale.element_count()}) : scale;
    QUADRANT_TRY(divided, quotient(divided, divisor));
    if (!divided || (bias.is_row && divided.shape().rank() > 1)) return Constant{};
  }
  return divided;
}

// The bias is taken out, to be added behind: returns it in a shape that broadcasts to the result.
// `channel`: the axis of the channels in the result, from the end. `element`: the type that the
// node computes in.
Expected<Value> take_bias_out(NodeRef node, const Bias& bias, std::int64_t channel,
                              ElementType element, RewriteContext& context) {
  const Value taken = node.operand(bias.operand);
  TensorType type = context.view().type(taken);
  type.element = element;  // whoever makes the bias may not say
  const std::string name = name_of(taken, context);
  const Shape scalar(std::vector<std::int64_t>{});
  Value nothing;
  if (bias.is_required) {
    QUADRANT_TRY(nothing,
                 context.emit_constant(name + "_none",
                                       rounded_constant(type.element, scalar, std::array{0.0})));
  }
  QUADRANT_CHECK(context.graph().set_operand(node.id, bias.operand, nothing));
  if (bias.is_channelwise) {
    std::vector<std::int64_t> asked(static_cast<std::size_t>(channel), 1);
    asked.front() = -1;
    QUADRANT_TRY(const Value shape,
                 context.emit_constant(name + "_shape",
                                       Constant::from_values<std::int64_t>(
                                           ElementType::int64,
                                           Shape{static_cast<std::int64_t>(asked.size())}, asked)));
    std::vector<Extent> extents(asked.size(), 1);
    extents.front() = type.shape.rank() == 1 ? type.shape[0] : Extent::open();
    return context.emit(ops::Reshape::kind, {taken, shape}, name,
                        {type.element, Shape(std::move(extents)), nullptr});
  }
  const auto beta = node.attribute_or<double>("beta", 1);
  if (beta == 1) return taken;
  QUADRANT_TRY(const Value factor,
               context.emit_constant(name + "_beta",
                                     rounded_constant(type.element, scalar, std::array{beta})));
  return context.emit(ops::Multiply::kind, {taken, factor}, name, type);
}

}  // namespace

Expected<void> multiply_behind(Value value, Value scale, RewriteContext& context) {
  const std::string name = name_of(value, context);
  QUADRANT_TRY(const Value scaled,
               context.emit(ops::Multiply::kind, {value, scale}, name, context.view().type(value)));
  return context.take_place(value, scaled, "_unscaled");
}

Expected<void> put_behind(NodeRef node, std::span<const Weight> weights,
                          const std::optional<Bias>& bias, RewriteContext& context) {
  std::vector<Constant> scales;
  std::vector<std::string> names;
  for (const Weight& weight : weights) {
    const Value codes = node.operand(weight.operand);
    const std::shared_ptr<const UniformType> type = context.quantization(codes);
    names.push_back(name_of(codes, context) + "_scale");
    QUADRANT_TRY(const std::vector<double> values, result_scales(*type, weight));
    scales.push_back(
        rounded_constant(type->expressed, scale_shape(*type, weight, values.size()), values));
    QUADRANT_TRY(const Value unscaled, emit_unscaled(codes, context));
    QUADRANT_CHECK(context.graph().set_operand(node.id, weight.operand, unscaled));
  }

  Value added_behind;
  if (bias && !node.operand(bias->operand).is_absent()) {
    QUADRANT_TRY(Constant divided, divided_bias(node, *bias, scales));
    if (divided) {
      const std::string name = name_of(node.operand(bias->operand), context) + "_unscaled";
      QUADRANT_TRY(const Value made, context.emit_constant(name, std::move(divided)));
      QUADRANT_CHECK(context.graph().set_operand(node.id, bias->operand, made));
    } else {
      QUADRANT_TRY(added_behind, take_bias_out(node, *bias, weights.front().result_axis,
                                               scales.front().element(), context));
    }
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    QUADRANT_TRY(const Value factor, context.emit_constant(names[i], scales[i]));
    QUADRANT_CHECK(multiply_behind(context.current(node.result()), factor, context));
  }
  if (added_behind.is_absent()) return {};

  const Value scaled = context.current(node.result());
  const std::string name = name_of(scaled, context);
  QUADRANT_TRY(const Value sum, context.emit(ops::Add::kind, {scaled, added_behind}, name,
                                             context.view().type(scaled)));
  return context.take_place(scaled, sum, "_scaled");
}

}  // namespace quadrant::inline v0::weight_only
