#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

struct Cut {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// Backwards to the largest integer of either width is to ONNX Runtime all the way to the front.
bool is_open_end(std::int64_t end) {
  return end == std::numeric_limits<std::int64_t>::max() ||
         end == std::numeric_limits<std::int32_t>::max();
}

Cut cut_axis(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const bool backwards = step < 0;
  if (start < 0) start += extent;
  if (backwards && is_open_end(end)) {
    end = -1;
  } else if (end < 0) {
    end = std::max(end + extent, backwards ? std::int64_t{-1} : std::int64_t{0});
  }
  start = std::clamp(start, std::int64_t{0},
                     backwards ? std::max(extent - 1, std::int64_t{0}) : extent);
  const std::int64_t span =
      backwards ? start - std::min(end, extent) : std::min(end, extent) - start;
  if (span <= 0 || extent == 0) return {};
  // A step longer than the span is as good as the span.
  step = std::clamp(step, -span, span);
  return {start, step, (span - 1) / std::abs(step) + 1};
}

struct Bounds {
  Integers starts, ends, axes, steps;
};

Expected<Bounds> bounds_of(const KernelCall& call, std::int64_t rank) {
  QUADRANT_TRY(auto starts, integers_parameter(call, 1, "starts"));
  QUADRANT_TRY(auto ends, integers_parameter(call, 2, "ends"));
  QUADRANT_TRY(auto axes, integers_parameter(call, 3, "axes"));
  QUADRANT_TRY(auto steps, integers_parameter(call, 4, "steps"));
  if (!starts || !ends) return KernelCall::refuse("starts and ends are not given");
  const std::size_t count = starts->size();
  if (!axes) axes = all_axes(static_cast<std::int64_t>(count));
  if (!steps) steps = Integers(count, 1);
  if (ends->size() != count || axes->size() != count || steps->size() != count) {
    return KernelCall::refuse(fmt::format("{} starts, {} ends, {} axes and {} steps", count,
                                          ends->size(), axes->size(), steps->size()));
  }
  if (std::ranges::find(*steps, 0) != steps->end()) return KernelCall::refuse("a step of 0");
  QUADRANT_TRY(Integers checked, axes_below(*axes, rank));
  return Bounds{*std::move(starts), *std::move(ends), std::move(checked), *std::move(steps)};
}

Expected<Tensors> slice(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const Bounds bounds, bounds_of(call, x.rank()));
  Integers extents = extents_between(x.shape(), 0, x.rank());
  Layout layout{.offset = 0, .steps = x.shape().strides()};
  for (std::size_t i = 0; i < bounds.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(bounds.axes[i]);
    const Cut cut = cut_axis(bounds.starts[i], bounds.ends[i], bounds.steps[i], extents[axis]);
    extents[axis] = cut.count;
    if (x.element_count() == 0) continue;
    layout.offset += cut.start * layout.steps[axis];
    layout.steps[axis] *= cut.step;
  }
  QUADRANT_TRY(Tensor y, take_box(Shape(extents), x, layout));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_slice() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{"slice", slice}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
