#include "calibration/bias_layers.hpp"

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

bool computes_on_codes(NodeRef node, const Product& product) {
  const TensorType* const data = node.operand_type(product.data);
  return data != nullptr && data->is_quantized() && node.type().is_quantized();
}

// Codes, or what a dequantize makes of them, with data that are real.
bool has_coded_weight(NodeRef node, const Product& product) {
  const Value weight = node.operand(product.weight);
  if (weight.is_absent() || node.type().is_quantized()) return false;
  const NodeRef maker{node.graph, weight.node};
  const Value codes = maker.kind() == ops::Dequantize::kind ? maker.operand(0) : weight;
  return node.graph->constant(codes.node) != nullptr && node.graph->type(codes).is_quantized();
}

bool can_be_corrected(NodeRef node, std::uint32_t operand) {
  const Constant* const bias = node.operand_constant(operand);
  return bias != nullptr && node.graph->uses(node.operand(operand).node).size() == 1 &&
         (node.operand_type(operand)->is_quantized() || bias->element() == ElementType::float32);
}

bool is_product_with_constant(NodeRef node) {
  return node.kind() == ops::MatMul::kind && node.operand_constant(1) != nullptr;
}

// The sum y + (x A) B that correct_low_rank put behind a node that computes y of x, or the node.
NodeId corrected_result(const Graph& graph, NodeId node) {
  const auto uses = graph.uses(node);
  if (uses.size() != 1 || graph.kind(uses[0].user) != ops::Add::kind) return node;
  const NodeRef sum = graph.ref(uses[0].user);
  const NodeRef second{&graph, sum.operand(1 - uses[0].operand).node};
  if (!is_product_with_constant(second)) return node;
  const NodeRef first{&graph, second.operand(0).node};
  const Product* const product = find_product(graph.ref(node));
  const bool is_correction = is_product_with_constant(first) && product != nullptr &&
                             first.operand(0) == graph.operands(node)[product->data];
  return is_correction ? sum.id : node;
}

// The addition of one constant a channel that alone reads the result. Not valid: there is none.
BiasLayer addition_behind(const Graph& graph, NodeId node) {
  for (auto uses = graph.uses(node); uses.size() == 1; uses = graph.uses(node)) {
    const NodeRef user = graph.ref(uses[0].user);
    node = user.id;
    if (user.kind() == ops::Dequantize::kind) continue;
    const std::uint32_t other = 1 - uses[0].operand;
    if (user.kind() != ops::Add::kind || !can_be_corrected(user, other)) return {};
    const Constant& bias = *user.operand_constant(other);
    const Shape& shape = user.type().shape;
    const auto is_last = [&](const Shape& of) {
      return of.rank() > 0 && surely_equal(of[of.rank() - 1], bias.element_count());
    };
    const bool is_by_channel = is_last(bias.shape()) && is_last(shape);
    if (!is_by_channel) return {};
    return {.node = user.id,
            .corrected = user.id,
            .bias = user.operand(other).node,
            .channel_axis = -1};
  }
  return {};
}

}  // namespace

std::optional<BiasLayer> bias_layer(const Graph& graph, NodeId node) {
  const NodeRef layer = graph.ref(node);
  const Product* const product = find_product(layer);
  if (product == nullptr || layer.operands().size() <= product->weight) return std::nullopt;
  if (!computes_on_codes(layer, *product) && !has_coded_weight(layer, *product)) {
    return std::nullopt;
  }
  const bool has_bias = product->bias < find_operation(layer)->operands.most;
  const NodeId corrected = corrected_result(graph, node);
  if (!has_bias) return addition_behind(graph, corrected);
  if (!can_be_corrected(layer, product->bias)) return BiasLayer{};
  return BiasLayer{node, corrected, layer.operand(product->bias).node, product->result_channel};
}

}  // namespace quadrant::inline v0
