#include <fmt/format.h>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> reverse_sequence(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::vector<std::int64_t> lengths, integers_of(call.operand(1)));
  const auto axis = [&](std::string_view name, std::int64_t fallback) {
    return axis_below(call.attribute_or<std::int64_t>(name, fallback), x.rank());
  };
  QUADRANT_TRY(const std::int64_t time, axis("time_axis", 0));
  QUADRANT_TRY(const std::int64_t batch, axis("batch_axis", 1));
  if (time == batch || static_cast<std::int64_t>(lengths.size()) != x.extent(batch)) {
    return KernelCall::refuse(fmt::format("{} lengths along axis {}, for sequences along axis {}",
                                          lengths.size(), batch, time));
  }
  const Layout whole{0, x.shape().strides()};
  QUADRANT_TRY(Tensor y, take_box(x.shape(), x, whole));
  Layout from = whole;
  Layout to = whole;
  const std::int64_t step = whole.steps[static_cast<std::size_t>(time)];
  from.steps[static_cast<std::size_t>(time)] = -step;
  std::vector<std::int64_t> box = extents_between(x.shape(), 0, x.rank());
  box[static_cast<std::size_t>(batch)] = 1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t length = lengths[i];
    if (length < 0 || length > x.extent(time)) {
      return KernelCall::refuse(
          fmt::format("{} elements of a sequence of {}", length, x.extent(time)));
    }
    if (x.element_count() == 0 || length == 0) continue;
    box[static_cast<std::size_t>(time)] = length;
    to.offset = static_cast<std::int64_t>(i) * whole.steps[static_cast<std::size_t>(batch)];
    from.offset = to.offset + (length - 1) * step;
    copy_box(Shape(box), x, from, y, to);
  }
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_reverse_sequence() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::ReverseSequence::kind, reverse_sequence}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
