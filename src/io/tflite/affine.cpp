#include "io/tflite/affine.hpp"

#include <algorithm>
#include <cmath>

#include "io/tflite/chain.hpp"
#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/spread.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// One parameter for each element that does not share it: a GATHER for each axis that has blocks.
/// `tensor`: laid out as `axes`, its extents those of `spread`.
TensorId spread_tensor(Lowering& lowering, const NodeRef& node, std::string_view what,
                       TensorId tensor, const Spread& spread, const Axes& axes) {
  Model& model = lowering.model();
  std::vector<Extent> extents = spread.parameters;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const Extent whole = spread.data[axis];
    if (surely_equal(extents[axis], 1) || surely_equal(extents[axis], whole)) continue;
    // One for each index, of which at least one number is open.
    const bool are_known = whole.is_known() && extents[axis].is_known();
    if (spread.blocks[axis] == 1 && !are_known) continue;
    if (!whole.is_known()) impossible("blocks of an unknown extent");
    const std::int64_t extent = whole.value();
    std::vector<std::int32_t> indices;
    indices.reserve(static_cast<std::size_t>(extent));
    for (std::int64_t i = 0; i < extent; ++i) {
      indices.push_back(static_cast<std::int32_t>(i / spread.blocks[axis]));
    }
    extents[axis] = extent;
    const TensorId to =
        lowering.temporary(node, fmt::format("{}_along_{}", what, axis),
                           {ElementType::float32, arranged(Shape(extents), axes), nullptr});
    schema::GatherOptionsT options;
    options.axis = position(axes, static_cast<std::int64_t>(axis));
    model.emit({BuiltinOperator::GATHER}, {tensor, model.integers(indices)}, {to}, options);
    tensor = to;
  }
  return tensor;
}

/// Operand `operand`, in its own order, as real numbers.
TensorId computed_parameter(Lowering& lowering, const NodeRef& node, std::size_t operand,
                            std::string_view what) {
  const Value value = node.operand(operand);
  if (value.is_absent()) return no_tensor;
  const Spread spread = spread_of(node, lowering.ranked(node.operand(0)), lowering.ranked(value));
  Chain chain(lowering, node, lowering.shape(value));
  TensorId tensor = lowering.plain(value);
  if (lowering.type(value).element != ElementType::float32) tensor = chain.cast(tensor);
  const Shape wide(spread.parameters);
  // A single one broadcasts as it is.
  if (wide != lowering.shape(value) && wide.element_count() != 1) {
    const TensorId to = lowering.temporary(node, fmt::format("{}_wide", what),
                                           {ElementType::float32, wide, nullptr});
    lowering.reshape(tensor, to);
    tensor = to;
  }
  return spread_tensor(lowering, node, what, tensor, spread, plain_axes(wide.rank()));
}

}  // namespace

AffineTensors parameters_of(Lowering& lowering, const NodeRef& node, const TensorType& type,
                            const Axes& axes) {
  const auto codes = uniform_of(type.quantization);
  Spread spread = spread_of(type.shape, codes->granularity);
  if (codes->granularity.kind == Granularity::Kind::axis) {
    // An open extent of the data is that of its scales.
    spread.parameters[static_cast<std::size_t>(codes->granularity.axis)] =
        codes->scales.element_count();
  }
  const Shape wide(spread.parameters);
  const auto tensor = [&](std::string_view what, const std::vector<float>& numbers) {
    if (numbers.size() == 1) return lowering.model().real(numbers.front());
    if (wide.element_count() != static_cast<std::int64_t>(numbers.size())) {
      impossible("scales that do not fit the codes");
    }
    const TensorId made = lowering.model().add_constant(
        lowering.name(node, what),
        Constant::from_values(ElementType::float32, wide, std::span<const float>(numbers)), nullptr,
        axes);
    return spread_tensor(lowering, node, what, made, spread, axes);
  };
  AffineTensors made{.scale = tensor("scales", value_of(read_scales(codes)))};
  const auto zeros = value_of(read_zero_points(codes));
  if (std::ranges::any_of(zeros, [](std::int64_t zero) { return zero != 0; })) {
    made.zero = tensor("zeros", {zeros.begin(), zeros.end()});
  }
  return made;
}

AffineTensors computed_parameters(Lowering& lowering, const NodeRef& node) {
  const TensorId scale = computed_parameter(lowering, node, 1, "scales");
  return {.scale = scale, .zero = computed_parameter(lowering, node, 2, "zeros")};
}

void dequantize_by_arithmetic(Lowering& lowering, const NodeRef& node,
                              const AffineTensors& parameters, const Axes& axes) {
  const Value codes = node.operand(0);
  const Shape shape = arranged(lowering.ranked(codes), axes);
  Chain chain(lowering, node, shape);
  TensorId real = chain.cast(lowering.tensor(codes, axes));
  if (parameters.zero != no_tensor) {
    real = chain.apply(BuiltinOperator::SUB, {real, parameters.zero});
  }
  chain.finish(node.result(), chain.apply(BuiltinOperator::MUL, {real, parameters.scale}), axes);
}

void quantize_by_arithmetic(Lowering& lowering, const NodeRef& node,
                            const AffineTensors& parameters, const Axes& axes) {
  const TensorType codes = lowering.type(node.result());
  auto range = integer_range(codes.element);
  if (!range) impossible("codes of an unknown type");
  if (codes.is_quantized()) {
    const auto uniform = uniform_of(codes.quantization);
    range = IntegerRange{uniform->storage_min, uniform->storage_max};
  }
  const Value data = node.operand(0);
  Chain chain(lowering, node, arranged(lowering.ranked(data), axes));
  TensorId value = lowering.tensor(data, axes);
  if (is_integer(lowering.type(data).element)) value = chain.cast(value);
  value = chain.apply(BuiltinOperator::DIV, {value, parameters.scale});
  value = chain.apply(BuiltinOperator::ROUND, {value});
  if (parameters.zero != no_tensor) {
    value = chain.apply(BuiltinOperator::ADD, {value, parameters.zero});
  }
  // What a float cannot hold is rounded towards 0: CAST has to find room.
  const auto bound = [&](std::int64_t code) {
    const auto number = static_cast<float>(code);
    const bool is_outside =
        std::abs(static_cast<double>(number)) > std::abs(static_cast<double>(code));
    return chain.real(static_cast<double>(is_outside ? std::nextafter(number, 0.0F) : number));
  };
  value = chain.apply(BuiltinOperator::MAXIMUM, {value, bound(range->min)});
  value = chain.apply(BuiltinOperator::MINIMUM, {value, bound(range->max)});
  const TensorId result = lowering.define(node.result(), axes);
  schema::CastOptionsT options;
  options.in_data_type = schema::TensorType::FLOAT32;
  options.out_data_type = lowering.model().tensor(result).type;
  lowering.model().emit({BuiltinOperator::CAST}, {value}, {result}, options);
}

bool dequantize_constant(Lowering& lowering, const NodeRef& node) {
  const Constant* codes = lowering.constant(node.operand(0));
  const Constant* scales = lowering.constant(node.operand(1));
  const Value zero = node.operand(2);
  const Constant* zeros = lowering.constant(zero);
  if (!codes || !scales || (!zero.is_absent() && !zeros)) return false;
  const Spread spread = spread_of(node, codes->shape(), scales->shape());
  const auto numbers = value_of(read_integers(*codes, codes->element_count()));
  const std::vector<float> factors = value_of(read_scales(*scales));
  std::vector<std::int64_t> shifts(factors.size(), 0);
  if (zeros) shifts = value_of(read_integers(*zeros, zeros->element_count()));
  if (shifts.size() != factors.size()) invalid("other zero points than scales");
  std::vector<float> reals;
  reals.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t at = spread.parameter_of(static_cast<std::int64_t>(i));
    if (at >= factors.size()) invalid("fewer scales than codes need");
    reals.push_back(static_cast<float>(numbers[i] - shifts[at]) * factors[at]);
  }
  lowering.define_constant(
      node.result(),
      Constant::from_values(ElementType::float32, codes->shape(), std::span<const float>(reals)));
  return true;
}

}  // namespace quadrant::inline v0::tflite
