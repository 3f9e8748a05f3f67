#include "ir/find_quantization.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// ONNX Runtime's operators that quantize inside, or of which some operands alone are codes.
constexpr std::array operators_that_quantize{
    std::string_view("DynamicQuantizeLSTM"),      std::string_view("DynamicQuantizeLinear"),
    std::string_view("DynamicQuantizeMatMul"),    std::string_view("MatMulBnb4"),
    std::string_view("MatMulInteger16"),          std::string_view("QAttention"),
    std::string_view("QEmbedLayerNormalization"), std::string_view("QMoE")};

constexpr std::array quantizing_kinds{ops::Quantize::kind,       ops::Dequantize::kind,
                                      ops::StorageCast::kind,    ops::FakeQuantize::kind,
                                      ops::ConstFakeQuant::kind, ops::FakeQuant::kind};

bool is_quantizing(std::string_view kind) {
  if (std::ranges::find(quantizing_kinds, kind) != quantizing_kinds.end()) return true;
  if (!kind.starts_with("onnx.")) return false;
  const std::string_view name = kind.substr(kind.find_last_of(".:") + 1);
  // These say what they do of anything.
  if (name == "Shape" || name == "Size") return false;
  return is_defined_on_codes(kind) ||
         std::ranges::find(operators_that_quantize, name) != operators_that_quantize.end();
}

}  // namespace

std::optional<NodeId> find_quantization(const GraphView& graph) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    if (is_quantizing(graph.kind(node))) return node;
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      if (graph.type({node, result}).is_quantized()) return node;
    }
  }
  return std::nullopt;
}

}  // namespace quadrant::inline v0
