#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// Parts of one size, of which the last may be smaller when their number is an attribute.
Expected<Integers> equal_parts(const KernelCall& call, std::int64_t extent) {
  const auto parts = static_cast<std::int64_t>(call.result_count());
  if (parts == 0) return Integers{};
  const auto wanted = call.attribute_or<std::int64_t>("num_outputs", 0);
  if (wanted != 0 && wanted != parts) {
    return KernelCall::refuse(fmt::format("num_outputs is {}, and there are {}", wanted, parts));
  }
  const std::int64_t size = extent / parts + (extent % parts == 0 ? 0 : 1);
  const std::int64_t last = extent - size * (parts - 1);
  if (last < 0 || (last != size && wanted == 0)) {
    return KernelCall::refuse(fmt::format("{} elements in {} parts", extent, parts));
  }
  Integers sizes(static_cast<std::size_t>(parts), size);
  sizes.back() = last;
  return sizes;
}

Expected<Integers> part_sizes(const KernelCall& call, std::int64_t extent) {
  QUADRANT_TRY(const auto sizes, integers_parameter(call, 1, "split"));
  if (!sizes) return equal_parts(call, extent);
  std::int64_t left = extent;
  for (const std::int64_t size : *sizes) {
    if (size < 0 || size > left) {
      return KernelCall::refuse(
          fmt::format("a part of {} elements, where {} are left", size, left));
    }
    left -= size;
  }
  if (left != 0) {
    return KernelCall::refuse(fmt::format("the parts leave out {} of {} elements", left, extent));
  }
  return *sizes;
}

Expected<Tensors> split(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, 0, x.rank()));
  QUADRANT_TRY(const Integers sizes, part_sizes(call, x.extent(axis)));
  Integers extents = extents_between(x.shape(), 0, x.rank());
  const auto along = static_cast<std::size_t>(axis);
  Layout layout{.offset = 0, .steps = x.shape().strides()};
  Tensors parts;
  for (const std::int64_t size : sizes) {
    extents[along] = size;
    QUADRANT_TRY(Tensor part, take_box(Shape(extents), x, layout));
    parts.push_back(std::move(part));
    if (x.element_count() > 0) layout.offset += size * layout.steps[along];
  }
  return parts;
}

}  // namespace

std::span<const KernelEntry> kernels::in_split() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{"split", split}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
