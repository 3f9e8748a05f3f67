#include "qdq_fusion/explicit_model.hpp"

#include <memory>
#include <string>
#include <vector>

#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/convert.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

// Takes the place of the node's result.
void replace_by_codes(Graph& model, NodeId node, const Constant& codes,
                      const std::shared_ptr<const UniformType>& type) {
  const std::vector<Value> operands(model.operands(node).begin(), model.operands(node).end());
  const Value made = model.add_constant(std::string(model.value_name({node})), codes);
  model.set_constant(made.node, codes, type);
  model.replace_uses({node}, made);
  model.erase(node);
  for (const Value operand : operands) {
    const bool is_there = !operand.is_absent() && model.contains(operand.node);
    if (is_there && model.constant(operand.node) != nullptr && model.uses(operand.node).empty()) {
      model.erase(operand.node);
    }
  }
}

}  // namespace

Expected<Graph> explicit_model(const Graph& graph) {
  Graph model = graph;
  make_quantization_explicit(model);
  const std::uint32_t bound = model.index_bound();
  for (std::uint32_t index = 0; index < bound; ++index) {
    const NodeId id = model.node_at(index);
    if (!id.is_valid()) continue;
    const NodeRef node = model.ref(id);
    if (node.kind() != ops::Quantize::kind) continue;
    const Constant* const real = node.operand_constant(0);
    if (real == nullptr || !is_float(real->element())) continue;
    // Computed once, while the result is written.
    const auto type = node.type().quantization;
    QUADRANT_TRY(const Constant codes, quantized(*real, type));
    replace_by_codes(model, id, codes, type);
  }
  return model;
}

}  // namespace quadrant::inline v0::qdq_fusion
