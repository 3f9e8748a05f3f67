#include "weight_only/axis_map.hpp"

#include <vector>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::weight_only {

std::optional<std::int64_t> identity_source(NodeRef /*node*/, std::int64_t axis) { return axis; }

std::optional<std::int64_t> transpose_source(NodeRef node, std::int64_t axis) {
  const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
  if (axis < 0 || axis >= static_cast<std::int64_t>(perm.size())) return std::nullopt;
  return perm[static_cast<std::size_t>(axis)];
}

std::optional<std::int64_t> reshape_source(NodeRef node, std::int64_t axis) {
  const TensorType* data = node.operand_type(0);
  if (data == nullptr) return std::nullopt;
  const Shape& from = data->shape;
  const Shape& to = node.type().shape;
  const std::vector<std::int64_t> from_strides = from.strides();
  const std::vector<std::int64_t> to_strides = to.strides();
  // Unknown shapes have no strides.
  if (axis < 0 || axis >= static_cast<std::int64_t>(to_strides.size())) return std::nullopt;
  const auto target = static_cast<std::size_t>(axis);
  for (std::size_t source = 0; source < from_strides.size(); ++source) {
    if (from[static_cast<std::int64_t>(source)] != to[axis]) continue;
    // index = (position / stride) % extent in both shapes, so equal pairs mean equal indices. With
    // extent 1 the index is always 0, and the stride says nothing.
    if (to[axis] == 1 || from_strides[source] == to_strides[target]) {
      return static_cast<std::int64_t>(source);
    }
  }
  return std::nullopt;
}

}  // namespace quadrant::inline v0::weight_only
