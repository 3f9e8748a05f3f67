// Operations that put elements around a tensor, or cut some off.
#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/windows.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/ops/scalar.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// Along one axis: elements `first` to `last` of the operand, with some `before` and some `after`.
struct Margin {
  std::int64_t first = 0, last = 0;
  std::int64_t before = 0, after = 0;

  [[nodiscard]] std::int64_t kept() const { return last - first; }
};

// Pads that are negative cut off.
Expected<Margin> margin_of(std::int64_t extent, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t zero = 0;
  constexpr std::int64_t most = std::int64_t{1} << 60;  // sums of a few are integers
  if (std::max(begin, end) > most || std::min(begin, end) < -extent) {
    return KernelCall::refuse(
        fmt::format("pads of {} and {} for an axis of extent {}", begin, end, extent));
  }
  const Margin margin{-std::min(begin, zero), extent + std::min(end, zero), std::max(begin, zero),
                      std::max(end, zero)};
  if (margin.kept() < 0) {
    return KernelCall::refuse(fmt::format(
        "pads of {} and {} cut more off than an axis of extent {} has", begin, end, extent));
  }
  return margin;
}

Shape padded_shape(const std::vector<Margin>& margins) {
  Integers extents;
  for (const Margin& margin : margins) {
    extents.push_back(margin.before + margin.kept() + margin.after);
  }
  return Shape(extents);
}

// With `value`, or zeros where that is empty.
Expected<Tensor> pad_with_value(const Tensor& x, const std::vector<Margin>& margins,
                                const Tensor& value) {
  QUADRANT_TRY(Tensor y, filled(x.element(), padded_shape(margins), value));
  if (x.element_count() == 0) return y;
  Layout from{.offset = 0, .steps = x.shape().strides()};
  Layout to{.offset = 0, .steps = y.shape().strides()};
  Integers kept;
  for (std::size_t axis = 0; axis < margins.size(); ++axis) {
    kept.push_back(margins[axis].kept());
    if (kept.back() == 0) return y;
    from.offset += margins[axis].first * from.steps[axis];
    to.offset += margins[axis].before * to.steps[axis];
  }
  copy_box(Shape(kept), x, from, y, to);
  return y;
}

// Which element lies at `i`, that may be outside of the `count` that there are.
using Continuation = std::int64_t (*)(std::int64_t i, std::int64_t count);

std::int64_t edge(std::int64_t i, std::int64_t count) {
  return std::clamp(i, std::int64_t{0}, count - 1);
}
std::int64_t wrap(std::int64_t i, std::int64_t count) {
  const std::int64_t rest = i % count;
  return rest < 0 ? rest + count : rest;
}
// Forth and back, without the ends twice.
std::int64_t reflect(std::int64_t i, std::int64_t count) {
  if (count == 1) return 0;
  const std::int64_t period = 2 * (count - 1);
  const std::int64_t rest = wrap(i, period);
  return std::min(rest, period - rest);
}

Expected<Continuation> continuation_named(std::string_view mode) {
  if (mode == "edge") return edge;
  if (mode == "reflect") return reflect;
  if (mode == "wrap") return wrap;
  return KernelCall::refuse(fmt::format("the mode '{}'", mode));
}

Expected<Tensor> pad_with_elements(const Tensor& x, const std::vector<Margin>& margins,
                                   Continuation continuation) {
  for (const Margin& margin : margins) {
    if (margin.kept() == 0 && margin.before + margin.after > 0) {
      return KernelCall::refuse("an axis without elements, which cannot be continued");
    }
  }
  return take_indices(x, padded_shape(margins), [&](std::int64_t axis, std::int64_t i) {
    const Margin& margin = margins[static_cast<std::size_t>(axis)];
    return margin.first + continuation(i - margin.before, margin.kept());
  });
}

std::vector<Margin> no_margins(const Shape& shape) {
  std::vector<Margin> margins;
  for (const std::int64_t extent : shape.known_extents()) margins.push_back({.last = extent});
  return margins;
}

Expected<std::vector<Margin>> margins_of(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const auto pads, integers_parameter(call, 1, "pads"));
  QUADRANT_TRY(const auto listed, integers_parameter(call, 3, {}));
  QUADRANT_TRY(const Integers axes, axes_below(listed.value_or(all_axes(x.rank())), x.rank()));
  if (!pads) return KernelCall::refuse("no pads are given");
  if (pads->size() != 2 * axes.size()) {
    return KernelCall::refuse(fmt::format("{} pads for {} axes", pads->size(), axes.size()));
  }
  std::vector<Margin> margins = no_margins(x.shape());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    QUADRANT_TRY(margins[static_cast<std::size_t>(axes[i])],
                 margin_of(x.extent(axes[i]), (*pads)[i], (*pads)[axes.size() + i]));
  }
  return margins;
}

// An attribute before opset 11.
Expected<Tensor> pad_value(const KernelCall& call) {
  if (call.has(2)) return call.operand(2);
  return scalar_of(call.operand(0).element(), call.attribute_or<double>("value", 0));
}

// Half of the difference on either side; of an odd one, the end takes one more.
Expected<Margin> centered_margin(std::int64_t extent, std::int64_t wanted) {
  if (wanted < 0) return KernelCall::refuse(fmt::format("an extent of {}", wanted));
  const std::int64_t begin = (wanted - extent) / 2;
  return margin_of(extent, begin, wanted - extent - begin);
}

Expected<Tensors> pad(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::vector<Margin> margins, margins_of(call));
  const auto mode = call.attribute_or<std::string>("mode", "constant");
  if (mode == "constant") {
    QUADRANT_TRY(const Tensor value, pad_value(call));
    QUADRANT_TRY(Tensor y, pad_with_value(x, margins, value));
    return Tensors{std::move(y)};
  }
  QUADRANT_TRY(const Continuation continuation, continuation_named(mode));
  QUADRANT_TRY(Tensor y, pad_with_elements(x, margins, continuation));
  return Tensors{std::move(y)};
}

Expected<Tensors> center_crop_pad(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const Integers wanted, integers_of(call.operand(1)));
  QUADRANT_TRY(const Integers axes,
               axes_below(integers_attribute(call, "axes").value_or(all_axes(x.rank())), x.rank()));
  if (wanted.size() != axes.size()) {
    return KernelCall::refuse(fmt::format("{} extents for {} axes", wanted.size(), axes.size()));
  }
  std::vector<Margin> margins = no_margins(x.shape());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    QUADRANT_TRY(margins[static_cast<std::size_t>(axes[i])],
                 centered_margin(x.extent(axes[i]), wanted[i]));
  }
  QUADRANT_TRY(Tensor y, pad_with_value(x, margins, {}));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_pad() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::Pad::kind, pad}, {ops::CenterCropPad::kind, center_crop_pad}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
