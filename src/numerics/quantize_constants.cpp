#include "numerics/quantize_constants.hpp"

#include <memory>
#include <string>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/convert.hpp"

namespace quadrant::inline v0 {
namespace {

// Takes the place of the node's result.
void replace_by_codes(Graph& graph, NodeId node, const Constant& codes,
                      const std::shared_ptr<const UniformType>& type) {
  const std::vector<Value> operands(graph.operands(node).begin(), graph.operands(node).end());
  const Value made = graph.add_constant(std::string(graph.value_name({node})), codes);
  graph.set_constant(made.node, codes, type);
  graph.replace_uses({node}, made);
  graph.erase(node);
  for (const Value operand : operands) {
    const bool is_there = !operand.is_absent() && graph.contains(operand.node);
    if (is_there && graph.constant(operand.node) != nullptr && graph.uses(operand.node).empty()) {
      graph.erase(operand.node);
    }
  }
}

}  // namespace

Expected<void> quantize_constants(Graph& graph) {
  const std::uint32_t bound = graph.index_bound();
  for (std::uint32_t index = 0; index < bound; ++index) {
    const NodeId id = graph.node_at(index);
    if (!id.is_valid()) continue;
    const NodeRef node = graph.ref(id);
    if (node.kind() != ops::Quantize::kind) continue;
    const Constant* const real = node.operand_constant(0);
    if (real == nullptr || !is_float(real->element())) continue;
    // Computed once, while the result is written.
    const auto type = node.type().quantization;
    QUADRANT_TRY(const Constant codes, quantized(*real, type));
    replace_by_codes(graph, id, codes, type);
  }
  return {};
}

}  // namespace quadrant::inline v0
