// Operations that reorder axes.
#include <fmt/format.h>

#include <numeric>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// Axis `i` of the result is axis `perm[i]` of `x`.
Expected<Tensor> transposed(const Tensor& x, const Integers& perm) {
  const Integers strides = x.shape().strides();
  Integers extents;
  Layout layout;
  for (const std::int64_t axis : perm) {
    extents.push_back(x.extent(axis));
    layout.steps.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return take_box(Shape(extents), x, layout);
}

struct Blocks {
  std::int64_t batch = 0, channels = 0, height = 0, width = 0;  // of the operand
  std::int64_t size = 0;
};

Expected<Blocks> blocks_of(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Shape& shape = call.operand(0).shape();
  if (shape.rank() != 4) {
    return KernelCall::refuse(
        fmt::format("an operand of {} axes, where 4 are wanted", shape.rank()));
  }
  const auto size = call.attribute_or<std::int64_t>("blocksize", 0);
  constexpr std::int64_t largest = std::int64_t{1} << 30;  // its square is an integer
  if (size < 1 || size > largest) return KernelCall::refuse(fmt::format("a blocksize of {}", size));
  return Blocks{shape[0].value(), shape[1].value(), shape[2].value(), shape[3].value(), size};
}

// Splits axes of `x`, reorders them, and joins them.
Expected<Tensors> rearrange(const Tensor& x, Shape apart, const Integers& perm, Shape joined) {
  QUADRANT_TRY(const Tensor moved, transposed(x.reshaped(std::move(apart)), perm));
  return Tensors{moved.reshaped(std::move(joined))};
}

Expected<Tensors> transpose(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  Integers perm(static_cast<std::size_t>(x.rank()));
  std::iota(perm.rbegin(), perm.rend(), std::int64_t{0});
  if (auto listed = integers_attribute(call, "perm")) {
    QUADRANT_TRY(perm, axes_below(*std::move(listed), x.rank()));
    if (static_cast<std::int64_t>(perm.size()) != x.rank()) {
      return KernelCall::refuse(fmt::format("perm lists {} axes of {}", perm.size(), x.rank()));
    }
  }
  QUADRANT_TRY(Tensor y, transposed(x, perm));
  return Tensors{std::move(y)};
}

Expected<Tensors> depth_to_space(const KernelCall& call) {
  QUADRANT_TRY(const Blocks b, blocks_of(call));
  const std::int64_t depth = b.channels / (b.size * b.size);
  if (depth * b.size * b.size != b.channels) {
    return KernelCall::refuse(fmt::format("{} channels do not divide into blocks of {} x {}",
                                          b.channels, b.size, b.size));
  }
  const Shape joined{b.batch, depth, b.height * b.size, b.width * b.size};
  const Tensor& x = call.operand(0);
  if (call.attribute_or<std::string>("mode", "DCR") == "CRD") {
    return rearrange(x, {b.batch, depth, b.size, b.size, b.height, b.width}, {0, 1, 4, 2, 5, 3},
                     joined);
  }
  return rearrange(x, {b.batch, b.size, b.size, depth, b.height, b.width}, {0, 3, 4, 1, 5, 2},
                   joined);
}

Expected<Tensors> space_to_depth(const KernelCall& call) {
  QUADRANT_TRY(const Blocks b, blocks_of(call));
  const std::int64_t height = b.height / b.size;
  const std::int64_t width = b.width / b.size;
  if (height * b.size != b.height || width * b.size != b.width) {
    return KernelCall::refuse(fmt::format("{} x {} elements do not divide into blocks of {} x {}",
                                          b.height, b.width, b.size, b.size));
  }
  const Shape parts{b.batch, b.channels, height, b.size, width, b.size};
  const Shape joined{b.batch, b.channels * b.size * b.size, height, width};
  if (call.attribute_or<std::string>("mode", "DCR") == "CRD") {  // opset 28
    return rearrange(call.operand(0), parts, {0, 1, 3, 5, 2, 4}, joined);
  }
  return rearrange(call.operand(0), parts, {0, 3, 5, 1, 2, 4}, joined);
}

}  // namespace

std::span<const KernelEntry> kernels::in_transpose() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{"transpose", transpose},
                                  {ops::DepthToSpace::kind, depth_to_space},
                                  {ops::SpaceToDepth::kind, space_to_depth}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
