#include "targets/data_flow.hpp"

#include <algorithm>
#include <array>

#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

template <std::size_t size>
bool is_one_of(std::string_view kind, const std::array<std::string_view, size>& kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool is_fixed_source(const GraphView& graph, NodeId node) {
  constexpr std::array<std::string_view, 2> carried{"onnx.initializer", "onnx.sparse_initializer"};
  return graph.constant(node) != nullptr || is_one_of(graph.kind(node), carried);
}

}  // namespace

std::vector<bool> find_varying(const GraphView& graph, const std::vector<NodeId>& order) {
  std::vector<bool> varying(graph.index_bound(), false);
  for (const NodeId node : order) {
    bool has_operands = false;
    bool varies = false;
    for (const Value operand : graph.operands(node)) {
      if (operand.is_absent()) continue;
      has_operands = true;
      varies = varies || varying[operand.node.index];
    }
    varying[node.index] = has_operands ? varies : !is_fixed_source(graph, node);
  }
  return varying;
}

bool makes_codes(std::string_view kind) noexcept {
  constexpr std::array<std::string_view, 3> kinds{ops::Quantize::kind, ops::QuantizeLinear::kind,
                                                  "onnx.com.microsoft::QuantizeLinear"};
  return is_one_of(kind, kinds);
}

bool makes_reals(std::string_view kind) noexcept {
  constexpr std::array<std::string_view, 3> kinds{
      ops::Dequantize::kind, ops::DequantizeLinear::kind, "onnx.com.microsoft::DequantizeLinear"};
  return is_one_of(kind, kinds);
}

bool is_fused(std::string_view kind) noexcept {
  return kind == ops::Relu::kind || kind == ops::Clip::kind;
}

}  // namespace quadrant::inline v0
