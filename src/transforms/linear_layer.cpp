#include "transforms/linear_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "transforms/channels.hpp"
#include "transforms/edits.hpp"

namespace quadrant::inline v0 {

namespace {

bool has_outputs_first(const NodeRef& node, const Shape& weight) {
  return find_product(node)->channel(node, weight) == 0;
}

// Weights of `shape` for a convolution.
OrReason<void> set_convolution(const NodeRef& node, const Shape& shape, LinearLayer& layer) {
  if (shape.rank() < 3) {
    return because(fmt::format("its weights of shape [{}] are no kernels", to_string(shape)));
  }
  const auto groups = node.attribute_or<std::int64_t>("group", 1);
  if (groups < 1 || shape[0].value() % groups != 0) {
    return because(
        fmt::format("{} groups do not fit its weights of shape [{}]", groups, to_string(shape)));
  }
  std::int64_t run = 1;
  for (const std::int64_t extent : shape.known_extents().subspan(2)) run *= extent;
  layer.layout = {.outer = shape[0].value(),
                  .inner = shape[1].value(),
                  .run = run,
                  .groups = groups,
                  .outer_is_output = has_outputs_first(node, shape)};
  layer.rank = shape.rank();
  layer.data_axis = layer.result_axis = 1 - shape.rank();
  return {};
}

OrReason<void> set_product(const NodeRef& node, const Shape& shape, LinearLayer& layer) {
  if (shape.rank() != 2) {
    return because(fmt::format("its weights of shape [{}] are no matrix", to_string(shape)));
  }
  layer.layout = {.outer = shape[0].value(),
                  .inner = shape[1].value(),
                  .outer_is_output = has_outputs_first(node, shape)};
  if (node.kind() == ops::Gemm::kind) {
    if (ops::Gemm{node}.trans_a()) layer.data_axis = -2;
    layer.alpha = node.attribute_or("alpha", 1.0);
    layer.beta = node.attribute_or("beta", 1.0);
    layer.rank = 2;
    if (!std::isfinite(layer.alpha) || !std::isfinite(layer.beta)) {
      return because("alpha or beta is not finite");
    }
  } else {
    layer.rank = std::max<std::int64_t>(node.type().shape.rank(), 1);
  }
  return {};
}

// The bias as an operand of the node itself.
OrReason<void> set_bias(const NodeRef& node, LinearLayer& layer) {
  layer.bias_node = node.id;
  if (node.operand(layer.bias_operand).is_absent()) return {};
  const Constant* bias = node.operand_constant(layer.bias_operand);
  if (!bias) return because("its bias is computed");
  if (bias->element() != layer.element || node.operand_type(layer.bias_operand)->is_quantized() ||
      !is_channelwise(*bias, layer.layout.outputs(), -1, node.kind() == ops::Gemm::kind ? 2 : 1)) {
    return because(fmt::format("its bias of type {} is not one {} a channel",
                               to_string(*node.operand_type(layer.bias_operand)),
                               to_string(layer.element)));
  }
  layer.has_bias = true;
  return {};
}

// A product that has no operand for the bias may have an addition behind it.
void find_added_bias(const Graph& graph, LinearLayer& layer) {
  const OrReason<Use> use = only_use(graph, layer.result);
  if (!use || graph.kind(use->user) != ops::Add::kind) return;
  const std::uint32_t other = 1 - use->operand;
  const Constant* bias = graph.ref(use->user).operand_constant(other);
  if (!bias || bias->element() != layer.element ||
      !is_channelwise(*bias, layer.layout.outputs(), layer.result_axis, layer.rank)) {
    return;
  }
  layer.bias_node = use->user;
  layer.bias_operand = other;
  layer.has_bias = true;
  layer.result = {use->user};
}

}  // namespace

std::vector<double> weighted_sums(const WeightLayout& layout, std::span<const double> weight,
                                  std::span<const double> inputs) {
  std::vector<double> sums(static_cast<std::size_t>(layout.outputs()));
  const auto run = static_cast<std::size_t>(layout.run);
  layout.for_each_row([&](std::size_t output, std::size_t input, std::size_t row) {
    for (const double w : weight.subspan(row * run, run)) sums[output] += w * inputs[input];
  });
  return sums;
}

bool is_linear(std::string_view kind) noexcept {
  const Operation* const row = find_operation(kind);
  return row != nullptr && row->product != nullptr && row->product->data == 0;
}

bool has_bias_operand(std::string_view kind) noexcept {
  const Operation& row = *find_operation(kind);
  return row.product->bias < row.operands.most;
}

OrReason<LinearLayer> find_layer(const Graph& graph, NodeId node_id) {
  const NodeRef node = graph.ref(node_id);
  if (!is_linear(node.kind())) return because(fmt::format("{} is no layer", node.kind()));
  if (graph.result_count(node_id) != 1) return because("it has more than one result");
  LinearLayer layer;
  layer.node = node_id;
  layer.result = node.result();
  const Constant* weight = node.operand_constant(layer.weight_operand);
  if (!weight) return because("its weights are computed, or are its first operand");
  const TensorType& type = *node.operand_type(layer.weight_operand);
  if (type.is_quantized()) return because("its weights are quantized already");
  layer.element = weight->element();
  if (!is_wide_float(layer.element)) {
    return because(
        fmt::format("its weights are {}, where f32 or f64 is wanted", to_string(layer.element)));
  }
  const OrReason<void> shaped = is_convolution(*find_product(node))
                                    ? set_convolution(node, weight->shape(), layer)
                                    : set_product(node, weight->shape(), layer);
  if (!shaped) return because(shaped.error());
  if (weight->element_count() == 0) return because("its weights have no elements");
  if (!has_bias_operand(node.kind())) {
    layer.bias_node = node_id;
    find_added_bias(graph, layer);
    return layer;
  }
  const OrReason<void> biased = set_bias(node, layer);
  if (!biased) return because(biased.error());
  return layer;
}

const Constant& weight_of(const Graph& graph, const LinearLayer& layer) {
  return *graph.ref(layer.node).operand_constant(layer.weight_operand);
}

Expected<std::vector<double>> read_bias(const Graph& graph, const LinearLayer& layer) {
  const std::int64_t outputs = layer.layout.outputs();
  if (!layer.has_bias) return std::vector<double>(static_cast<std::size_t>(outputs));
  QUADRANT_TRY(
      std::vector<double> bias,
      read_channels(*graph.ref(layer.bias_node).operand_constant(layer.bias_operand), outputs));
  for (double& value : bias) value *= layer.beta;
  return bias;
}

void write_bias(Graph& graph, LinearLayer& layer, const std::vector<double>& bias) {
  if (!layer.has_bias && std::ranges::all_of(bias, [](double value) { return value == 0; })) {
    return;
  }
  const std::int64_t outputs = layer.layout.outputs();
  const bool is_new = !layer.has_bias;
  layer.has_bias = true;
  if (layer.beta != 1) {
    graph.erase_attribute(layer.node, "beta");
    layer.beta = 1;
  }
  if (is_new && !has_bias_operand(graph.kind(layer.node))) {
    layer.bias_node =
        add_behind(graph, layer.result, rounded_constant(layer.element, {outputs}, bias));
    layer.bias_operand = 1;
    layer.result = {layer.bias_node};
    return;
  }
  if (is_new) {
    const std::string name = fmt::format("{}_bias", graph.value_name(layer.result));
    const Value added = graph.add_constant(name, rounded_constant(layer.element, {outputs}, bias));
    layer.node = with_operand(graph, layer.node, layer.bias_operand, added);
    layer.bias_node = layer.node;
    layer.result = {layer.node};
    return;
  }
  // One number for all, or a row of them, becomes a row of the same rank.
  const Constant& before = *graph.ref(layer.bias_node).operand_constant(layer.bias_operand);
  std::vector<Extent> extents(before.shape().extents().begin(), before.shape().extents().end());
  if (extents.empty()) extents.emplace_back(1);
  extents.back() = outputs;
  set_own_constant(graph, layer.bias_node, layer.bias_operand,
                   rounded_constant(layer.element, Shape(std::move(extents)), bias));
}

}  // namespace quadrant::inline v0
