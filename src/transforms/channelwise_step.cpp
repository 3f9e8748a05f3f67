#include "transforms/channelwise_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "transforms/channels.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr std::array norm_parameters{"scale", "bias", "mean", "variance"};

OrReason<std::vector<double>> read_parameter(const NodeRef& norm, std::size_t index,
                                             std::int64_t channels) {
  const std::string_view name = norm_parameters[index - 1];
  const Constant* constant = norm.operand_constant(index);
  if (!constant) return because(fmt::format("its {} is computed", name));
  if (!is_wide_float(constant->element()) || constant->shape() != Shape{channels}) {
    return because(
        fmt::format("its {} is not one f32 or f64 for each of {} channels", name, channels));
  }
  Expected<std::vector<double>> values = read_reals(*constant);
  if (!values) return because(to_string(values.error()));
  if (!are_finite(ElementType::float64, *values)) {
    return because(fmt::format("its {} is not finite", name));
  }
  return *std::move(values);
}

OrReason<ChannelwiseStep> read_norm(const NodeRef& norm, const LinearLayer& layer) {
  if (norm.graph->result_count(norm.id) != 1 ||
      norm.attribute_or<std::int64_t>("training_mode", 0) != 0) {
    return because("it is in training form");
  }
  if (norm.attribute_or<std::int64_t>("spatial", 1) == 0) {
    return because("it normalizes each position by itself");
  }
  // Its channels are axis 1.
  if (layer.result_axis != 1 - layer.rank) return because("the layer's channels are the last axis");

  const std::int64_t channels = layer.layout.outputs();
  std::array<std::vector<double>, norm_parameters.size()> parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    OrReason<std::vector<double>> values = read_parameter(norm, i + 1, channels);
    if (!values) return because(values.error());
    parameters[i] = *std::move(values);
  }
  const auto& [gamma, beta, mean, variance] = parameters;
  const double epsilon = norm.attribute_or("epsilon", 1e-5);
  ChannelwiseStep step{.node = norm.id,
                       .factor = {},
                       .shift = {},
                       .moments = ChannelMoments{.mean = beta, .deviation = {}}};
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    const double sigma = std::sqrt(variance[c] + epsilon);
    if (!(sigma > 0)) return because(fmt::format("the variance of channel {} is not positive", c));
    step.factor.push_back(gamma[c] / sigma);
    step.shift.push_back(beta[c] - mean[c] * step.factor.back());
    step.moments->deviation.push_back(std::abs(gamma[c]));
  }
  return step;
}

OrReason<ChannelwiseStep> read_arithmetic(const Graph& graph, const LinearLayer& layer,
                                          const Use& use) {
  const NodeRef node = graph.ref(use.user);
  const bool is_divide = node.kind() == ops::Div::kind;
  const bool is_subtract = node.kind() == ops::Sub::kind;
  const bool is_product = is_divide || node.kind() == ops::Multiply::kind;
  if (!is_product && !is_subtract && node.kind() != ops::Add::kind) {
    return because(fmt::format("{} is nothing to fold", node.kind()));
  }
  if (use.operand > 1 || node.operands().size() != 2 || (is_divide && use.operand == 1)) {
    return because("it divides by the layer's result");
  }
  const std::int64_t channels = layer.layout.outputs();
  const Constant* constant = node.operand_constant(1 - use.operand);
  if (!constant || constant->element() != layer.element ||
      node.operand_type(1 - use.operand)->is_quantized() ||
      !is_channelwise(*constant, channels, layer.result_axis, layer.rank)) {
    return because("its other operand is not one constant a channel");
  }
  Expected<std::vector<double>> values = read_channels(*constant, channels);
  if (!values) return because(to_string(values.error()));

  const auto count = static_cast<std::size_t>(channels);
  ChannelwiseStep step{.node = node.id,
                       .factor = std::vector<double>(count, 1),
                       .shift = std::vector<double>(count, 0),
                       .is_product = is_product,
                       .moments = {}};
  for (std::size_t c = 0; c < count; ++c) {
    const double value = (*values)[c];
    if (is_product) {
      step.factor[c] = is_divide ? 1 / value : value;
    } else if (is_subtract && use.operand == 1) {
      step.factor[c] = -1;
      step.shift[c] = value;
    } else {
      step.shift[c] = is_subtract ? -value : value;
    }
  }
  if (!are_finite(ElementType::float64, step.factor) ||
      !are_finite(ElementType::float64, step.shift)) {
    return because("its constant is not finite, or a divisor is zero");
  }
  return step;
}

}  // namespace

OrReason<ChannelwiseStep> read_step(const Graph& graph, const LinearLayer& layer, const Use& use,
                                    bool only_norms) {
  const NodeRef node = graph.ref(use.user);
  if (node.kind() == batch_normalization_kind) {
    if (use.operand != 0) return because("a layer computes one of its parameters");
    return read_norm(node, layer);
  }
  if (only_norms) return because(fmt::format("{} is no normalization", node.kind()));
  return read_arithmetic(graph, layer, use);
}

}  // namespace quadrant::inline v0
