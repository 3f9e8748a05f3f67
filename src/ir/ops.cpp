#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::ops {

std::vector<std::int64_t> Transpose::perm() const {
  const TensorType* data = node.operand_type(0);
  const Shape* shape = data && data->shape.is_ranked() ? &data->shape : nullptr;
  if (!shape && node.graph->result_count(node.id) > 0 && node.type().shape.is_ranked()) {
    shape = &node.type().shape;
  }
  const Attribute* attribute = node.graph->attribute(node.id, "perm");
  const auto* stated = attribute ? std::get_if<std::vector<std::int64_t>>(attribute) : nullptr;
  if (!shape && !stated) return {};
  const std::size_t rank = shape ? static_cast<std::size_t>(shape->rank()) : stated->size();
  std::vector<std::int64_t> perm(rank);
  if (!stated) {
    for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(rank - 1 - i);
    return perm;
  }
  if (stated->size() != rank) return {};
  std::vector<bool> seen(rank, false);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = normalize_axis((*stated)[i], static_cast<std::int64_t>(rank));
    if (!axis || seen[static_cast<std::size_t>(*axis)]) return {};
    seen[static_cast<std::size_t>(*axis)] = true;
    perm[i] = *axis;
  }
  return perm;
}

}  // namespace quadrant::inline v0::ops
