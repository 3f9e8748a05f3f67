// Normalizations: by numbers that were learned, by mean and deviation, by the sum of powers of e.
#include "ir/ops/normalization.hpp"

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

double epsilon_of(const LoweredNode& node) { return node.attribute_or<double>("epsilon", 1e-5); }

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
  node.finish(by_channel(node, x, channels, [&](Region& region) {
    const Scalar made = normalized(region, region.argument(0), region.argument(3),
                                   region.argument(4), epsilon_of(node));
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

/// The last axes, from the one that an attribute names.
std::vector<std::int64_t> normalized_axes(const LoweredNode& node) {
  const std::int64_t rank = node.shape(0).rank();
  const auto first = normalize_axis(node.attribute_or<std::int64_t>("axis", -1), rank);
  if (!first) invalid("the axis");
  return axes_from(*first, rank);
}

void lower_layer_norm(LoweredNode& node) {
  for (std::uint32_t i = 1; i < node.node().graph->result_count(node.node().id); ++i) {
    if (!node.node().graph->value_name(node.node().result(i)).empty()) {
      impossible("a normalization that gives its mean");
    }
  }
  const Term x = node.operand(0);
  Term made = centred_and_scaled(node, x, normalized_axes(node), epsilon_of(node));
  if (node.has(1)) made = node.together(multiplication, made, node.operand(1), x.type.shape);
  if (node.has(2)) made = node.together(addition, made, node.operand(2), x.type.shape);
  node.finish(made);
}

/// x / sqrt(mean(x * x) + epsilon) * scale
void lower_rms_norm(LoweredNode& node) {
  const Term x = node.operand(0);
  if (!is_float(x.type.element)) impossible("a root of integers");
  const std::vector<std::int64_t> axes = normalized_axes(node);
  const Term squares = node.together(multiplication, x, x, x.type.shape);
  const Term mean = with_axes(node, mean_over(node, squares, axes), axes);
  const Term made =
      node.map(std::array{x, mean}, x.type.element, x.type.shape, [&](Region& region) {
        const Scalar& value = region.argument(0);
        return normalized(region, value, region.number(value, 0), region.argument(1),
                          epsilon_of(node));
      });
  node.finish(node.together(multiplication, made, node.operand(1), x.type.shape));
}

/// `made` times operand 1 plus operand 2, which have a number for each index of axis 1.
Term scaled(LoweredNode& node, const Term& made) {
  const std::array channels{node.operand(1), node.operand(2)};
  for (const Term& term : channels) {
    if (term.type.shape != Shape{made.type.shape[1]})
      invalid("a number for each channel is missing");
  }
  return by_channel(node, made, channels, [](Region& region) {
    return region.add(region.multiply(region.argument(0), region.argument(1)), region.argument(2));
  });
}

void lower_instance_norm(LoweredNode& node) {
  const Term x = node.operand(0);
  const std::int64_t rank = x.type.shape.rank();
  if (rank < 3) invalid("an image without pixels");
  node.finish(scaled(node, centred_and_scaled(node, x, axes_from(2, rank), epsilon_of(node))));
}

void lower_group_norm(LoweredNode& node) {
  const Term x = node.operand(0);
  if (x.type.shape.rank() < 2) invalid("an image without channels");
  const auto groups = node.attribute_or<std::int64_t>("num_groups", 1);
  const std::int64_t channels = x.type.shape[1].value();
  if (groups < 1 || channels % groups != 0) {
    invalid(fmt::format("{} groups of {} channels", groups, channels));
  }
  const std::int64_t images = x.type.shape[0].value();
  const std::int64_t all = images * groups;
  const std::int64_t count = x.type.shape.element_count().value_or(0);
  const Term grouped = node.reshaped(x, Shape{images, groups, all == 0 ? 0 : count / all});
  const Term made =
      centred_and_scaled(node, grouped, std::array<std::int64_t, 1>{2}, epsilon_of(node));
  // Before opset 21 one scale served the channels of a group.
  node.finish(node.opset() < 21 ? node.reshaped(scaled(node, made), x.type.shape)
                                : scaled(node, node.reshaped(made, x.type.shape)));
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
    LowerRule{ops::GroupNormalization::kind, lower_group_norm},
    LowerRule{ops::InstanceNormalization::kind, lower_instance_norm},
    LowerRule{ops::LayerNormalization::kind, lower_layer_norm},
    LowerRule{ops::LogSoftmax::kind, lower_softmax},
    LowerRule{ops::RMSNormalization::kind, lower_rms_norm},
    LowerRule{ops::Softmax::kind, lower_softmax},
};

}  // namespace

LowerRules normalization_rules() noexcept { return lowered_normalizations; }

}  // namespace quadrant::inline v0::mlir_ir
