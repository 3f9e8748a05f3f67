#include "static_affine/coded_bias.hpp"

namespace quadrant::inline v0::static_affine {

bool is_only_reader(NodeRef node, std::uint32_t operand) {
  return node.operand_constant(operand) != nullptr &&
         node.graph->uses(node.operand(operand).node).size() == 1;
}

const Constant* coded_bias(NodeRef node, const Product& product, const Granularity& weight_groups,
                           bool is_derived) {
  const Constant* const bias = node.operand_constant(product.bias);
  if (bias == nullptr || !product.adds_bias(node) || !is_only_reader(node, product.bias)) {
    return nullptr;
  }
  if (!is_derived) return bias;
  // Scales of a weight behind moves are found where codes move, which is after the bias's.
  const Constant* const weight = node.operand_constant(product.weight);
  if (weight == nullptr) return nullptr;
  if (weight_groups.kind == Granularity::Kind::tensor) return bias;
  const Shape& shape = bias->shape();
  const bool is_channelwise =
      shape.rank() == 1 && surely_equal(shape[0], weight->shape()[weight_groups.axis]);
  return is_channelwise ? bias : nullptr;
}

}  // namespace quadrant::inline v0::static_affine
