#include "report/weights.hpp"

#include <algorithm>
#include <array>
#include <range/v3/view/reverse.hpp>
#include <string_view>

#include "quadrant/engine/eligibility.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/scales.hpp"

namespace quadrant::inline v0 {
namespace {

// The operands that an operation reads as weights.
struct Reader {
  std::string_view kind;
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array readers{
    Reader{ops::MatMul::kind, 0, 1},        Reader{ops::BatchMatMul::kind, 0, 1},
    Reader{ops::Gemm::kind, 0, 1},          Reader{ops::Linear::kind, 0, 1},
    Reader{ops::Addmm::kind, 1, 2},         Reader{ops::Baddbmm::kind, 1, 2},
    Reader{ops::Einsum::kind, 0, 1},        Reader{ops::Conv::kind, 1, 1},
    Reader{ops::ConvTranspose::kind, 1, 1}, Reader{ops::Rnn::kind, 1, 2},
    Reader{ops::Gru::kind, 1, 2},           Reader{ops::Lstm::kind, 1, 2},
    Reader{ops::Gather::kind, 0, 0},
};

bool reads_as_weight(NodeRef node, std::uint32_t operand) {
  const auto* reader = std::ranges::find(readers, node.kind(), &Reader::kind);
  if (reader == readers.end() || operand < reader->first || operand > reader->last) return false;
  const TensorType* type = node.operand_type(operand);
  const bool is_list = type != nullptr && type->shape.is_ranked() && type->shape.rank() < 2;
  return reader->kind != ops::Gather::kind || !is_list;  // a table has rows
}

}  // namespace

std::uint64_t quantized_bytes(const UniformType& type, const Shape& shape) {
  const ElementType scale = type.scales ? type.scales.element() : ElementType::float32;
  const bool has_zero_points = static_cast<bool>(type.zero_points);
  return stored_bytes(shape, type.granularity, type.storage, scale, has_zero_points);
}

std::vector<Weight> find_weights(const GraphView& graph) {
  std::vector<Weight> weights;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant == nullptr || !*constant) continue;
    const TensorType& type = graph.type({node, 0});
    const auto elements = static_cast<std::uint64_t>(constant->element_count());
    if (type.is_quantized()) {
      weights.push_back({node, elements, quantized_bytes(*type.quantization, type.shape), true});
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
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const Value operand = operands[i];
      if (operand.is_absent()) continue;
      if (passes_on || reads_as_weight({&graph, node}, i)) {
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
