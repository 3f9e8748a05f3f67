#include "static_affine/limits.hpp"

#include "ir/ops/elementwise.hpp"
#include "static_affine/element_moves.hpp"

namespace quadrant::inline v0::static_affine {

bool is_clamp(NodeRef node) noexcept {
  if (node.operand(0).is_absent()) return false;
  if (node.kind() == ops::Relu::kind || node.kind() == ops::Clip::kind) return true;
  const Constant* const bounds = node.operand_constant(1);
  if (node.kind() != ops::Min::kind || node.operands().size() != 2 || bounds == nullptr)
    return false;
  const Shape& shape = node.operand_type(0)->shape;
  return shape.is_ranked() && (shape.is_static() ? shape == node.type().shape
                                                 : bounds->element_count() == 1 &&
                                                       bounds->shape().rank() <= shape.rank());
}

bool is_only_clamp(NodeRef node) noexcept {
  constexpr int most_steps = 8;  // a limit, so that a chain of moves is not walked by each reader
  if (!is_clamp(node)) return false;
  for (int i = 0; i < most_steps; ++i) {
    const NodeId maker = node.operand(0).node;
    if (node.graph->uses(maker).size() != 1) return false;
    node = {node.graph, maker};
    if (is_clamp(node) || !is_move(node)) return true;
    if (!chooses_elements(node)) return false;
  }
  return false;
}

}  // namespace quadrant::inline v0::static_affine
