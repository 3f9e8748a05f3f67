#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/windows.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/ops/resample.hpp"
#include "runtime/ops/resized_axis.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;
using Axes = std::vector<ResizedAxis>;

// How elements are read between one another.
struct Sampling {
  std::string mode;  // nearest, linear, cubic
  std::string coordinate_mode = "asymmetric";
  std::string nearest_mode;
  Filter filter;
  float outside = 0;  // where tf_crop_and_resize looks outside of the operand

  [[nodiscard]] bool crops() const { return coordinate_mode == "tf_crop_and_resize"; }
};

// --- extents -------------------------------------------------------------------------------------

Expected<void> set_scale(ResizedAxis& axis, double scale) {
  axis.scale = static_cast<float>(scale);
  const float extent = axis.scale * static_cast<float>(axis.from);
  constexpr float most = 1e15f;
  if (!(axis.scale > 0) || !(extent < most)) {
    return KernelCall::refuse(fmt::format("a scale of {}", scale));
  }
  axis.to = static_cast<std::int64_t>(extent);
  return {};
}

Expected<void> set_scales(Axes& axes, const Integers& which, const std::vector<double>& scales) {
  if (scales.size() != which.size()) {
    return KernelCall::refuse(fmt::format("{} scales for {} axes", scales.size(), which.size()));
  }
  for (std::size_t i = 0; i < which.size(); ++i) {
    QUADRANT_CHECK(set_scale(axes[static_cast<std::size_t>(which[i])], scales[i]));
  }
  return {};
}

Expected<void> set_sizes(Axes& axes, const Integers& which, const Integers& sizes) {
  if (sizes.size() != which.size()) {
    return KernelCall::refuse(fmt::format("{} sizes for {} axes", sizes.size(), which.size()));
  }
  for (std::size_t i = 0; i < which.size(); ++i) {
    ResizedAxis& axis = axes[static_cast<std::size_t>(which[i])];
    if (sizes[i] < 0) return KernelCall::refuse(fmt::format("a size of {}", sizes[i]));
    axis.to = sizes[i];
    if (axis.from > 0) axis.scale = static_cast<float>(axis.to) / static_cast<float>(axis.from);
  }
  return {};
}

// One scale for all of these axes, so that none is larger, or none smaller, than its size.
Expected<void> keep_aspect_ratio(Axes& axes, const Integers& which, bool larger) {
  if (which.empty()) return {};
  const auto scale_of = [&](std::int64_t axis) {
    return axes[static_cast<std::size_t>(axis)].scale;
  };
  const auto [smallest, largest] = std::ranges::minmax_element(which, {}, scale_of);
  const float scale = scale_of(larger ? *largest : *smallest);
  for (const std::int64_t index : which) {
    ResizedAxis& axis = axes[static_cast<std::size_t>(index)];
    axis.scale = scale;
    const double extent =
        std::floor(static_cast<double>(scale) * static_cast<double>(axis.from) + 0.5);
    constexpr double most = 1e15;
    if (!(extent < most)) return KernelCall::refuse(fmt::format("a scale of {}", scale));
    axis.to = static_cast<std::int64_t>(extent);
  }
  return {};
}

Expected<void> set_extents(const KernelCall& call, Axes& axes, const Integers& which) {
  const auto given = [&](std::size_t operand) {
    return call.has(operand) && call.operand(operand).element_count() > 0;
  };
  if (given(2) == given(3)) {
    return KernelCall::refuse("either scales or sizes must be given, and not both");
  }
  if (given(2)) {
    QUADRANT_TRY(const auto scales, reals_of(call.operand(2)));
    return set_scales(axes, which, scales);
  }
  QUADRANT_TRY(const auto sizes, integers_of(call.operand(3)));
  QUADRANT_CHECK(set_sizes(axes, which, sizes));
  const auto policy = call.attribute_or<std::string>("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return {};
  if (policy == "not_larger") return keep_aspect_ratio(axes, which, false);
  if (policy == "not_smaller") return keep_aspect_ratio(axes, which, true);
  return KernelCall::refuse(fmt::format("the policy '{}'", policy));
}

Expected<void> set_region(const KernelCall& call, Axes& axes, const Integers& which) {
  if (!call.has(1)) return KernelCall::refuse("no region of interest is given");
  QUADRANT_TRY(const auto roi, reals_of(call.operand(1)));
  if (roi.size() != 2 * which.size()) {
    return KernelCall::refuse(
        fmt::format("a region of interest of {} numbers for {} axes", roi.size(), which.size()));
  }
  for (std::size_t i = 0; i < which.size(); ++i) {
    ResizedAxis& axis = axes[static_cast<std::size_t>(which[i])];
    axis.roi_start = static_cast<float>(roi[i]);
    axis.roi_end = static_cast<float>(roi[which.size() + i]);
  }
  return {};
}

Axes axes_of(const Shape& shape) {
  Axes axes;
  for (const std::int64_t extent : shape.known_extents())
    axes.push_back({.from = extent, .to = extent});
  return axes;
}

Shape resized_shape(const Axes& axes) {
  Integers extents;
  for (const ResizedAxis& axis : axes) extents.push_back(axis.to);
  return Shape(extents);
}

// --- elements ------------------------------------------------------------------------------------

bool changes(const ResizedAxis& axis, const Sampling& sampling) {
  return axis.scale != 1 || axis.to != axis.from || sampling.crops();
}

Expected<Tensor> resize_nearest(const Tensor& x, const Axes& axes, const Sampling& sampling,
                                Coordinate coordinate) {
  QUADRANT_TRY(const Nearest nearest, nearest_named(sampling.nearest_mode));
  return take_indices(x, resized_shape(axes), [&](std::int64_t axis, std::int64_t i) {
    const ResizedAxis& along = axes[static_cast<std::size_t>(axis)];
    return changes(along, sampling) ? nearest_source(along, coordinate, nearest, i) : i;
  });
}

// The operand in float32, or float64 where it is that.
Expected<Tensor> as_real(const Tensor& x) {
  if (is_float(x.element())) return x;
  QUADRANT_TRY(Tensors real, with_element(x.element(), [&]<class T>() -> Expected<Tensors> {
                 QUADRANT_TRY(Tensor y, Tensor::make(ElementType::float32, x.shape()));
                 std::ranges::transform(x.as<T>(), y.fill<float>().begin(),
                                        [](T value) { return static_cast<float>(value); });
                 return Tensors{std::move(y)};
               }));
  return std::move(real[0]);
}

// Back in the operand's type: integers are rounded, or cut off behind the point, as in ONNX
// Runtime.
Expected<Tensors> as_element(const Tensor& real, ElementType element, bool round) {
  if (is_float(element)) return Tensors{real};
  return with_element(element, [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(element, real.shape()));
    std::ranges::transform(real.as<float>(), y.fill<T>().begin(), [&](float value) {
      return converted<T>(round ? std::round(value) : value);
    });
    return Tensors{std::move(y)};
  });
}

Expected<Tensors> resize_smoothly(const Tensor& x, const Axes& axes, const Sampling& sampling,
                                  Coordinate coordinate) {
  // First, so that a size that is too large is refused before tables of that size are made.
  QUADRANT_TRY(Tensor empty, Tensor::make(x.element(), resized_shape(axes)));
  if (empty.element_count() == 0) return Tensors{std::move(empty)};
  QUADRANT_TRY(Tensor y, as_real(x));
  // From the last axis on: rows are made long while they are few.
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    if (!changes(axes[axis], sampling)) continue;
    QUADRANT_TRY(const Taps taps, taps_of(axes[axis], coordinate, sampling.filter));
    QUADRANT_TRY(y, resample_axis(y, static_cast<std::int64_t>(axis), axes[axis].to, taps));
  }
  return as_element(y, x.element(), sampling.filter.antialias);
}

// Sets the elements whose coordinate along the axis is outside of the operand.
template <class T>
void set_outside(Tensor& y, std::int64_t axis, const ResizedAxis& along, Coordinate coordinate,
                 T value) {
  const std::int64_t length = count_between(y.shape(), axis + 1, y.rank());
  T* out = y.fill<T>().data();
  for (std::int64_t row = 0; row * length < y.element_count(); ++row, out += length) {
    const float x = coordinate(along, static_cast<float>(row % along.to));
    const bool inside = x >= 0 && x <= static_cast<float>(along.from - 1);
    if (!inside) std::fill_n(out, length, value);
  }
}

Expected<Tensors> resized(const Tensor& x, const Axes& axes, const Sampling& sampling) {
  QUADRANT_TRY(const Coordinate coordinate, coordinate_named(sampling.coordinate_mode));
  for (const ResizedAxis& axis : axes) {
    if (axis.from == 0 && axis.to > 0) {
      return KernelCall::refuse("an axis without elements, which cannot be made longer");
    }
  }
  Tensors results;
  if (sampling.mode == "nearest") {
    QUADRANT_TRY(Tensor y, resize_nearest(x, axes, sampling, coordinate));
    results.push_back(std::move(y));
  } else {
    QUADRANT_TRY(results, resize_smoothly(x, axes, sampling, coordinate));
  }
  if (!sampling.crops()) return results;
  return with_element(x.element(), [&]<class T>() -> Expected<Tensors> {
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      set_outside(results[0], static_cast<std::int64_t>(axis), axes[axis], coordinate,
                  converted<T>(sampling.outside));
    }
    return results;
  });
}

Expected<Filter> filter_of(const KernelCall& call, std::string_view mode) {
  if (mode != "nearest" && mode != "linear" && mode != "cubic") {
    return KernelCall::refuse(fmt::format("the mode '{}'", mode));
  }
  return Filter{
      .cubic = mode == "cubic",
      .cubic_a = static_cast<float>(call.attribute_or<double>("cubic_coeff_a", -0.75)),
      .antialias = call.attribute_or<std::int64_t>("antialias", 0) != 0,
      .exclude_outside = call.attribute_or<std::int64_t>("exclude_outside", 0) != 0,
  };
}

// Upsample, and Resize when it was new: operand 1, or an attribute before opset 9, holds the
// scales.
Expected<Tensors> upsample(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  auto scales = call.attribute_or<std::vector<double>>("scales", {});
  if (call.has(1)) {
    QUADRANT_TRY(scales, reals_of(call.operand(1)));
  }
  Axes axes = axes_of(x.shape());
  QUADRANT_CHECK(set_scales(axes, all_axes(x.rank()), scales));
  Sampling sampling{.mode = call.attribute_or<std::string>("mode", "nearest")};
  QUADRANT_TRY(sampling.filter, filter_of(call, sampling.mode));
  return resized(x, axes, sampling);
}

Expected<Tensors> resize(const KernelCall& call) {
  if (call.opset() < 11) return upsample(call);
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const Integers which,
               axes_below(integers_attribute(call, "axes").value_or(all_axes(x.rank())), x.rank()));
  Axes axes = axes_of(x.shape());
  QUADRANT_CHECK(set_extents(call, axes, which));

  Sampling sampling{.mode = call.attribute_or<std::string>("mode", "nearest")};
  QUADRANT_TRY(sampling.filter, filter_of(call, sampling.mode));
  sampling.coordinate_mode =
      call.attribute_or<std::string>("coordinate_transformation_mode", "half_pixel");
  sampling.nearest_mode = call.attribute_or<std::string>("nearest_mode", "round_prefer_floor");
  sampling.outside = static_cast<float>(call.attribute_or<double>("extrapolation_value", 0));
  if (sampling.crops()) QUADRANT_CHECK(set_region(call, axes, which));
  return resized(x, axes, sampling);
}

}  // namespace

std::span<const KernelEntry> kernels::in_resize() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Resize::kind, resize, HalfFloats::widened},
                                  {ops::Upsample::kind, upsample, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
