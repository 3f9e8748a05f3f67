// Normalizations: by numbers that were learned, by mean and deviation, by the sum of powers of e.
#include "quadrant/ir/ops/normalization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/mlir/failure.hpp"
#include "io/mlir/reductions.hpp"
#include "io/mlir/rules.hpp"
#include "io/mlir/text.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

/// Elements of x beside numbers for each channel, axis 1.
Term by_channel(LoweredNode& node, const Term& x, std::span<const Term> channels, Body body) {
  const auto loops = static_cast<std::size_t>(x.type.shape.rank());
  std::vector<Read> reads{{x, identity_map(loops)}};
  for (const Term& term : channels) {
    reads.push_back({term, map_of_loops(loops, std::array<std::int64_t, 1>{1})});
  }
  return node.loop(reads, node.empty(x.type.element, x.type.shape), identity_map(loops),
                   std::string(loops, 'p'), body);
}

/// (x - mean) / sqrt(variance + epsilon) * scale + summand
Scalar normalized(Region& region, const Scalar& x, const Scalar& mean, const Scalar& variance,
                  double epsilon) {
  const Scalar raised = region.add(variance, region.number(x, epsilon));
  return region.divide(region.subtract(x, mean), region.apply("math.sqrt", {raised}));
}

void lower_batch_norm(LoweredNode& node) {
  if (node.attribute_or<std::int64_t>("training_mode", 0) != 0) impossible("the mode of training");
  if (node.attribute_or<std::int64_t>("spatial", 1) == 0) impossible("a mean for each pixel");
  if (node.operand_count() != 5) invalid("a normalization of other than five operands");
  const Term x = node.operand(0);
  if (x.type.shape.rank() < 2) invalid("an image without channels");
  std::vector<Term> channels;
  for (std::size_t i = 1; i < 5; ++i)
    channels.push_back(node.cast(node.operand(i), x.type.element));
  const auto epsilon = node.attribute_or<double>("epsilon", 1e-5);
  node.finish(by_channel(node, x, channels, [&](Region& region) {
    const Scalar made =
        normalized(region, region.argument(0), region.argument(3), region.argument(4), epsilon);
    return region.add(region.multiply(made, region.argument(1)), region.argument(2));
  }));
}

/// By the mean and variance along these axes.
Term centred_and_scaled(LoweredNode& node, const Term& x, std::span<const std::int64_t> axes,
                        double epsilon) {
  if (!is_float(x.type.element)) impossible("a deviation of integers");
  const Term mean = with_axes(node, mean_over(node, x, axes), axes);
  const Term centred = node.together(subtraction, x, mean, x.type.shape);
  const Term squares = node.together(multiplication, centred, centred, x.type.shape);
  const Term variance = with_axes(node, mean_over(node, squares, axes), axes);
  return node.map(std::array{centred, variance}, x.type.element, x.type.shape, [&](Region& region) {
    const Scalar& value = region.argument(0);
    return normalized(region, value, region.number(value, 0), region.argument(1), epsilon);
  });
}

std::vector<std::int64_t> axes_from(std::int64_t first, std::int64_t rank) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

void lower_layer_norm(LoweredNode& node) {
  for (std::uint32_t i = 1; i < node.node().graph->result_count(node.node().id); ++i) {
    if (!node.node().graph->value_name(node.node().result(i)).empty()) {
      impossible("a normalization that gives its mean");
    }
  }
  const Term x = node.operand(0);
  const std::int64_t rank = x.type.shape.rank();
  const auto first = normalize_axis(node.attribute_or<std::int64_t>("axis", -1), rank);
  if (!first) invalid("the axis");
  const auto epsilon = node.attribute_or<double>("epsilon", 1e-5);
  Term made = centred_and_scaled(node, x, axes_from(*first, rank), epsilon);
  if (node.has(1)) made = node.together(multiplication, made, node.operand(1), x.type.shape);
  if (node.has(2)) made = node.together(addition, made, node.operand(2), x.type.shape);
  node.finish(made);
}

void lower_instance_norm(LoweredNode& node) {
  const Term x = node.operand(0);
  if (x.type.shape.rank() < 3) invalid("an image without pixels");
  const auto epsilon = node.attribute_or<double>("epsilon", 1e-5);
  const Term made = centred_and_scaled(node, x, axes_from(2, x.type.shape.rank()), epsilon);
  const std::array channels{node.operand(1), node.operand(2)};
  node.finish(by_channel(node, made, channels, [](Region& region) {
    return region.add(region.multiply(region.argument(0), region.argument(1)), region.argument(2));
  }));
}

/// exp(x - max) / sum, or the logarithm of it, along these axes.
Term softmax(LoweredNode& node, const Term& x, std::span<const std::int64_t> axes, bool is_log) {
  const ElementType element = x.type.element;
  if (!is_float(element)) impossible("a softmax of integers");
  const Term largest = with_axes(node, reduced(node, x, axes, maximum, least_of(element)), axes);
  const Term below = node.together(subtraction, x, largest, x.type.shape);
  const Term powers = node.each("math.exp", below);
  Term sum = with_axes(node, reduced(node, powers, axes, addition, 0), axes);
  if (!is_log) return node.together(division, powers, sum, x.type.shape);
  return node.together(subtraction, below, node.each("math.log", sum), x.type.shape);
}

/// Along one axis; before opset 13 along all from that on.
void lower_softmax(LoweredNode& node) {
  const bool is_one = node.opset() >= 13;
  const Term x = node.operand(0);
  const std::int64_t rank = x.type.shape.rank();
  const auto axis = normalize_axis(node.attribute_or<std::int64_t>("axis", is_one ? -1 : 1), rank);
  if (!axis) invalid("the axis");
  const auto axes = is_one ? std::vector{*axis} : axes_from(*axis, rank);
  node.finish(softmax(node, x, axes, node.node().kind() == ops::LogSoftmax::kind));
}

constexpr std::array lowered_normalizations{
    LowerRule{ops::BatchNormalization::kind, lower_batch_norm},
    LowerRule{ops::InstanceNormalization::kind, lower_instance_norm},
    LowerRule{ops::LayerNormalization::kind, lower_layer_norm},
    LowerRule{ops::LogSoftmax::kind, lower_softmax},
    LowerRule{ops::Softmax::kind, lower_softmax},
};

}  // namespace

LowerRules normalization_rules() noexcept { return lowered_normalizations; }

}  // namespace quadrant::inline v0::mlir_ir
