// Normalizations over axes of one sample: formulas of several operators on real numbers.
#include <algorithm>
#include <array>
#include <limits>

#include "io/tflite/chain.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/rules.hpp"
#include "ir/ops/normalization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// What is normalized, and how.
struct Normalization {
  std::int64_t first = 0;  ///< axes from here on share a mean and a variance
  bool is_centred = true;  ///< whether the mean is taken out
  double epsilon = 1e-5;
};

/// x less its mean, divided by the root of the mean square of that. In plain order.
TensorId normalized(Lowering& lowering, Chain& chain, TensorId x, const Shape& shape,
                    const Normalization& how) {
  Model& model = lowering.model();
  std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
  std::vector<std::int32_t> axes;
  for (std::int64_t axis = how.first; axis < shape.rank(); ++axis) {
    extents[static_cast<std::size_t>(axis)] = 1;
    axes.push_back(static_cast<std::int32_t>(axis));
  }
  const Shape kept(std::move(extents));
  const auto mean = [&](TensorId of) {
    const TensorId to = chain.next(kept);
    schema::ReducerOptionsT options;
    options.keep_dims = true;
    model.emit({MEAN}, {of, model.integers(axes)}, {to}, options);
    return to;
  };
  const TensorId centred = how.is_centred ? chain.apply(SUB, {x, mean(x)}) : x;
  const TensorId variance = mean(chain.apply(MUL, {centred, centred}));
  chain.set_shape(kept);
  const TensorId sum = chain.apply(ADD, {variance, chain.real(how.epsilon)});
  const TensorId deviation = chain.apply(SQRT, {sum});
  chain.set_shape(shape);
  return chain.apply(DIV, {centred, deviation});
}

/// What the formulas share; gives the operand in plain order.
TensorId begin_normalization(Lowering& lowering, const NodeRef& node) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  if (type.element != ElementType::float32) {
    impossible(fmt::format("computes in {}", to_string(type.element)));
  }
  const auto is_other = [](const Use& use) { return use.result != 0; };
  if (std::ranges::any_of(lowering.graph().uses(node.id), is_other)) {
    impossible("the mean or the deviation as a result");
  }
  lowering.settle(node.result(), type.element, lowering.ranked(data));
  return lowering.plain(data);
}

/// LayerNormalization and RMSNormalization: scales and summands broadcast with the data.
void lower_layer_normalization(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Shape shape = lowering.ranked(node.operand(0));
  const auto first = normalize_axis(node.attribute_or<std::int64_t>("axis", -1), shape.rank());
  if (!first) invalid("an axis outside of the operand");
  const bool is_centred = node.kind() != ops::RMSNormalization::kind;
  const Normalization how{.first = *first,
                          .is_centred = is_centred,
                          .epsilon = node.attribute_or<double>("epsilon", 1e-5)};
  const TensorId x = begin_normalization(lowering, node);
  lowering.decomposed(node, "MEAN, SUB, MUL, ADD, SQRT and DIV");
  Chain chain(lowering, node, shape);
  TensorId result = normalized(lowering, chain, x, shape, how);
  result = chain.apply(MUL, {result, lowering.plain(node.operand(1))});
  if (is_centred && !node.operand(2).is_absent()) {
    result = chain.apply(ADD, {result, lowering.plain(node.operand(2))});
  }
  chain.finish(node.result(), result, plain_axes(shape.rank()));
}

/// One scale and one summand for each channel, along axis 1.
TensorId per_channel(Lowering& lowering, const NodeRef& node, Value value, std::int64_t channels,
                     std::int64_t rank, std::string_view what) {
  if (lowering.ranked(value).element_count() != channels) invalid("parameters of other channels");
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
  extents[1] = channels;
  if (const Constant* constant = lowering.constant(value)) {
    return lowering.model().add_constant(std::string(lowering.graph().value_name(value)),
                                         constant->reshaped(Shape(std::move(extents))), nullptr,
                                         plain_axes(rank));
  }
  const TensorId to =
      lowering.temporary(node, what, {ElementType::float32, Shape(std::move(extents)), nullptr});
  lowering.reshape(lowering.plain(value), to);
  return to;
}

void lower_instance_normalization(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Shape shape = lowering.ranked(node.operand(0));
  const std::int64_t channels = shape.rank() < 3 ? 0 : shape[1].value_or(0);
  if (channels < 1) impossible("an operand that is no image");
  const TensorId x = begin_normalization(lowering, node);
  lowering.decomposed(node, "MEAN, SUB, MUL, ADD, SQRT and DIV");
  Chain chain(lowering, node, shape);
  const TensorId scale =
      per_channel(lowering, node, node.operand(1), channels, shape.rank(), "scale");
  const TensorId summand =
      per_channel(lowering, node, node.operand(2), channels, shape.rank(), "summand");
  const TensorId unscaled =
      normalized(lowering, chain, x, shape,
                 {.first = 2, .epsilon = node.attribute_or<double>("epsilon", 1e-5)});
  const TensorId scaled = chain.apply(MUL, {unscaled, scale});
  chain.finish(node.result(), chain.apply(ADD, {scaled, summand}), plain_axes(shape.rank()));
}

/// Of the channels of a group, and all that lies behind them.
void lower_group_normalization(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Shape shape = lowering.ranked(node.operand(0));
  const auto groups = node.attribute_or<std::int64_t>("num_groups", 0);
  const auto channels = shape.rank() < 3 ? std::nullopt : shape[1].known();
  if (groups < 1 || !channels || *channels % groups != 0) {
    impossible("an operand that is no image of whole groups");
  }
  std::int64_t members = *channels / groups;
  for (std::int64_t axis = 2; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_known()) impossible("an image whose extents are known only at run time");
    members *= shape[axis].value();
  }
  // Before opset 21 there is one number for each group.
  if (lowering.ranked(node.operand(1)).element_count() != channels ||
      lowering.ranked(node.operand(2)).element_count() != channels) {
    impossible("a scale and a summand for each group: opset 21 has them for each channel");
  }
  const TensorId x = begin_normalization(lowering, node);
  lowering.decomposed(node, "RESHAPE, MEAN, SUB, MUL, ADD, SQRT and DIV");
  const Shape grouped{shape[0], groups, members};
  Chain chain(lowering, node, grouped);
  const TensorId rows = chain.next();
  lowering.reshape(x, rows);
  const TensorId unscaled =
      normalized(lowering, chain, rows, grouped,
                 {.first = 2, .epsilon = node.attribute_or<double>("epsilon", 1e-5)});
  chain.set_shape(shape);
  const TensorId image = chain.next();
  lowering.reshape(unscaled, image);
  const auto parameter = [&](std::size_t operand, std::string_view what) {
    return per_channel(lowering, node, node.operand(operand), *channels, shape.rank(), what);
  };
  const TensorId scaled = chain.apply(MUL, {image, parameter(1, "scale")});
  chain.finish(node.result(), chain.apply(ADD, {scaled, parameter(2, "summand")}),
               plain_axes(shape.rank()));
}

/// Of each element those in a window of channels around it.
void lower_local_response(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  const auto size = node.attribute_or<std::int64_t>("size", 1);
  if (type.element != ElementType::float32) {
    impossible(fmt::format("computes in {}", to_string(type.element)));
  }
  if (shape.rank() != 4) impossible("an operand that is no image of two dimensions");
  if (size < 1 || size % 2 == 0) impossible("a window that has no middle");
  lowering.settle(node.result(), type.element, shape);
  schema::LocalResponseNormalizationOptionsT options;
  options.radius = static_cast<std::int32_t>(size / 2);
  options.alpha =
      static_cast<float>(node.attribute_or<double>("alpha", 1e-4) / static_cast<double>(size));
  options.beta = static_cast<float>(node.attribute_or<double>("beta", 0.75));
  options.bias = static_cast<float>(node.attribute_or<double>("bias", 1.0));
  const TensorId from = lowering.tensor(data, channels_last(4));
  lowering.model().emit({rule.code}, {from}, {lowering.define(node.result(), channels_last(4))},
                        options);
}

/// The sum of sizes along an axis, or the root of the sum of squares.
void lower_lp_normalization(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  const auto axis = normalize_axis(node.attribute_or<std::int64_t>("axis", -1), shape.rank());
  const auto p = node.attribute_or<std::int64_t>("p", 2);
  if (!axis) invalid("an axis outside of the operand");
  if (p != 1 && p != 2) impossible("a norm other than 1 and 2");
  const TensorId x = begin_normalization(lowering, node);
  lowering.decomposed(node, p == 1 ? "ABS, SUM and DIV" : "MUL, SUM, SQRT and DIV");
  Chain chain(lowering, node, shape);
  const TensorId sizes = p == 1 ? chain.apply(ABS, {x}) : chain.apply(MUL, {x, x});
  std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
  extents[static_cast<std::size_t>(*axis)] = 1;
  chain.set_shape(Shape(std::move(extents)));
  TensorId norm = chain.next();
  schema::ReducerOptionsT options;
  options.keep_dims = true;
  Model& model = lowering.model();
  model.emit({SUM}, {sizes, model.integers({static_cast<std::int32_t>(*axis)})}, {norm}, options);
  if (p == 2) norm = chain.apply(SQRT, {norm});
  // Zeros stay zeros.
  norm = chain.apply(MAXIMUM, {norm, chain.real(std::numeric_limits<float>::min())});
  chain.set_shape(shape);
  chain.finish(node.result(), chain.apply(DIV, {x, norm}), plain_axes(shape.rank()));
}

constexpr std::array normalization_rows{
    Rule{.kind = ops::GroupNormalization::kind, .lower = lower_group_normalization},
    Rule{.kind = ops::LRN::kind,
         .lower = lower_local_response,
         .code = LOCAL_RESPONSE_NORMALIZATION},
    Rule{.kind = ops::LpNormalization::kind, .lower = lower_lp_normalization},
    Rule{.kind = ops::InstanceNormalization::kind, .lower = lower_instance_normalization},
    Rule{.kind = ops::LayerNormalization::kind, .lower = lower_layer_normalization},
    Rule{.kind = ops::RMSNormalization::kind, .lower = lower_layer_normalization},
};

}  // namespace

std::span<const Rule> normalization_rules() noexcept { return normalization_rows; }

}  // namespace quadrant::inline v0::tflite
