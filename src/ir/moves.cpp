#include <algorithm>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0 {
namespace {

using Index = std::vector<std::int64_t>;

// The parameters of one operand, at hand.
struct Parameters {
  const UniformType* type = nullptr;
  Shape shape;  // of the tensor
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;  // empty: all zero
};

Expected<Parameters> read_parameters(const TensorType& type) {
  Parameters parameters{type.uniform().get(), type.shape, {}, {}};
  QUADRANT_TRY(parameters.scales, read_exact_scales(parameters.type->scales));
  if (const Constant& zero_points = parameters.type->zero_points) {
    QUADRANT_TRY(parameters.zero_points, read_integers(zero_points, zero_points.element_count()));
  }
  return parameters;
}

// The group, in row-major order of the scales, of an element.
std::size_t group_of(std::span<const std::int64_t> index, const UniformType& type) {
  const Granularity& granularity = type.granularity;
  if (granularity.kind == Granularity::Kind::tensor) return 0;
  if (granularity.kind == Granularity::Kind::axis) {
    return static_cast<std::size_t>(index[static_cast<std::size_t>(granularity.axis)]);
  }
  std::int64_t group = 0;
  const auto groups = type.scales.shape().known_extents();  // the tensor's may be open
  for (std::size_t axis = 0; axis < groups.size(); ++axis) {
    const bool is_blocked = std::cmp_equal(axis, granularity.axis);
    group = group * groups[axis] + index[axis] / (is_blocked ? granularity.block_size : 1);
  }
  return static_cast<std::size_t>(group);
}

// Steps through the first elements of the groups of `shape`, in row-major order of the scales.
class FirstElements {
 public:
  FirstElements(const Shape& shape, const Granularity& granularity)
      : shape_(shape), granularity_(granularity), at_(static_cast<std::size_t>(shape.rank()), 0) {}

  [[nodiscard]] std::span<const std::int64_t> operator*() const { return at_; }

  void next() {
    if (granularity_.kind == Granularity::Kind::axis) {
      ++at_[static_cast<std::size_t>(granularity_.axis)];
      return;
    }
    for (std::int64_t axis = shape_.rank(); axis-- > 0;) {
      std::int64_t& index = at_[static_cast<std::size_t>(axis)];
      index += axis == granularity_.axis ? granularity_.block_size : 1;
      if (index < shape_[axis].value_or(0)) return;
      index = 0;
    }
  }

 private:
  const Shape& shape_;
  const Granularity& granularity_;
  Index at_;
};

}  // namespace

Expected<std::shared_ptr<const UniformType>> moved_type(const Move& move, NodeRef node,
                                                        std::uint32_t result,
                                                        const Granularity& groups) {
  std::vector<Parameters> operands;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* type = node.operand_type(i);
    if (type == nullptr || !type->is_quantized()) break;  // a shape, axes, indices
    QUADRANT_TRY(Parameters parameters, read_parameters(*type));
    operands.push_back(std::move(parameters));
  }
  const bool has_one_scale = operands.front().type->granularity.kind == Granularity::Kind::tensor;
  // However the wanted groups are written down: all of an axis of extent 1, say.
  if (operands.size() == 1 && has_one_scale) return node.operand_type(0)->uniform();
  auto moved = std::make_shared<UniformType>(*operands.front().type);
  moved->granularity = groups;
  const Shape& shape = node.type(result).shape;
  const Shape layout = parameter_shape(shape, groups);
  if (!layout.is_static()) {
    return fail(ErrorCode::impossible, "scales are moved in shapes that are known",
                {.tensor = std::string(node.graph->value_name(node.result(result)))});
  }
  const auto count = static_cast<std::size_t>(layout.element_count().value_or(0));

  const bool has_zero_points = std::ranges::any_of(
      operands, [](const Parameters& operand) { return !operand.zero_points.empty(); });
  std::vector<double> scales(count);
  std::vector<std::int64_t> zero_points(has_zero_points ? count : 0);
  const Origin origin = move.origin(node, result);
  FirstElements first(shape, moved->granularity);
  Index from;
  bool is_same = operands.size() == 1 && layout == operands.front().type->scales.shape();
  for (std::size_t i = 0; i < count; ++i, first.next()) {
    // Operands of a move have one rank, whichever of them it is.
    from.assign(static_cast<std::size_t>(operands.front().shape.rank()), 0);
    const Parameters& operand = operands[origin(*first, from)];
    const std::size_t group = group_of(from, *operand.type);
    if (group >= operand.scales.size()) {
      return fail(ErrorCode::invalid_model, "the result is larger than what is moved",
                  {.tensor = std::string(node.graph->value_name(node.result(result)))});
    }
    is_same = is_same && group == i;
    scales[i] = operand.scales[group];
    if (!operand.zero_points.empty()) zero_points[i] = operand.zero_points[group];
  }
  if (is_same) return moved;  // the very constants, so that formats that share them still do
  moved->scales = make_exact_scales(moved->scales.element(), layout, scales);
  if (has_zero_points) moved->zero_points = make_zero_points(moved->storage, layout, zero_points);
  return moved;
}

}  // namespace quadrant::inline v0
