#include "static_affine/limits.hpp"

namespace quadrant::inline v0::static_affine {

bool is_clamp(NodeRef node) noexcept {
  if (node.operand(0).is_absent()) return false;
  if (node.kind() == "onnx.Relu" || node.kind() == "onnx.Clip") return true;
  const Constant* const bounds = node.operand_constant(1);
  if (node.kind() != "onnx.Min" || node.operands().size() != 2 || bounds == nullptr) return false;
  const Shape& shape = node.operand_type(0)->shape;
  return shape.is_ranked() && (shape.is_static() ? shape == node.type().shape
                                                 : bounds->element_count() == 1 &&
                                                       bounds->shape().rank() <= shape.rank());
}

bool is_only_clamp(NodeRef node) noexcept {
  return is_clamp(node) && node.graph->uses(node.operand(0).node).size() == 1;
}

}  // namespace quadrant::inline v0::static_affine
