#include "real_operations.hpp"

#include <algorithm>
#include <array>

#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

constexpr std::array none_of_these{ops::Input::kind,
                                   ops::Constant::kind,
                                   ops::Output::kind,
                                   ops::Quantize::kind,
                                   ops::Dequantize::kind,
                                   std::string_view("onnx.QuantizeLinear"),
                                   std::string_view("onnx.DequantizeLinear")};

bool is_real(const TensorType& type) { return !type.is_quantized() && is_float(type.element); }

bool computes_on_reals(const Graph& graph, NodeId node) {
  for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
    if (is_real(graph.type({node, i}))) return true;
  }
  return std::ranges::any_of(graph.operands(node), [&](Value operand) {
    return !operand.is_absent() && graph.kind(operand.node) != ops::Constant::kind &&
           is_real(graph.type(operand));
  });
}

}  // namespace

std::set<std::string> real_operations(const Graph& graph) {
  std::set<std::string> names;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || std::ranges::count(none_of_these, graph.kind(node)) != 0) continue;
    if (computes_on_reals(graph, node)) names.emplace(label(graph, node));
  }
  return names;
}

}  // namespace quadrant::webnn
