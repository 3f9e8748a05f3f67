#include "static_affine/activations.hpp"

namespace quadrant::inline v0::static_affine {

bool makes_activation(const StaticAffine& scheme, NodeRef node, const AffineForm& wanted,
                      Asks<AffineForm>& asks) {
  if (wanted != scheme.activation()) {
    asks.refuse("its result is an activation");
    return false;
  }
  const char* const why = scheme.refusal(*node.graph, node.result());
  if (why != nullptr) asks.refuse(why);
  return why == nullptr;
}

Expected<void> compute_codes(NodeRef node, RewriteContext& context) {
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    const Value result = node.result(i);
    if (context.form<AffineForm>(result) == nullptr) continue;
    QUADRANT_CHECK(context.set_quantized(result, context.parameters(result)));
  }
  return {};
}

}  // namespace quadrant::inline v0::static_affine
