#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Whether `b` may follow `a` along the axis.
bool go_together(const Tensor& a, const Tensor& b, std::int64_t axis) {
  if (a.element() != b.element() || a.rank() != b.rank()) return false;
  for (std::int64_t i = 0; i < a.rank(); ++i) {
    if (i != axis && a.extent(i) != b.extent(i)) return false;
  }
  return true;
}

Expected<Tensors> concat(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, std::max<std::size_t>(call.operand_count(), 1)));
  const Tensor& first = call.operand(0);
  // Opset 3 and before have a default of 1; since then there is always an attribute.
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, 1, first.rank()));
  const auto along = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> extents = extents_between(first.shape(), 0, first.rank());
  extents[along] = 0;
  for (const Tensor& x : call.operands()) {
    if (!go_together(first, x, axis) ||
        __builtin_add_overflow(extents[along], x.extent(axis), &extents[along])) {
      return KernelCall::refuse(
          fmt::format("operands {} [{}] and {} [{}] do not follow one another along axis {}",
                      to_string(first.element()), to_string(first.shape()), to_string(x.element()),
                      to_string(x.shape()), axis));
    }
  }
  QUADRANT_TRY(Tensor y, Tensor::make(first.element(), Shape(extents)));
  Layout place{.offset = 0, .steps = y.shape().strides()};
  for (const Tensor& x : call.operands()) {
    if (x.element_count() == 0) continue;
    copy_box(x.shape(), x, {0, x.shape().strides()}, y, place);
    place.offset += x.extent(axis) * place.steps[along];
  }
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_concat() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{"concat", concat}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
