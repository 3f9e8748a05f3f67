#include "calibration/bias_layers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::uint32_t no_operand = 0xFFFFFFFF;

struct LayerKind {
  std::string_view kind;
  std::int64_t channel_axis;  // of the result; counted from the end where negative
  std::uint32_t data = 0;
  std::uint32_t bias = 2;
};

constexpr std::array layer_kinds{LayerKind{ops::Conv::kind, 1},
                                 LayerKind{ops::ConvTranspose::kind, 1},
                                 LayerKind{ops::Gemm::kind, -1},
                                 LayerKind{ops::Linear::kind, -1},
                                 LayerKind{ops::Addmm::kind, -1, 1, 0},
                                 LayerKind{ops::MatMul::kind, -1, 0, no_operand},
                                 LayerKind{ops::BatchMatMul::kind, -1, 0, no_operand}};

bool computes_on_codes(NodeRef node, const LayerKind& kind) {
  const TensorType* const data = node.operand_type(kind.data);
  return data != nullptr && data->is_quantized() && node.type().is_quantized();
}

bool can_be_corrected(NodeRef node, std::uint32_t operand) {
  const Constant* const bias = node.operand_constant(operand);
  return bias != nullptr && node.graph->uses(node.operand(operand).node).size() == 1 &&
         (node.operand_type(operand)->is_quantized() || bias->element() == ElementType::float32);
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
    return {.node = user.id, .bias = user.operand(other).node, .channel_axis = -1};
  }
  return {};
}

}  // namespace

std::optional<BiasLayer> bias_layer(const Graph& graph, NodeId node) {
  const NodeRef layer = graph.ref(node);
  const auto* const kind = std::ranges::find(layer_kinds, layer.kind(), &LayerKind::kind);
  if (kind == layer_kinds.end() || !computes_on_codes(layer, *kind)) return std::nullopt;
  if (kind->bias == no_operand) return addition_behind(graph, node);
  if (!can_be_corrected(layer, kind->bias)) return BiasLayer{};
  return BiasLayer{node, layer.operand(kind->bias).node, kind->channel_axis};
}

}  // namespace quadrant::inline v0
