// FakeQuantize, and what quantized types and their conversions become.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "ir/scales.hpp"
#include "numerics/groups.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

constexpr std::size_t bounds = 4;

bool raise_fake_quantize(RaisedLayer& layer) {
  if (layer.input_count() != bounds + 1) invalid("a FakeQuantize of other than five inputs");
  const auto levels = layer.integer("levels");
  if (!levels || *levels < 2) invalid("a FakeQuantize of fewer than two levels");
  Attributes attributes{{"levels", *levels}};
  if (const auto rule = layer.text("auto_broadcast"); rule && *rule != "numpy") {
    if (*rule != "none" && *rule != "pdpd") return false;
    attributes.set("auto_broadcast", *rule);
  }
  std::vector<Value> operands;
  for (std::size_t i = 0; i <= bounds; ++i) operands.push_back(layer.input(i));
  layer.make(ops::FakeQuantize::kind, std::move(operands), std::move(attributes));
  return true;
}

void lower_fake_quantize(LoweredNode& node) {
  const ops::FakeQuantize view{node.node()};
  const auto levels = view.levels();
  if (!levels || !view.broadcast()) invalid("levels or auto_broadcast");
  // Where bounds begin at an axis, OpenVINO has no word for it.
  const bool is_placed = view.broadcast() == ops::FakeQuantize::Broadcast::pdpd &&
                         node.attribute_or<std::int64_t>("axis", 0) != 0;
  std::vector<Output> inputs{operand_of_one_scale(node)};
  for (std::size_t i = 1; i <= bounds; ++i) {
    inputs.push_back(node.operand(i));
    if (!is_placed) continue;
    const Shape aligned = value_of(view.aligned(node.ranked(i), node.ranked(0)));
    inputs.back() = node.reshaped(inputs.back(), aligned, fmt::format("bound_{}", i));
  }
  const auto rule = node.attribute_or<std::string>("auto_broadcast", "numpy");
  node.make({"FakeQuantize"}, inputs,
            {{"levels", std::to_string(*levels)}, {"auto_broadcast", is_placed ? "numpy" : rule}});
}

// --- types ---------------------------------------------------------------------------------------

/// Scales and zero points as numbers, and the shape in which they broadcast to the tensor, once
/// those along an axis are repeated.
struct Parameters {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  Shape shape;
  std::int64_t axis = 0;
  std::vector<std::int32_t> blocks;  ///< of each element along the axis; empty: none is repeated
};

Parameters parameters_of(const UniformType& type, const Shape& tensor) {
  Parameters parameters;
  parameters.scales = value_of(read_scales(type.scales));
  parameters.zero_points = value_of(read_zero_points(type));
  switch (type.granularity.kind) {
    case Granularity::Kind::tensor:
      parameters.shape = Shape::scalar();
      break;
    case Granularity::Kind::axis: {
      if (!tensor.is_ranked()) impossible("a quantized axis of an unknown rank");
      std::vector<std::int64_t> extents(static_cast<std::size_t>(tensor.rank()), 1);
      extents[static_cast<std::size_t>(type.granularity.axis)] = type.scales.element_count();
      parameters.shape = Shape(extents);
      break;
    }
    case Granularity::Kind::block:
      impossible("blocks of codes that are computed");
  }
  return parameters;
}

/// A float constant, of the real values' type.
Output reals(LoweredNode& node, std::string_view ending, ElementType element, const Shape& shape,
             const std::vector<float>& values) {
  const Output wide = node.constant(
      ending, Constant::from_values(ElementType::float32, shape, std::span<const float>(values)));
  return node.converted(wide, element, fmt::format("{}_{}", ending, name_of(element)));
}

/// Whether codes are wider than any that FakeQuantize can tell apart in float32: sums of products,
/// which stay real numbers.
bool is_accumulator(const UniformType& type) {
  constexpr std::int64_t most_levels = std::int64_t{1} << 24U;
  return type.storage_max - type.storage_min >= most_levels;
}

/// Whether all that reads the codes takes their real values.
bool is_read_as_real(const NodeRef& node) {
  return std::ranges::all_of(node.graph->uses(node.id), [&](const Use& use) {
    return node.graph->kind(use.user) == ops::Dequantize::kind;
  });
}

/// The codes that FakeQuantize limits to. OpenVINO computes on codes of 8 bits where it finds all
/// 256 levels of them, or all but one (seen in release 2026.4): fewer are limited by a Clamp in
/// front.
struct Limits {
  IntegerRange codes;
  bool need_clamp = false;
};

Limits limits_of(const UniformType& type, bool to_codes) {
  const IntegerRange own{type.storage_min, type.storage_max};
  const bool is_byte = type.storage == ElementType::int8 || type.storage == ElementType::uint8;
  if (to_codes || !is_byte || type.granularity.kind != Granularity::Kind::tensor ||
      own.max - own.min >= 254) {
    return {own};
  }
  return {integer_range(type.storage).value_or(own), true};
}

/// What FakeQuantize computes in. OpenVINO makes a number of the steps from the lowest code to the
/// highest, which float16 may not hold.
ElementType computed_element(const UniformType& type, std::int64_t steps) {
  constexpr std::int64_t largest_float16 = 65504;
  const bool is_too_narrow = type.expressed == ElementType::float16 && steps > largest_float16;
  return is_too_narrow ? ElementType::float32 : type.expressed;
}

/// FakeQuantize to the real values of codes, or, with `to_codes`, to these as numbers.
void make_fake_quantize(LoweredNode& node, const UniformType& type, bool to_codes) {
  if (type.expressed == ElementType::float64) {
    impossible("FakeQuantize of float64, which OpenVINO does not compile: make the model float32");
  }
  const Parameters given = parameters_of(type, node.node().type().shape);
  const Limits limits = limits_of(type, to_codes);
  std::vector<float> low;
  std::vector<float> high;
  const auto real = [&](std::size_t i, std::int64_t code) {
    return static_cast<float>(static_cast<double>(given.scales[i]) *
                              static_cast<double>(code - given.zero_points[i]));
  };
  for (std::size_t i = 0; i < given.scales.size(); ++i) {
    low.push_back(real(i, limits.codes.min));
    high.push_back(real(i, limits.codes.max));
  }
  const std::int64_t steps = limits.codes.max - limits.codes.min;
  const ElementType element = computed_element(type, steps);
  Output data_in = node.converted(operand_of_one_scale(node, limits.need_clamp), element, "wide");
  const Output input_low = reals(node, "input_low", element, given.shape, low);
  const Output input_high = reals(node, "input_high", element, given.shape, high);
  const Data data{{"levels", std::to_string(steps + 1)}, {"auto_broadcast", "numpy"}};
  const TensorType result{element, node.node().type().shape, nullptr};
  if (!to_codes) {  // the result is what the codes stand for
    if (limits.need_clamp) {
      data_in = node.step({"Clamp"}, std::array{data_in},
                          {{"min", text_of(double{real(0, type.storage_min)})},
                           {"max", text_of(double{real(0, type.storage_max)})}},
                          result, "limited");
    }
    const Output rounded = node.step(
        {"FakeQuantize"}, std::array{data_in, input_low, input_high, input_low, input_high}, data,
        result, "rounded");
    node.finish(node.converted(rounded, type.expressed, "narrow"));
    return;
  }
  const Output first = node.number("lowest", element, static_cast<double>(type.storage_min));
  const Output last = node.number("highest", element, static_cast<double>(type.storage_max));
  const Output codes =
      node.step({"FakeQuantize"}, std::array{data_in, input_low, input_high, first, last}, data,
                result, "rounded");
  node.make({"Convert"}, std::array{codes},
            {{"destination_type", std::string(name_of(type.storage))}});
}

void lower_quantize(LoweredNode& node) {
  const Quantization& codes = node.node().type().quantization;
  const auto type = value_of(uniform_for("OpenVINO", codes));
  if (is_accumulator(*type)) {
    if (!is_read_as_real(node.node())) impossible("codes of 32 bits");
    node.decomposed("sums of products stay float");
    node.alias(node.operand(0));
    return;
  }
  const bool negative =
      std::ranges::any_of(value_of(read_scales(codes)), [](float scale) { return scale < 0; });
  if (negative) impossible("a negative scale");
  make_fake_quantize(node, *type, !is_read_as_real(node.node()));
}

/// The blocks of a constant as an axis of its own: [.., blocks, size, ..].
struct Blocks {
  Shape codes;
  Shape parameters;
};

Blocks blocks_of(const Shape& shape, const Granularity& granularity) {
  std::vector<std::int64_t> codes(shape.known_extents().begin(), shape.known_extents().end());
  const auto axis = static_cast<std::size_t>(granularity.axis);
  if (codes[axis] <= granularity.block_size) {  // one block, full or not
    codes[axis] = 1;
    return {shape, Shape(codes)};
  }
  codes[axis] /= granularity.block_size;
  std::vector<std::int64_t> parameters = codes;
  const auto behind = static_cast<std::ptrdiff_t>(axis) + 1;
  codes.insert(codes.begin() + behind, granularity.block_size);
  parameters.insert(parameters.begin() + behind, 1);
  return {Shape(codes), Shape(parameters)};
}

/// The number of its block for each element along the axis.
Output repeated(LoweredNode& node, Output numbers, const Parameters& given,
                std::string_view ending) {
  if (given.blocks.empty()) return numbers;
  TensorType type = node.type(numbers);
  std::vector<Extent> extents(type.shape.extents().begin(), type.shape.extents().end());
  const auto count = static_cast<std::int64_t>(given.blocks.size());
  extents[static_cast<std::size_t>(given.axis)] = count;
  type.shape = Shape(std::move(extents));
  const Output blocks = node.constant(
      "blocks", Constant::from_vector(ElementType::int32, Shape{count}, given.blocks));
  return node.step({"Gather", "opset8"},
                   std::array{numbers, blocks, node.integer("axis", given.axis)},
                   {{"batch_dims", "0"}}, type, fmt::format("{}_repeated", ending));
}

/// (codes - zero point) * scale.
Output real_values(LoweredNode& node, Output codes, const UniformType& type, const Shape& shape,
                   const Parameters& given) {
  const ElementType element = type.expressed;
  const TensorType real{element, shape, nullptr};
  const Data numpy{{"auto_broadcast", "numpy"}};
  Output result = node.converted(codes, element, "codes_as_reals");
  if (std::ranges::any_of(given.zero_points, [](std::int64_t zero) { return zero != 0; })) {
    // Of the codes' own type, as what reads compressed weights expects.
    Output zero =
        node.constant("zero_point", make_zero_points(type.storage, given.shape, given.zero_points));
    zero = repeated(node, node.converted(zero, element, "zero_point_as_real"), given, "zero_point");
    result = node.step({"Subtract"}, std::array{result, zero}, numpy, real, "centred");
  }
  const bool are_halves = type.scales.element() == ElementType::float16;
  const Output stored =
      node.constant("scale", make_scales(are_halves ? ElementType::float16 : ElementType::float32,
                                         given.shape, given.scales));
  const Output scale =
      repeated(node, node.converted(stored, element, fmt::format("scale_{}", name_of(element))),
               given, "scale");
  return node.step({"Multiply"}, std::array{result, scale}, numpy, real, "scaled");
}

/// The real values of wide codes, a bias, which are no wider than float32 for long.
Constant real_sums(const Constant& codes, const Quantization& type) {
  const Groups groups = value_of(Groups::of(codes.shape(), granularity_of(type)));
  const std::vector<std::int64_t> sums = value_of(read_integers(codes, codes.element_count()));
  const std::vector<float> scales = value_of(read_scales(type));
  const std::vector<std::int64_t> zeros = value_of(read_zero_points(type));
  std::vector<float> reals_of_sums(sums.size());
  groups.for_each_element(0, sums.size(), [&](std::size_t i, std::size_t group) {
    reals_of_sums[i] = static_cast<float>(sums[i] - zeros[group]) * scales[group];
  });
  return Constant::from_values(ElementType::float32, codes.shape(),
                               std::span<const float>(reals_of_sums));
}

/// Const, Convert, Subtract, Multiply: a quantized weight.
void lower_dequantize(LoweredNode& node) {
  const TensorType& codes = node.type(0);
  if (codes.quantization.other()) {  // without scales: see make_formats_explicit
    node.finish(node.converted(node.operand(0), codes.quantization.expressed(), "reals"));
    return;
  }
  const auto type = value_of(uniform_for("OpenVINO", codes.quantization));
  const NodeRef producer{node.node().graph, node.node().operand(0).node};
  const Constant* known = node.constant(0);
  if (known && is_accumulator(*type)) {
    const Output sums = node.constant("values", real_sums(*known, type));
    node.finish(node.converted(sums, type->expressed, name_of(type->expressed)));
    return;
  }
  if (producer.kind() == ops::Quantize::kind && is_read_as_real(producer)) {
    node.alias(node.operand(0));
    return;
  }
  if (type->granularity.kind != Granularity::Kind::block) {
    const Parameters given = parameters_of(*type, codes.shape);
    node.finish(real_values(node, node.operand(0), *type, codes.shape, given));
    return;
  }
  if (!codes.shape.is_static()) impossible("blocks of codes of unknown extents");
  UniformType list = *type;
  list.granularity = Granularity::per_tensor();
  Parameters given;
  given.scales = value_of(read_scales(type));
  given.zero_points = value_of(read_zero_points(type));
  const std::int64_t extent = codes.shape[type->granularity.axis].value();
  const std::int64_t size = type->granularity.block_size;
  if (extent > size && extent % size != 0) {  // no shape of blocks broadcasts to that
    node.decomposed("its weight is dequantized first: the last block is cut off");
    given.shape = parameter_shape(codes.shape, type->granularity);
    given.axis = type->granularity.axis;
    for (std::int64_t i = 0; i < extent; ++i) {
      given.blocks.push_back(static_cast<std::int32_t>(i / size));
    }
    node.finish(kept_apart(node, real_values(node, node.operand(0), list, codes.shape, given)));
    return;
  }
  const Blocks blocks = blocks_of(codes.shape, type->granularity);
  given.shape = blocks.parameters;
  const Output in_blocks = known ? node.constant("in_blocks", known->reshaped(blocks.codes))
                                 : node.reshaped(node.operand(0), blocks.codes, "in_blocks");
  const Output real = real_values(node, in_blocks, list, blocks.codes, given);
  node.finish(node.reshaped(real, codes.shape, "whole"));
}

void lower_storage_cast(LoweredNode& node) {
  const ElementType to = node.node().type().element;
  const ElementType from = node.type(0).element;
  if (to != from) impossible(fmt::format("the bits of {} as {}", to_string(from), to_string(to)));
  node.alias(node.operand(0));
}

constexpr std::array raised_quantization{RaiseRule{"FakeQuantize", raise_fake_quantize}};

constexpr std::array lowered_quantization{
    LowerRule{ops::Dequantize::kind, lower_dequantize},
    LowerRule{ops::FakeQuantize::kind, lower_fake_quantize},
    LowerRule{ops::Quantize::kind, lower_quantize},
    LowerRule{ops::StorageCast::kind, lower_storage_cast},
};

}  // namespace

Rules quantization_rules() noexcept { return {raised_quantization, lowered_quantization}; }

}  // namespace quadrant::inline v0::openvino_ir
