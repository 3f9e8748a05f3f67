// Normalizations: by numbers that were learned, and by the mean and deviation or the norm of what
// is normalized.
#include "ir/ops/normalization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/filled.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/reductions.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

/// Whether a constant operand is there that has this number alone.
bool is_filled_with(const LoweredNode& node, std::size_t index, double value) {
  const Constant* known = node.constant(index);
  if (known == nullptr || !is_float(known->element())) return false;
  const std::vector<double> values = value_of(read_reals(*known));
  return std::ranges::all_of(values, [&](double found) { return found == value; });
}

// --- by numbers that were learned ----------------------------------------------------------------

bool raise_batch_norm(RaisedLayer& layer) {
  if (layer.input_count() != 5) return false;
  const std::array order = layer.layer().version == "opset1"
                               ? std::array<std::size_t, 5>{2, 0, 1, 3, 4}
                               : std::array<std::size_t, 5>{0, 1, 2, 3, 4};
  std::vector<Value> operands;
  operands.reserve(order.size());
  for (const std::size_t index : order) operands.push_back(layer.input(index));
  layer.make(ops::BatchNormalization::kind, std::move(operands),
             {{"epsilon", layer.real("epsilon", 1e-5)}});
  return true;
}

void lower_batch_norm(LoweredNode& node) {
  if (node.attribute_or<std::int64_t>("training_mode", 0) != 0) impossible("the mode of training");
  if (node.attribute_or<std::int64_t>("spatial", 1) == 0) impossible("a mean for each pixel");
  if (node.operand_count() != 5) invalid("a normalization of other than five operands");
  make_first(node, {"BatchNormInference", "opset5"}, all_operands(node),
             {{"epsilon", text_of(node.attribute_or<double>("epsilon", 1e-5))}});
}

// --- by mean and deviation -----------------------------------------------------------------------

struct Normalization {
  std::vector<std::int64_t> axes;
  double epsilon = 1e-5;
  bool is_inside = true;  ///< whether epsilon is added to the variance, not to its root
};

/// (x - mean) / deviation, step by step.
void make_normalized(RaisedLayer& layer, const Normalization& how, bool divides) {
  const Value x = layer.input(0);
  const ElementType element = layer.type_of(x).element;
  const Value axes = layer.list("axes", how.axes);
  const Value mean = stepped(layer, ops::ReduceMean::kind, {x, axes});
  if (!divides) {
    layer.make(ops::Sub::kind, {x, mean});
    return;
  }
  const Value centred = stepped(layer, ops::Sub::kind, {x, mean});
  const Value squares = stepped(layer, ops::Multiply::kind, {centred, centred});
  Value deviation = stepped(layer, ops::ReduceMean::kind, {squares, axes});
  const auto add = [&] {
    const Value epsilon = layer.number("epsilon", element, how.epsilon);
    deviation = stepped(layer, ops::Add::kind, {deviation, epsilon});
  };
  if (how.is_inside) add();
  deviation = stepped(layer, ops::Sqrt::kind, {deviation});
  if (!how.is_inside) add();
  layer.make(ops::Div::kind, {centred, deviation});
}

/// Whether a scale for each element is worth writing down.
bool is_short(const Shape& shape) {
  constexpr std::int64_t most = 1 << 16U;
  const auto count = shape.element_count();
  return count && *count <= most;
}

/// Known normalizations whose scales are ones, where there is one.
bool make_known_normalization(RaisedLayer& layer, const Normalization& how) {
  const Value x = layer.input(0);
  const TensorType& type = layer.type_of(x);
  const Shape shape = type.shape;
  const ElementType element = type.element;
  const std::int64_t first = how.axes.empty() ? shape.rank() : how.axes.front();
  const bool is_inside_rank = first >= 0 && first <= shape.rank();
  if (!is_inside_rank || !how.is_inside || !is_float(element) ||
      how.axes != axes_from(first, shape.rank())) {
    return false;
  }
  if (first == 2 && is_short(Shape{shape[1]})) {
    const Shape channels{shape[1]};
    layer.make(ops::InstanceNormalization::kind,
               {x, layer.constant("scale", filled(element, channels, 1)),
                layer.constant("summand", filled(element, channels, 0))},
               {{"epsilon", how.epsilon}});
    return true;
  }
  const auto inner = shape.extents().subspan(static_cast<std::size_t>(first));
  const Shape normalized(std::vector(inner.begin(), inner.end()));
  if (inner.empty() || !normalized.is_static() || !is_short(normalized)) return false;
  layer.make(ops::LayerNormalization::kind,
             {x, layer.constant("scale", filled(element, normalized, 1))},
             {{"axis", first}, {"epsilon", how.epsilon}});
  return true;
}

bool raise_mvn(RaisedLayer& layer) {
  const std::int64_t rank = layer.shape_of(layer.input(0)).rank();
  Normalization how;
  if (layer.layer().version == "opset6") {
    const auto axes = layer.constant_integers(1);
    if (!axes) return false;
    how.axes = *axes;
  } else {
    how.axes = layer.integers("reduction_axes");
    const bool is_across = layer.flag("across_channels", false);
    if (how.axes.empty()) how.axes = axes_from(is_across ? 1 : 2, rank);
  }
  if (rank < 1 || !is_float(layer.type_of(layer.input(0)).element)) return false;
  for (std::int64_t& axis : how.axes) {
    const auto inside = normalize_axis(axis, rank);
    if (!inside) invalid(fmt::format("axis {} of {} dimensions", axis, rank));
    axis = *inside;
  }
  std::ranges::sort(how.axes);
  how.epsilon = layer.real("eps", 1e-9);
  const std::string mode = layer.text("eps_mode", "INSIDE_SQRT");
  how.is_inside = mode == "INSIDE_SQRT" || mode == "inside_sqrt";
  const bool divides = layer.flag("normalize_variance", true);
  if (!divides || !make_known_normalization(layer, how)) make_normalized(layer, how, divides);
  return true;
}

Output mvn(LoweredNode& node, const Normalization& how) {
  LayerChain chain(node);
  return chain.apply({"MVN", "opset6"}, {real_operand(node, 0), chain.integers(how.axes)},
                     {{"eps", text_of(how.epsilon)},
                      {"normalize_variance", "true"},
                      {"eps_mode", how.is_inside ? "INSIDE_SQRT" : "OUTSIDE_SQRT"}});
}

/// Operand `index`, which broadcasts along axis 1 of `rank`.
Output along_channels(LoweredNode& node, std::size_t index, std::int64_t rank) {
  if (rank < 2) invalid(fmt::format("channels of {} dimensions", rank));
  std::vector<Extent> extents(static_cast<std::size_t>(rank - 1), 1);
  const Constant* known = node.constant(index);
  extents[0] = known ? Extent(known->element_count()) : Extent::open();
  const Shape shape(std::move(extents));
  if (known) return node.constant(index == 1 ? "scale" : "summand", known->reshaped(shape));
  return node.reshaped(node.operand(index), shape, index == 1 ? "scale" : "summand");
}

/// The result is `value` times operand 1 plus operand 2, which `operand` prepares; ones and zeros
/// are left out.
void finish_scaled(LoweredNode& node, Output value,
                   const std::function<Output(std::size_t index)>& operand) {
  LayerChain chain(node);
  if (!is_filled_with(node, 1, 1)) value = chain.pair({"Multiply"}, value, operand(1));
  if (node.has(2) && !is_filled_with(node, 2, 0)) value = chain.pair({"Add"}, value, operand(2));
  node.finish(value);
}

void lower_layer_norm(LoweredNode& node) {
  expect_one_result(node);
  const std::int64_t rank = node.ranked(0).rank();
  const Output value = mvn(
      node, {axes_from(axis_of(node, -1), rank), node.attribute_or<double>("epsilon", 1e-5), true});
  finish_scaled(node, value, [&](std::size_t index) { return node.operand(index); });
}

void lower_instance_norm(LoweredNode& node) {
  const std::int64_t rank = node.ranked(0).rank();
  const Output value =
      mvn(node, {axes_from(2, rank), node.attribute_or<double>("epsilon", 1e-5), true});
  finish_scaled(node, value, [&](std::size_t index) { return along_channels(node, index, rank); });
}

void lower_mean_variance(LoweredNode& node) {
  const std::vector<std::int64_t> images{0, 2, 3};
  node.finish(
      mvn(node, {node.attribute_or<std::vector<std::int64_t>>("axes", images), 1e-9, false}));
}

bool raise_group_norm(RaisedLayer& layer) {
  layer.make(
      ops::GroupNormalization::kind, {layer.input(0), layer.input(1), layer.input(2)},
      {{"num_groups", layer.integer("num_groups", 1)}, {"epsilon", layer.real("epsilon", 1e-5)}});
  return true;
}

void lower_group_norm(LoweredNode& node) {
  LayerChain chain(node);
  const auto groups = node.attribute_or<std::int64_t>("num_groups", 1);
  if (groups < 1) invalid(fmt::format("{} groups of channels", groups));
  const Extent channels = node.ranked(0).rank() > 1 ? node.ranked(0)[1] : Extent::open();
  // Before opset 21 one scale served the channels of a group.
  const auto of_channels = [&](std::size_t index) {
    const Output given = node.operand(index);
    if (node.opset() >= 21 || surely_equal(channels, groups)) return given;
    if (!channels.is_known()) impossible("an unknown number of channels");
    const Output column = chain.apply({"Unsqueeze"}, {given, chain.integers({1})});
    const Output spread = chain.apply({"Broadcast", "opset3"},
                                      {column, chain.integers({groups, channels.value() / groups})},
                                      {{"mode", "numpy"}});
    return chain.apply({"Reshape"}, {spread, chain.integers({-1})}, {{"special_zero", "false"}});
  };
  const Output scale = of_channels(1);
  const Output summand = of_channels(2);
  node.make({"GroupNormalization", "opset12"}, std::array{node.operand(0), scale, summand},
            {{"num_groups", std::to_string(groups)},
             {"epsilon", text_of(node.attribute_or<double>("epsilon", 1e-5))}});
}

// --- by norms ------------------------------------------------------------------------------------

/// x / sqrt(mean(x * x) + epsilon), with a scale.
void lower_rms_norm(LoweredNode& node) {
  LayerChain chain(node);
  const Output x = node.operand(0);
  const auto axes = axes_from(axis_of(node, -1), node.ranked(0).rank());
  const Output mean = chain.reduced("ReduceMean", chain.pair({"Multiply"}, x, x), axes);
  const Output epsilon = chain.number(node.attribute_or<double>("epsilon", 1e-5));
  const Output root = chain.apply({"Sqrt"}, {chain.pair({"Add"}, mean, epsilon)});
  finish_scaled(node, chain.pair({"Divide"}, x, root),
                [&](std::size_t index) { return node.operand(index); });
}

bool raise_normalize_l2(RaisedLayer& layer) {
  if (!is_float(layer.type_of(layer.input(0)).element)) return false;
  const auto axes = layer.constant_integers(1);
  const std::string mode = layer.text("eps_mode", "add");
  if (!axes || (mode != "add" && mode != "max")) return false;
  const Value x = layer.input(0);
  const Value epsilon = layer.number("epsilon", layer.type_of(x).element, layer.real("eps", 0));
  const Value squares = stepped(layer, ops::Multiply::kind, {x, x});
  // Without axes each element is normalized for itself.
  const Value sum = stepped(layer, ops::ReduceSum::kind, {squares, layer.list("axes", *axes)},
                            {{"noop_with_empty_axes", std::int64_t{1}}});
  const Value bounded =
      stepped(layer, mode == "add" ? ops::Add::kind : ops::Max::kind, {sum, epsilon});
  layer.make(ops::Div::kind, {x, stepped(layer, ops::Sqrt::kind, {bounded})});
  return true;
}

/// x / sqrt(sum of squares along the channels + bias)
bool raise_response_norm(RaisedLayer& layer) {
  const Value x = layer.input(0);
  if (!is_float(layer.type_of(x).element)) return false;
  const Value bias = layer.number("bias", layer.type_of(x).element, layer.real("bias", 1));
  const Value squares = stepped(layer, ops::Multiply::kind, {x, x});
  const Value sum = stepped(layer, ops::ReduceSum::kind,
                            {squares, layer.list("channels", std::array{std::int64_t{1}})});
  const Value root = stepped(layer, ops::Sqrt::kind, {stepped(layer, ops::Add::kind, {sum, bias})});
  layer.make(ops::Div::kind, {x, root});
  return true;
}

/// What has a norm of 0 stays 0.
void lower_lp_norm(LoweredNode& node) {
  const auto p = node.attribute_or<std::int64_t>("p", 2);
  if (p != 1 && p != 2) impossible(fmt::format("a norm of p = {}", p));
  LayerChain chain(node);
  const Output x = node.operand(0);
  const Output norm = chain.reduced(p == 1 ? "ReduceL1" : "ReduceL2", x, {axis_of(node, -1)});
  const Output least = chain.number(std::numeric_limits<float>::min());
  node.make({"Divide"}, std::array{x, chain.pair({"Maximum"}, norm, least)},
            {{"auto_broadcast", "numpy"}});
}

// --- by neighbours -------------------------------------------------------------------------------

/// Numbers of a normalization over neighbouring channels, and what they are without a word.
struct NeighbourNumber {
  const char* name;
  double fallback;
};
constexpr std::array neighbour_numbers{NeighbourNumber{"alpha", 1e-4},
                                       NeighbourNumber{"beta", 0.75}, NeighbourNumber{"bias", 1}};

bool raise_lrn(RaisedLayer& layer) {
  if (layer.constant_integers(1) != std::vector<std::int64_t>{1}) return false;
  Attributes attributes{{"size", layer.integer("size", 1)}};
  for (const NeighbourNumber& number : neighbour_numbers) {
    attributes.set(number.name, layer.real(number.name, number.fallback));
  }
  layer.make(ops::LRN::kind, {layer.input(0)}, std::move(attributes));
  return true;
}

/// x / (bias + alpha * mean of squares) ^ beta. OpenVINO's CPU plugin cuts a bias off to an integer
/// (2026.4): one that is none becomes a factor behind a bias of 1.
void lower_lrn(LoweredNode& node) {
  std::array<double, neighbour_numbers.size()> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const NeighbourNumber& number = neighbour_numbers.at(i);
    numbers.at(i) = node.attribute_or<double>(number.name, number.fallback);
  }
  auto& [alpha, beta, bias] = numbers;
  const bool is_whole = bias == std::floor(bias) || bias <= 0;
  const double factor = is_whole ? 1 : std::pow(bias, -beta);
  if (!is_whole) {
    alpha /= bias;
    bias = 1;
  }
  LayerChain chain(node);
  const Output normalized =
      chain.apply({"LRN"}, {node.operand(0), chain.integers({1})},
                  {{"size", std::to_string(node.attribute_or<std::int64_t>("size", 1))},
                   {"alpha", text_of(alpha)},
                   {"beta", text_of(beta)},
                   {"bias", text_of(bias)}});
  node.finish(is_whole ? normalized : chain.pair({"Multiply"}, normalized, chain.number(factor)));
}

constexpr std::array raised_normalization{
    RaiseRule{"BatchNormInference", raise_batch_norm},
    RaiseRule{"GRN", raise_response_norm},
    RaiseRule{"GroupNormalization", raise_group_norm},
    RaiseRule{"LRN", raise_lrn},
    RaiseRule{"MVN", raise_mvn},
    RaiseRule{"NormalizeL2", raise_normalize_l2},
};

constexpr std::array lowered_normalization{
    LowerRule{ops::BatchNormalization::kind, lower_batch_norm},
    LowerRule{ops::GroupNormalization::kind, lower_group_norm},
    LowerRule{ops::InstanceNormalization::kind, lower_instance_norm},
    LowerRule{ops::LRN::kind, lower_lrn},
    LowerRule{ops::LayerNormalization::kind, lower_layer_norm},
    LowerRule{ops::LpNormalization::kind, lower_lp_norm},
    LowerRule{ops::MeanVarianceNormalization::kind, lower_mean_variance},
    LowerRule{ops::RMSNormalization::kind, lower_rms_norm},
};

}  // namespace

Rules normalization_rules() noexcept { return {raised_normalization, lowered_normalization}; }

}  // namespace quadrant::inline v0::openvino_ir
