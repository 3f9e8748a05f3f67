// Pools. They work along one axis after the other: the largest of a window is the largest of its
// rows' largest, a sum is a sum of sums, and an average one of averages.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/windows.hpp"
#include "ir/tensor_memory.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/window.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// --- what is made of the pixels of a row of the window -------------------------------------------
//
// A rule has an Element that is pooled: `load`ed from a pixel and its index within the channel,
// `nothing` where there are no pixels, `combine`d, and `finish`ed when all `count` are. The results
// are made of the elements by whoever uses the rule.

template <class T>
struct Largest {
  using Element = T;
  static constexpr T nothing = std::numeric_limits<T>::has_infinity
                                   ? -std::numeric_limits<T>::infinity()
                                   : std::numeric_limits<T>::lowest();
  static T load(T pixel, std::int64_t) { return pixel; }
  static T combine(T a, T b) { return b > a || std::isnan(static_cast<double>(b)) ? b : a; }
  static T finish(T all, std::int64_t) { return all; }
};

// The first where there are several.
template <class T>
struct LargestAndIndex {
  struct Element {
    T pixel = Largest<T>::nothing;
    std::int64_t index = -1;
  };
  static constexpr Element nothing{};
  static Element load(T pixel, std::int64_t index) { return {pixel, index}; }
  static Element combine(const Element& a, const Element& b) {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    const bool is_first = b.pixel == a.pixel && b.index < a.index;
    return is_first || b.pixel > a.pixel || std::isnan(static_cast<double>(b.pixel)) ? b : a;
  }
  static Element finish(const Element& all, std::int64_t) { return all; }
};

template <class T>
struct Average {
  using Element = T;
  static constexpr T nothing = 0;
  static T load(T pixel, std::int64_t) { return pixel; }
  static T combine(T a, T b) { return a + b; }
  static T finish(T sum, std::int64_t count) { return sum / static_cast<T>(count); }
};

template <class T>
struct SumOfPowers {
  using Element = T;
  static constexpr T nothing = 0;
  T exponent = 2;
  [[nodiscard]] T load(T pixel, std::int64_t) const { return std::pow(std::abs(pixel), exponent); }
  static T combine(T a, T b) { return a + b; }
  static T finish(T sum, std::int64_t) { return sum; }
};

// --- one axis after the other --------------------------------------------------------------------

// What an average is divided by, besides the pixels.
enum class Counted : std::uint8_t { pixels, padding, whole_window };

// Along one axis, from elements `[outer, axis.image, inner]` to `[outer, axis.positions, inner]`.
struct Pass {
  struct Stop {
    std::int64_t first = 0;  // pixel
    std::int64_t taps = 0;   // in the image
    std::int64_t count = 0;  // of taps that are counted; at least 1
  };
  WindowAxis axis;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::vector<Stop> stops;  // one for each position
};

std::vector<Pass::Stop> stops_along(const WindowAxis& axis, Counted counted) {
  WindowAxis padded = axis;
  padded.image += axis.pad_begin + axis.pad_end;
  padded.pad_begin = 0;
  std::vector<Pass::Stop> stops;
  stops.reserve(static_cast<std::size_t>(axis.positions));
  for (std::int64_t position = 0; position < axis.positions; ++position) {
    const IndexRange taps = axis.taps_inside(position);
    std::int64_t count = std::max<std::int64_t>(taps.size(), 1);
    if (counted == Counted::padding) count = padded.taps_inside(position).size();
    if (counted == Counted::whole_window) count = axis.taps;
    stops.push_back({axis.at(position, taps.begin), taps.size(), count});
  }
  return stops;
}

// Axes that get shorter go first, so that there is never more than in the image or in the result.
std::vector<Pass> passes_over(const Window& window, Counted counted) {
  std::vector<Pass> passes;
  std::vector<std::int64_t> extents;
  for (const WindowAxis& axis : window) extents.push_back(axis.image);
  for (const bool grows : {false, true}) {
    for (std::size_t i = 0; i < window.size(); ++i) {
      if ((window[i].positions > window[i].image) != grows) continue;
      Pass pass{window[i]};
      for (std::size_t j = 0; j < i; ++j) pass.outer *= extents[j];
      for (std::size_t j = i + 1; j < window.size(); ++j) pass.inner *= extents[j];
      pass.stops = stops_along(window[i], counted);
      extents[i] = window[i].positions;
      passes.push_back(std::move(pass));
    }
  }
  return passes;
}

template <class Rule, class Element>
void pool_along(const Pass& pass, const Rule& rule, const std::vector<Element>& image,
                std::vector<Element>& pooled) {
  pooled.assign(static_cast<std::size_t>(pass.outer * pass.axis.positions * pass.inner),
                rule.nothing);
  const Element* from = image.data();
  Element* to = pooled.data();
  for (std::int64_t outer = 0; outer < pass.outer; ++outer) {
    for (const Pass::Stop& stop : pass.stops) {
      const Element* row = from + stop.first * pass.inner;
      for (std::int64_t tap = 0; tap < stop.taps; ++tap) {
        for (std::int64_t i = 0; i < pass.inner; ++i) to[i] = rule.combine(to[i], row[i]);
        row += pass.axis.dilation * pass.inner;
      }
      for (std::int64_t i = 0; i < pass.inner; ++i) to[i] = rule.finish(to[i], stop.count);
      to += pass.inner;
    }
    from += pass.axis.image * pass.inner;
  }
}

// Calls `store(index, element)` for each result, `index` counted over all channels.
template <class T, class Rule, class Store>
Expected<void> pool(const Window& window, Counted counted, const Rule& rule, std::span<const T> x,
                    Store store) {
  if (x.empty()) return {};
  std::uint64_t stops = 0;
  for (const WindowAxis& axis : window) stops += static_cast<std::uint64_t>(axis.positions);
  const auto elements_at_once =
      static_cast<std::uint64_t>(std::max(pixel_count(window), position_count(window)));
  QUADRANT_TRY(const ScratchMemory scratch,
               ScratchMemory::take(stops * sizeof(Pass::Stop) +
                                   2 * elements_at_once * sizeof(typename Rule::Element)));
  const std::vector<Pass> passes = passes_over(window, counted);
  const auto pixels = static_cast<std::size_t>(pixel_count(window));
  std::vector<typename Rule::Element> elements(pixels);
  std::vector<typename Rule::Element> pooled;
  std::size_t result = 0;
  for (; !x.empty(); x = x.subspan(pixels)) {
    elements.resize(pixels);
    for (std::size_t i = 0; i < pixels; ++i) {
      elements[i] = rule.load(x[i], static_cast<std::int64_t>(i));
    }
    for (const Pass& pass : passes) {
      pool_along(pass, rule, elements, pooled);
      elements.swap(pooled);
    }
    for (const auto& element : elements) store(result++, element);
  }
  return {};
}

// --- operators -----------------------------------------------------------------------------------

// Pools of nothing at all are refused; a batch may be empty.
Expected<void> check_image(const Tensor& x) {
  if (x.rank() >= 3 && std::ranges::min(x.extents().subspan(2)) > 0) return {};
  return KernelCall::refuse(fmt::format("an image of shape [{}]", to_string(x.shape())));
}

Expected<Window> pool_window(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_CHECK(check_image(x));
  return sliding_window(call, x.extents().subspan(2),
                        call.attribute_or("kernel_shape", std::vector<std::int64_t>()),
                        Excess::goes);
}

Expected<Window> global_window(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_CHECK(check_image(x));
  Window window;
  for (const std::int64_t extent : x.extents().subspan(2)) {
    window.push_back({.image = extent, .positions = 1, .taps = extent});
  }
  QUADRANT_CHECK(check_window(window));
  return window;
}

Shape pooled_shape(const Tensor& x, const Window& window) {
  std::vector<std::int64_t> extents{x.extent(0), x.extent(1)};
  for (const WindowAxis& axis : window) extents.push_back(axis.positions);
  return Shape(extents);
}

// The result is of the operand's type: what `from` makes of each element.
template <class T, class Rule, class From>
Expected<Tensors> pooled(const Tensor& x, const Window& window, Counted counted, const Rule& rule,
                         From from) {
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), pooled_shape(x, window)));
  QUADRANT_CHECK(
      pool(window, counted, rule, x.as<T>(),
           [&, out = y.fill<T>()](std::size_t i, const auto& element) { out[i] = from(element); }));
  return Tensors{std::move(y)};
}

Expected<Tensors> average(const Tensor& x, const Window& window, Counted counted) {
  return with_real(x.element(), [&]<class T>() {
    return pooled<T>(x, window, counted, Average<T>(), [](T element) { return element; });
  });
}

Expected<Tensors> p_norm(const KernelCall& call, const Window& window) {
  const auto p = call.attribute_or<std::int64_t>("p", 2);
  if (p < 1) return KernelCall::refuse(fmt::format("attribute p is {}", p));
  const Tensor& x = call.operand(0);
  return with_real(x.element(), [&]<class T>() {
    const T exponent = static_cast<T>(p);
    return pooled<T>(x, window, Counted::pixels, SumOfPowers<T>{exponent},
                     [&](T sum) { return std::pow(sum, 1 / exponent); });
  });
}

// The index of a pixel when the first axis is the one along which pixels follow one another.
std::int64_t column_major(std::int64_t index, const Window& window) {
  std::int64_t result = 0;
  for (std::size_t axis = window.size(); axis-- > 0;) {
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < axis; ++i) stride *= window[i].image;
    result += index % window[axis].image * stride;
    index /= window[axis].image;
  }
  return result;
}

template <class T>
Expected<Tensors> largest_and_indices(const KernelCall& call, const Window& window) {
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), pooled_shape(x, window)));
  QUADRANT_TRY(Tensor indices, Tensor::make(ElementType::int64, y.shape()));
  const std::int64_t pixels = pixel_count(window);
  const std::int64_t positions = position_count(window);
  const bool by_columns = call.attribute_or<std::int64_t>("storage_order", 0) != 0;
  const auto store = [&, out = y.fill<T>(), index = indices.fill<std::int64_t>()](
                         std::size_t i, const auto& largest) {
    const std::int64_t channel = static_cast<std::int64_t>(i) / positions;
    // A window that lies in the padding alone has no largest pixel: the channel's first.
    const std::int64_t pixel = std::max<std::int64_t>(largest.index, 0);
    out[i] = largest.pixel;
    index[i] = channel * pixels + (by_columns ? column_major(pixel, window) : pixel);
  };
  QUADRANT_CHECK(pool(window, Counted::pixels, LargestAndIndex<T>(), x.as<T>(), store));
  return Tensors{std::move(y), std::move(indices)};
}

Expected<Tensors> largest(const KernelCall& call, const Window& window) {
  const Tensor& x = call.operand(0);
  const auto body = [&]<class T>() -> Expected<Tensors> {
    if (call.result_count() > 1) return largest_and_indices<T>(call, window);
    return pooled<T>(x, window, Counted::pixels, Largest<T>(), [](T element) { return element; });
  };
  if (x.element() == ElementType::int8) return body.template operator()<std::int8_t>();
  if (x.element() == ElementType::uint8) return body.template operator()<std::uint8_t>();
  return with_real(x.element(), body);
}

Expected<Tensors> max_pool(const KernelCall& call) {
  QUADRANT_TRY(const Window window, pool_window(call));
  return largest(call, window);
}

Expected<Tensors> average_pool(const KernelCall& call) {
  QUADRANT_TRY(const Window window, pool_window(call));
  if (call.attribute_or<std::int64_t>("count_include_pad", 0) == 0) {
    return average(call.operand(0), window, Counted::pixels);
  }
  // A window that leaves even the padding, rounding up: opset 19 says that this does not count.
  // Before, ONNX said nothing, and ONNX Runtime counts it.
  return average(call.operand(0), window,
                 call.opset() < 19 ? Counted::whole_window : Counted::padding);
}

Expected<Tensors> lp_pool(const KernelCall& call) {
  QUADRANT_TRY(const Window window, pool_window(call));
  return p_norm(call, window);
}

Expected<Tensors> global_max_pool(const KernelCall& call) {
  QUADRANT_TRY(const Window window, global_window(call));
  return largest(call, window);
}

Expected<Tensors> global_average_pool(const KernelCall& call) {
  QUADRANT_TRY(const Window window, global_window(call));
  return average(call.operand(0), window, Counted::pixels);
}

Expected<Tensors> global_lp_pool(const KernelCall& call) {
  QUADRANT_TRY(const Window window, global_window(call));
  return p_norm(call, window);
}

}  // namespace

std::span<const KernelEntry> kernels::in_pooling() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::MaxPool::kind, max_pool, HalfFloats::widened},
       {ops::AveragePool::kind, average_pool, HalfFloats::widened},
       {ops::LpPool::kind, lp_pool, HalfFloats::widened},
       {ops::GlobalMaxPool::kind, global_max_pool, HalfFloats::widened},
       {ops::GlobalAveragePool::kind, global_average_pool, HalfFloats::widened},
       {ops::GlobalLpPool::kind, global_lp_pool, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
