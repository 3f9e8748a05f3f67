#include "numerics/quantize_constant.hpp"

#include <string>

#include "ir/put_in_place.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {

Expected<void> quantize_constant(Graph& graph, NodeId id) {
  const NodeRef node = graph.ref(id);
  if (node.kind() != ops::Quantize::kind) return {};
  const Constant* const real = node.operand_constant(0);
  if (real == nullptr || !is_float(real->element())) return {};
  // Computed once, while the result is written.
  const Quantization type = node.type().quantization;
  QUADRANT_TRY(const Constant codes, quantized(*real, type));
  const Value made = graph.add_constant(std::string(graph.value_name({id})), codes);
  graph.set_constant(made.node, codes, type);
  put_in_place(graph, id, made);
  return {};
}

Expected<void> quantize_constants_of_formats(Graph& graph) {
  const std::uint32_t bound = graph.index_bound();
  for (std::uint32_t index = 0; index < bound; ++index) {
    const NodeId node = graph.node_at(index);
    const bool is_maker = node.is_valid() && graph.kind(node) == ops::Quantize::kind;
    if (is_maker && graph.type({node}).quantization.other() != nullptr) {
      QUADRANT_CHECK(quantize_constant(graph, node));
    }
  }
  return {};
}

}  // namespace quadrant::inline v0
