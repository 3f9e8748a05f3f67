#include "report/weights.hpp"

#include <algorithm>
#include <array>
#include <range/v3/view/reverse.hpp>
#include <span>
#include <string_view>

#include "quadrant/engine/eligibility.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

std::uint64_t quantized_bytes(const UniformType& type, std::uint64_t elements) {
  const auto code_bytes = [&type](std::uint64_t count) {
    return (count * static_cast<std::uint64_t>(bit_width(type.storage)) + 7) / 8;
  };
  const auto groups = type.scales ? static_cast<std::uint64_t>(type.scales.element_count()) : 0;
  // Formats store zero points even where all are zero.
  return code_bytes(elements) + groups * sizeof(float) + code_bytes(groups);
}

// The operands that an operation reads as weights.
std::span<const std::uint32_t> weight_operands(std::string_view kind) {
  static constexpr std::array<std::uint32_t, 2> both{0, 1};
  static constexpr std::array<std::uint32_t, 1> second{1};
  if (kind == ops::MatMul::kind || kind == ops::Gemm::kind) return both;
  if (kind == ops::Conv::kind) return second;
  return {};
}

}  // namespace

std::vector<Weight> find_weights(const GraphView& graph) {
  std::vector<Weight> weights;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant == nullptr || !*constant) continue;
    const TensorType& type = graph.type({node, 0});
    const auto elements = static_cast<std::uint64_t>(constant->element_count());
    if (type.is_quantized()) {
      weights.push_back({node, elements, quantized_bytes(*type.quantization, elements), true});
    } else if (is_float(type.element)) {
      weights.push_back({node, elements, constant->byte_size(), false});
    }
  }
  return weights;
}

void add(WeightTotals& totals, const Weight& weight) noexcept {
  ++totals.count;
  totals.elements += weight.elements;
  totals.bytes += weight.bytes;
}

std::vector<bool> find_eligible(const GraphView& graph, const std::vector<NodeId>& order,
                                const Registry& registry) {
  const Eligibility eligibility = detect_eligibility(graph, order, registry);
  std::vector<bool> reaches(graph.index_bound(), false);
  for (const NodeId node : order | ranges::views::reverse) {
    const bool passes_on = reaches[node.index];
    const auto operands = graph.operands(node);
    const auto as_weights = weight_operands(graph.kind(node));
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const Value operand = operands[i];
      if (operand.is_absent()) continue;
      if (passes_on || std::ranges::find(as_weights, i) != as_weights.end()) {
        const bool is_weight = graph.constant(operand.node) != nullptr;
        if (is_weight || eligibility.furthest_state(operand) == State::Quantizable) {
          reaches[operand.node.index] = true;
        }
      }
    }
  }
  for (const NodeId node : order) {
    const bool is_weight =
        graph.constant(node) != nullptr && is_float(graph.type({node, 0}).element);
    if (!is_weight) reaches[node.index] = false;
  }
  return reaches;
}

}  // namespace quadrant::inline v0
