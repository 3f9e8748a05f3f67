// Operations that repeat a tensor.
#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/places.hpp"
#include "runtime/broadcast.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> expand(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(std::vector<std::int64_t> extents, integers_of(call.operand(1)));
  // The shape may have fewer axes than the operand, and 1 where the operand has more.
  const auto rank = static_cast<std::size_t>(x.rank());
  if (extents.size() < rank) extents.insert(extents.begin(), rank - extents.size(), 1);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::int64_t& extent = extents[extents.size() - rank + axis];
    const std::int64_t own = x.extent(static_cast<std::int64_t>(axis));
    if (own != 1 && extent != 1 && own != extent) {
      return KernelCall::refuse(
          fmt::format("axis {} is of extent {}, and is to be repeated to {}", axis, own, extent));
    }
    if (extent == 1) extent = own;
  }
  Shape shape(extents);
  Layout layout{.offset = 0, .steps = broadcast_strides(x.shape(), shape)};
  QUADRANT_TRY(Tensor y, take_box(std::move(shape), x, layout));
  return Tensors{std::move(y)};
}

Expected<Tensors> tile(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::vector<std::int64_t> repeats, integers_of(call.operand(1)));
  if (static_cast<std::int64_t>(repeats.size()) != x.rank()) {
    return KernelCall::refuse(
        fmt::format("{} repeats for a tensor of {} axes", repeats.size(), x.rank()));
  }
  // Each axis is two, of which the outer one repeats the inner one.
  std::vector<std::int64_t> apart;
  std::vector<std::int64_t> joined;
  Layout layout;
  const std::vector<std::int64_t> strides = x.shape().strides();
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const std::int64_t extent = x.extents()[axis];
    apart.insert(apart.end(), {repeats[axis], extent});
    layout.steps.insert(layout.steps.end(), {0, strides[axis]});
    if (repeats[axis] < 0 ||
        __builtin_mul_overflow(repeats[axis], extent, &joined.emplace_back())) {
      return KernelCall::refuse(
          fmt::format("{} repeats of an axis of extent {}", repeats[axis], extent));
    }
  }
  QUADRANT_TRY(const Tensor y, take_box(Shape(apart), x, layout));
  return Tensors{y.reshaped(Shape(joined))};
}

}  // namespace

std::span<const KernelEntry> kernels::in_expand() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{"expand", expand}, {ops::Tile::kind, tile}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
