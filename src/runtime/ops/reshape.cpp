// Operations that give the same elements another shape.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

constexpr std::int64_t inferred = -1;  // an extent that follows from the others

// A 0 takes the operand's extent, unless `allow_zero`.
Expected<void> copy_extents(std::vector<std::int64_t>& extents, const Shape& operand,
                            bool allow_zero) {
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] < inferred) {
      return KernelCall::refuse(fmt::format("an extent of {}", extents[axis]));
    }
    if (extents[axis] != 0 || allow_zero) continue;
    const auto source = static_cast<std::int64_t>(axis);
    if (source >= operand.rank()) {
      return KernelCall::refuse(
          fmt::format("extent {} is 0, and the operand has {} axes", axis, operand.rank()));
    }
    extents[axis] = operand[source].value();
  }
  return {};
}

Expected<void> infer_extent(std::vector<std::int64_t>& extents, std::int64_t count) {
  const auto unknown = std::ranges::find(extents, inferred);
  if (unknown == extents.end()) return {};
  *unknown = 1;
  if (std::ranges::find(extents, inferred) != extents.end()) {
    return KernelCall::refuse("more than one extent is -1");
  }
  const std::int64_t others = Shape(extents).element_count().value_or(0);
  if (others == 0 || count % others != 0) {
    return KernelCall::refuse(
        fmt::format("{} elements do not make up a multiple of the extents given", count));
  }
  *unknown = count / others;
  return {};
}

Expected<Tensors> reshape(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(std::vector<std::int64_t> extents, integers_of(call.operand(1)));
  const bool allow_zero = call.attribute_or<std::int64_t>("allowzero", 0) != 0;
  QUADRANT_CHECK(copy_extents(extents, x.shape(), allow_zero));
  QUADRANT_CHECK(infer_extent(extents, x.element_count()));
  Shape shape(extents);
  if (shape.element_count() != x.element_count()) {
    return KernelCall::refuse(
        fmt::format("a tensor of shape [{}] does not have as many elements as [{}]",
                    to_string(x.shape()), to_string(shape)));
  }
  return Tensors{x.reshaped(std::move(shape))};
}

Expected<Tensors> squeeze(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const auto listed, integers_parameter(call, 1, "axes"));
  std::vector<bool> dropped(static_cast<std::size_t>(x.rank()), false);
  if (listed) {
    for (const std::int64_t given : *listed) {
      QUADRANT_TRY(const std::int64_t axis, axis_below(given, x.rank()));
      if (x.extent(axis) != 1) {
        return KernelCall::refuse(
            fmt::format("axis {} is of extent {}, and only one of extent 1 can be dropped", axis,
                        x.extent(axis)));
      }
      dropped[static_cast<std::size_t>(axis)] = true;
    }
  } else {
    for (std::size_t axis = 0; axis < dropped.size(); ++axis) {
      dropped[axis] = x.extents()[axis] == 1;
    }
  }
  std::vector<std::int64_t> extents;
  for (std::size_t axis = 0; axis < dropped.size(); ++axis) {
    if (!dropped[axis]) extents.push_back(x.extents()[axis]);
  }
  return Tensors{x.reshaped(Shape(extents))};
}

Expected<Tensors> unsqueeze(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(auto listed, integers_parameter(call, 1, "axes"));
  if (!listed) return KernelCall::refuse("no axes are given");
  const std::int64_t rank = x.rank() + static_cast<std::int64_t>(listed->size());
  QUADRANT_TRY(const auto axes, axes_below(*std::move(listed), rank));
  constexpr std::int64_t not_set = -1;
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), not_set);
  for (const std::int64_t axis : axes) extents[static_cast<std::size_t>(axis)] = 1;
  auto next = x.extents().begin();
  for (std::int64_t& extent : extents) {
    if (extent == not_set) extent = *next++;
  }
  return Tensors{x.reshaped(Shape(extents))};
}

Expected<Tensors> flatten(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  auto axis = call.attribute_or<std::int64_t>("axis", 1);
  // The rank itself is allowed: all axes are in front.
  if (axis != x.rank()) {
    QUADRANT_TRY(axis, axis_below(axis, x.rank()));
  }
  return Tensors{
      x.reshaped({count_between(x.shape(), 0, axis), count_between(x.shape(), axis, x.rank())})};
}

}  // namespace

std::span<const KernelEntry> kernels::in_reshape() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{"reshape", reshape}, {"squeeze", squeeze}, {"unsqueeze", unsqueeze}, {"flatten", flatten}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
