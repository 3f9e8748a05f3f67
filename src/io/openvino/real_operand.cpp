#include "io/openvino/real_operand.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/products.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

/// Whether FakeQuantize, or codes that are dequantized, stand in front of the value, with nothing
/// between but what moves codes, or a scale and a summand behind them: all but products.
bool may_be_codes(const GraphView& graph, Value value) {
  constexpr std::array sources{ops::FakeQuantize::kind, ops::Dequantize::kind, ops::Quantize::kind,
                               std::string_view("onnx.DequantizeLinear")};
  std::vector<Value> open{value};
  for (int left = 256; !open.empty() && left > 0; --left) {
    const NodeRef node{&graph, open.back().node};
    open.pop_back();
    if (node.operands().empty() || find_product(node.kind()) != nullptr) continue;
    const bool is_source = std::ranges::find(sources, node.kind()) != sources.end();
    if (is_source && node.operand_constant(0) == nullptr) return true;
    for (const Value operand : node.operands()) {
      const bool is_followed =
          !is_source && !operand.is_absent() && graph.constant(operand.node) == nullptr;
      if (is_followed && is_float(graph.type(operand).element)) open.push_back(operand);
    }
  }
  return false;
}

}  // namespace

Output real_operand(LoweredNode& node, std::size_t index) {
  const Output output = node.operand(index);
  const TensorType type = node.type(index);
  const NodeRef& made = node.node();
  if (!is_float(type.element) || !may_be_codes(*made.graph, made.operand(index))) return output;
  const Output lowest =
      node.number("lowest", type.element, -std::numeric_limits<double>::infinity());
  return node.step({"Maximum"}, std::array{output, lowest}, {{"auto_broadcast", "numpy"}}, type,
                   "in_reals");
}

}  // namespace quadrant::inline v0::openvino_ir
