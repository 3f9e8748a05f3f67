#include "io/openvino/real_operand.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/ops/codes.hpp"
#include "quadrant/ir/ops/elementwise.hpp"
#include "quadrant/ir/ops/normalization.hpp"
#include "quadrant/ir/products.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

/// Numbers times a constant, as they come out of a dequantization.
bool is_scaled(NodeRef node) {
  constexpr std::array kinds{ops::Multiply::kind, ops::Div::kind, ops::BatchNormalization::kind};
  return std::ranges::find(kinds, node.kind()) != kinds.end() &&
         (node.operand_constant(0) != nullptr || node.operand_constant(1) != nullptr);
}

/// Of what makes codes, or scales them: not one number for all elements.
bool has_several_scales(NodeRef node) {
  const auto is_several = [](const TensorType& type) {
    return type.is_quantized() && type.uniform()->granularity.kind != Granularity::Kind::tensor;
  };
  if (is_several(node.graph->type(node.operand(0))) || is_several(node.type())) return true;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const bool is_data = node.operand_constant(i) == nullptr && (i == 0 || is_scaled(node));
    if (is_data || node.operand(i).is_absent()) continue;
    if (node.graph->type(node.operand(i)).shape.element_count() != 1) return true;
  }
  return false;
}

/// Whether FakeQuantize, codes that are dequantized, or what looks like them, stand in front of the
/// value, with nothing between but what moves codes, or a scale and a summand behind them: all but
/// products.
bool may_be_codes(const GraphView& graph, Value value, Scales scales) {
  constexpr std::array sources{ops::FakeQuantize::kind, ops::Dequantize::kind, ops::Quantize::kind,
                               ops::DequantizeLinear::kind};
  std::vector<Value> open{value};
  std::unordered_set<std::uint32_t> seen;
  while (!open.empty()) {
    const NodeRef node{&graph, open.back().node};
    open.pop_back();
    if (!seen.insert(node.id.index).second) continue;
    // Of so many nobody knows.
    if (seen.size() > 1024) return true;
    if (node.operands().empty() || find_product(node) != nullptr) continue;
    const bool is_source = std::ranges::find(sources, node.kind()) != sources.end();
    const bool is_found = is_source ? node.operand_constant(0) == nullptr : is_scaled(node);
    if (is_found && (scales == Scales::any || has_several_scales(node))) return true;
    for (const Value operand : node.operands()) {
      const bool is_followed =
          !is_source && !operand.is_absent() && graph.constant(operand.node) == nullptr;
      if (is_followed && is_float(graph.type(operand).element)) open.push_back(operand);
    }
  }
  return false;
}

}  // namespace

Output real_operand(LoweredNode& node, std::size_t index, Scales scales) {
  const Output output = node.operand(index);
  const TensorType type = node.type(index);
  const NodeRef& made = node.node();
  if (!is_float(type.element) || !node.is_among_codes()) return output;
  if (!may_be_codes(*made.graph, made.operand(index), scales)) return output;
  const Output lowest =
      node.number("lowest", type.element, -std::numeric_limits<double>::infinity());
  return node.step({"Maximum"}, std::array{output, lowest}, {{"auto_broadcast", "numpy"}}, type,
                   "in_reals");
}

}  // namespace quadrant::inline v0::openvino_ir
