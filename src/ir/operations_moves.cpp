// One rule an operation: which groups of the operand become the wanted ones, and where each element
// comes from.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ir/operations/moves.hpp"
#include "ir/reshaped_granularity.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

bool is_tensor(const Granularity& groups) { return groups.kind == Granularity::Kind::tensor; }
bool is_block(const Granularity& groups) { return groups.kind == Granularity::Kind::block; }

Granularity along(Granularity groups, std::int64_t axis) {
  groups.axis = axis;
  return groups;
}

const Shape* static_shape(NodeRef node, std::uint32_t operand) {
  const TensorType* type = node.operand_type(operand);
  return type != nullptr && type->shape.is_static() ? &type->shape : nullptr;
}

// --- identity -----------------------------------------------------------------------------------

// Whether the result has as many groups as can be told.
bool can_count_groups(NodeRef node, const Granularity& groups) {
  const Shape& shape = node.type().shape;
  return shape.is_ranked() && parameter_shape(shape, groups).is_static();
}

std::optional<Granularity> same_groups(NodeRef node, const Granularity& wanted) {
  if (is_tensor(wanted)) return wanted;
  return can_count_groups(node, wanted) ? std::optional(wanted) : std::nullopt;
}

std::uint32_t same_element(std::span<const std::int64_t> at, std::span<std::int64_t> from) {
  std::ranges::copy(at, from.begin());
  return 0;
}

Origin same_elements(NodeRef /*node*/, std::uint32_t /*result*/) { return same_element; }

// --- transpose ----------------------------------------------------------------------------------

std::optional<Granularity> transposed_groups(NodeRef node, const Granularity& wanted) {
  if (is_tensor(wanted)) return wanted;
  if (!can_count_groups(node, wanted)) return std::nullopt;
  const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
  const auto axis = static_cast<std::size_t>(wanted.axis);
  if (axis >= perm.size()) return std::nullopt;
  return along(wanted, perm[axis]);
}

Origin transposed_elements(NodeRef node, std::uint32_t /*result*/) {
  return [perm = ops::Transpose{node}.perm()](std::span<const std::int64_t> at,
                                              std::span<std::int64_t> from) -> std::uint32_t {
    for (std::size_t i = 0; i < perm.size(); ++i) from[static_cast<std::size_t>(perm[i])] = at[i];
    return 0;
  };
}

// --- reshape, squeeze, unsqueeze, flatten -------------------------------------------------------

std::optional<Granularity> row_major_groups(NodeRef node, const Granularity& wanted) {
  const Shape* from = static_shape(node, 0);
  if (from == nullptr) return std::nullopt;
  return reshaped_granularity(*from, node.type().shape, wanted);
}

Origin row_major_elements(NodeRef node, std::uint32_t /*result*/) {
  return [from_shape = node.operand_type(0)->shape, to_strides = node.type().shape.strides()](
             std::span<const std::int64_t> at, std::span<std::int64_t> from) -> std::uint32_t {
    std::int64_t position = 0;
    for (std::size_t i = 0; i < at.size(); ++i) position += at[i] * to_strides[i];
    for (std::int64_t axis = from_shape.rank(); axis-- > 0;) {
      from[static_cast<std::size_t>(axis)] = position % from_shape[axis].value();
      position /= from_shape[axis].value();
    }
    return 0;
  };
}

// --- expand -------------------------------------------------------------------------------------

std::optional<Granularity> expanded_groups(NodeRef node, const Granularity& wanted) {
  if (is_tensor(wanted)) return wanted;
  const Shape* from = static_shape(node, 0);
  const Shape& to = node.type().shape;
  if (from == nullptr || !to.is_static()) return std::nullopt;
  const std::int64_t axis = wanted.axis - (to.rank() - from->rank());
  if (axis < 0 || !surely_equal((*from)[axis], to[wanted.axis])) return std::nullopt;
  return along(wanted, axis);
}

Origin expanded_elements(NodeRef node, std::uint32_t /*result*/) {
  return [shape = node.operand_type(0)->shape](std::span<const std::int64_t> at,
                                               std::span<std::int64_t> from) -> std::uint32_t {
    const std::size_t added = at.size() - from.size();
    for (std::size_t i = 0; i < from.size(); ++i) {
      from[i] = surely_equal(shape.extents()[i], 1) ? 0 : at[i + added];
    }
    return 0;
  };
}

// --- slice, split, concat -----------------------------------------------------------------------

// Whether a part that begins at `start` and goes on in steps of `step` begins with a block.
bool keeps_blocks(const Granularity& groups, std::int64_t axis, std::int64_t start,
                  std::int64_t step) {
  if (!is_block(groups) || groups.axis != axis) return true;
  return step == 1 && start % groups.block_size == 0;
}

std::optional<Granularity> sliced_groups(NodeRef node, const Granularity& wanted) {
  if (is_tensor(wanted)) return wanted;
  const auto ranges = ops::Slice{node}.ranges();
  const auto axis = static_cast<std::size_t>(wanted.axis);
  if (!ranges || axis >= ranges->size()) return std::nullopt;
  const ops::Slice::Range& range = (*ranges)[axis];
  if (!keeps_blocks(wanted, wanted.axis, range.start, range.step)) return std::nullopt;
  return wanted;
}

Origin sliced_elements(NodeRef node, std::uint32_t /*result*/) {
  const auto known = ops::Slice{node}.ranges();
  // Per tensor, every element has the one scale.
  if (!known) return [](auto, auto) -> std::uint32_t { return 0; };
  return [ranges = *known](std::span<const std::int64_t> at,
                           std::span<std::int64_t> from) -> std::uint32_t {
    for (std::size_t i = 0; i < at.size(); ++i) from[i] = ranges[i].start + at[i] * ranges[i].step;
    return 0;
  };
}

std::optional<Granularity> split_groups(NodeRef node, const Granularity& wanted) {
  if (is_tensor(wanted)) return wanted;
  const ops::Split split{node};
  const auto axis = split.axis();
  const auto offsets = split.offsets();
  if (!axis || !offsets) return std::nullopt;
  // A node makes all its results in one form.
  const bool keeps_all = std::ranges::all_of(
      *offsets, [&](std::int64_t offset) { return keeps_blocks(wanted, *axis, offset, 1); });
  return keeps_all ? std::optional(wanted) : std::nullopt;
}

Origin split_elements(NodeRef node, std::uint32_t result) {
  const ops::Split split{node};
  return [axis = static_cast<std::size_t>(split.axis().value_or(0)),
          offset = split.offset(result).value_or(0)](
             std::span<const std::int64_t> at, std::span<std::int64_t> from) -> std::uint32_t {
    std::ranges::copy(at, from.begin());
    from[axis] += offset;
    return 0;
  };
}

// Where each operand of a concat begins along its axis, and where the last one ends; empty when
// that is not known.
std::vector<std::int64_t> concat_offsets(NodeRef node, std::int64_t axis) {
  std::vector<std::int64_t> offsets{0};
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const Shape* shape = static_shape(node, i);
    if (shape == nullptr || axis >= shape->rank()) return {};
    offsets.push_back(offsets.back() + (*shape)[axis].value());
  }
  return offsets;
}

std::optional<Granularity> concatenated_groups(NodeRef node, const Granularity& wanted) {
  const auto axis = ops::Concat{node}.axis();
  // Each operand has scales of its own, so they must differ along the axis.
  if (!axis || is_tensor(wanted)) return std::nullopt;
  if (!is_block(wanted) && wanted.axis != *axis) return std::nullopt;
  const std::vector<std::int64_t> offsets = concat_offsets(node, *axis);
  if (offsets.empty()) return std::nullopt;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (!keeps_blocks(wanted, *axis, offsets[i], 1)) return std::nullopt;
  }
  return wanted;
}

Origin concatenated_elements(NodeRef node, std::uint32_t /*result*/) {
  const std::int64_t axis = ops::Concat{node}.axis().value_or(0);
  return [axis = static_cast<std::size_t>(axis), offsets = concat_offsets(node, axis)](
             std::span<const std::int64_t> at, std::span<std::int64_t> from) -> std::uint32_t {
    std::ranges::copy(at, from.begin());
    const auto behind = std::ranges::upper_bound(offsets, at[axis]);
    from[axis] -= *(behind - 1);
    return static_cast<std::uint32_t>(behind - offsets.begin() - 1);
  };
}

// --- gather -------------------------------------------------------------------------------------

// The operand's axis of the result's; empty for those of the indices.
std::optional<std::int64_t> gathered_axis(NodeRef node, std::int64_t axis) {
  const auto looked_up = ops::Gather{node}.axis();
  const TensorType* indices = node.operand_type(1);
  if (!looked_up || indices == nullptr || !indices->shape.is_ranked()) return std::nullopt;
  if (axis < *looked_up) return axis;
  if (axis < *looked_up + indices->shape.rank()) return std::nullopt;
  return axis - indices->shape.rank() + 1;
}

std::optional<Granularity> gathered_groups(NodeRef node, const Granularity& wanted) {
  if (is_tensor(wanted)) return wanted;
  if (is_block(wanted)) return std::nullopt;  // they differ along the axis that is looked up
  const auto axis = gathered_axis(node, wanted.axis);
  if (!axis || node.type().shape.rank() <= wanted.axis) return std::nullopt;
  return along(wanted, *axis);
}

Origin gathered_elements(NodeRef node, std::uint32_t /*result*/) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(node.type().shape.rank()), -1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = gathered_axis(node, static_cast<std::int64_t>(i)).value_or(-1);
  }
  return [axes = std::move(axes)](std::span<const std::int64_t> at,
                                  std::span<std::int64_t> from) -> std::uint32_t {
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (axes[i] >= 0) from[static_cast<std::size_t>(axes[i])] = at[i];
    }
    return 0;
  };
}

}  // namespace

constinit const Move identity_move{same_groups, same_elements, ""};

namespace detail {

constinit const Move transpose_move{transposed_groups, transposed_elements,
                                    "the permutation is not known"};
constinit const Move reshape_move{
    row_major_groups, row_major_elements,
    "the elements that would share a scale are no channels or blocks of the "
    "operand"};
constinit const Move expand_move{expanded_groups, expanded_elements,
                                 "the axis is one along which the operand is repeated"};
constinit const Move slice_move{sliced_groups, sliced_elements,
                                "the slice is not known, or does not begin with a block"};
constinit const Move split_move{split_groups, split_elements,
                                "the parts are not known, or do not begin with blocks"};
constinit const Move concat_move{concatenated_groups, concatenated_elements,
                                 "the operands, each with scales of its own, would share some"};
constinit const Move gather_move{gathered_groups, gathered_elements,
                                 "the scales would differ along the axis that is looked up"};

}  // namespace detail

bool is_known(const GraphView& graph, Value value, bool (*hands_on)(NodeRef maker)) {
  constexpr int most_moves = 8;
  for (int i = 0; i <= most_moves && !value.is_absent(); ++i) {
    if (graph.constant(value.node) != nullptr) return true;
    const NodeRef maker{&graph, value.node};
    const auto operands = maker.operands();
    if (operands.empty() || !hands_on(maker)) return false;
    const bool are_others_known = std::all_of(operands.begin() + 1, operands.end(), [&](Value of) {
      return of.is_absent() || graph.constant(of.node) != nullptr;
    });
    if (!are_others_known) return false;
    value = maker.operand(0);
  }
  return false;
}

const Move* find_move(NodeRef node) noexcept {
  const Operation* const operation = find_operation(node);
  return operation == nullptr ? nullptr : operation->move;
}

}  // namespace quadrant::inline v0
