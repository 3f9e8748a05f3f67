#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/ops/windows.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/curves.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

enum class Mode : std::uint8_t { nearest, linear, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };

struct GridSampling {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

Expected<GridSampling> sampling_of(const KernelCall& call) {
  GridSampling sampling;
  const auto mode = call.attribute_or<std::string>("mode", "linear");
  if (mode == "nearest") {
    sampling.mode = Mode::nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    sampling.mode = Mode::cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return KernelCall::refuse(fmt::format("the mode '{}'", mode));
  }
  const auto padding = call.attribute_or<std::string>("padding_mode", "zeros");
  if (padding == "border") {
    sampling.padding = Padding::border;
  } else if (padding == "reflection") {
    sampling.padding = Padding::reflection;
  } else if (padding != "zeros") {
    return KernelCall::refuse(fmt::format("the padding_mode '{}'", padding));
  }
  sampling.align_corners = call.attribute_or<std::int64_t>("align_corners", 0) != 0;
  return sampling;
}

// One axis of the image.
template <class T>
struct Axis {
  std::int64_t extent = 0;
  std::int64_t stride = 0;
  T first = 0;  // where the image ends, in pixels: in the middle of the outermost ones
  T last = 0;   // with align_corners, else at their edges

  // From what goes from -1 to 1 over the image.
  [[nodiscard]] T pixels(T place) const { return first + (place + 1) / 2 * (last - first); }

  // Forth and back between the ends.
  [[nodiscard]] T reflected(T x) const {
    const T range = last - first;
    if (!(range > 0)) return first;
    const T rest = std::fmod(std::abs(x - first), 2 * range);
    return first + std::min(rest, 2 * range - rest);
  }
  // Not further outside than matters.
  [[nodiscard]] T bounded(T x) const {
    constexpr T margin = 4;
    return x > -margin ? std::min(x, static_cast<T>(extent) + margin) : -margin;
  }
  [[nodiscard]] T clamped(T x) const {
    return x > 0 ? std::min(x, static_cast<T>(extent - 1)) : T{0};
  }
};

// An element that counts with a weight.
template <class T>
struct Tap {
  std::int64_t offset = 0;
  T weight = 0;
};

// Reads an image at points.
template <class T>
class Sampler {
 public:
  Sampler(const Shape& shape, const GridSampling& sampling) : sampling_(sampling) {
    const std::vector<std::int64_t> strides = shape.strides();
    for (std::int64_t axis = 2; axis < shape.rank(); ++axis) {
      const auto edge = static_cast<T>(sampling.align_corners ? 0 : -0.5);
      const auto extent = static_cast<T>(shape[axis].value());
      axes_.push_back(
          {shape[axis].value(), strides[static_cast<std::size_t>(axis)], edge, extent - 1 - edge});
    }
  }

  // The taps at a point, whose coordinates begin with the last axis.
  [[nodiscard]] const std::vector<Tap<T>>& taps_at(const T* point) {
    taps_.assign(1, {0, 1});
    for (std::size_t i = axes_.size(); i-- > 0;) along(axes_[i], *point++);
    return taps_;
  }

 private:
  // Every tap so far becomes several, along one axis more.
  void along(const Axis<T>& axis, T place) {
    const T x = padded(axis, axis.pixels(place));
    const T below = std::floor(x);
    axis_taps_.clear();
    if (sampling_.mode == Mode::nearest) {
      add(axis, std::nearbyint(x), 1);
    } else if (sampling_.mode == Mode::linear) {
      for (const T i : {below, below + 1}) add(axis, i, linear_curve(std::abs(x - i)));
    } else {
      constexpr T a = T{-3} / 4;
      for (const T i : {below - 1, below, below + 1, below + 2}) {
        add(axis, i, cubic_curve(std::abs(x - i), a));
      }
    }
    product_.clear();
    for (const Tap<T>& tap : taps_) {
      for (const Tap<T>& more : axis_taps_) {
        product_.push_back({tap.offset + more.offset, tap.weight * more.weight});
      }
    }
    taps_.swap(product_);
  }

  // A point outside is moved inside, but for cubic curves: the pixels that they reach are.
  [[nodiscard]] T padded(const Axis<T>& axis, T x) const {
    const bool moves = sampling_.mode != Mode::cubic && !(x >= axis.first && x <= axis.last);
    if (sampling_.padding == Padding::reflection) return moves ? axis.reflected(x) : x;
    return moves && sampling_.padding == Padding::border ? axis.clamped(x) : axis.bounded(x);
  }

  void add(const Axis<T>& axis, T pixel, T weight) {
    if (!(pixel >= 0 && pixel <= static_cast<T>(axis.extent - 1))) {
      if (sampling_.padding == Padding::zeros) return;
      if (sampling_.padding == Padding::reflection) pixel = axis.reflected(pixel);
    }
    axis_taps_.push_back({static_cast<std::int64_t>(axis.clamped(pixel)) * axis.stride, weight});
  }

  GridSampling sampling_;
  std::vector<Axis<T>> axes_;
  std::vector<Tap<T>> taps_;
  std::vector<Tap<T>> axis_taps_;
  std::vector<Tap<T>> product_;
};

// That the grid has a point of as many coordinates as the image has axes for each element of the
// result.
Expected<void> check_grid(const Tensor& x, const Tensor& grid) {
  const std::int64_t axes = x.rank() - 2;
  constexpr std::int64_t most = 3;
  if (axes >= 1 && axes <= most && grid.rank() == x.rank() && grid.extent(0) == x.extent(0) &&
      grid.extent(grid.rank() - 1) == axes && grid.element() == x.element()) {
    return {};
  }
  return KernelCall::refuse(fmt::format("a grid {} [{}] for images {} [{}]",
                                        to_string(grid.element()), to_string(grid.shape()),
                                        to_string(x.element()), to_string(x.shape())));
}

Expected<Tensors> grid_sample(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  const Tensor& grid = call.operand(1);
  QUADRANT_CHECK(check_grid(x, grid));
  QUADRANT_TRY(const GridSampling sampling, sampling_of(call));
  std::vector<std::int64_t> extents = extents_between(grid.shape(), 0, grid.rank() - 1);
  extents.insert(extents.begin() + 1, x.extent(1));
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), Shape(extents)));
    if (y.element_count() == 0) return Tensors{std::move(y)};
    if (x.element_count() == 0) return KernelCall::refuse("images without elements");
    const std::int64_t coordinates = x.rank() - 2;
    const std::int64_t points = count_between(y.shape(), 2, y.rank());
    const std::int64_t pixels = count_between(x.shape(), 2, x.rank());
    Sampler<T> sampler(x.shape(), sampling);
    const T* point = grid.as<T>().data();
    for (std::int64_t batch = 0; batch < x.extent(0); ++batch) {
      const T* image = x.as<T>().data() + batch * x.extent(1) * pixels;
      T* out = y.fill<T>().data() + batch * x.extent(1) * points;
      for (std::int64_t i = 0; i < points; ++i, point += coordinates) {
        const auto& taps = sampler.taps_at(point);
        for (std::int64_t channel = 0; channel < x.extent(1); ++channel) {
          T sum = 0;
          for (const Tap<T>& tap : taps) sum += tap.weight * image[channel * pixels + tap.offset];
          out[channel * points + i] = sum;
        }
      }
    }
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_grid_sample() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::GridSample::kind, grid_sample, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
