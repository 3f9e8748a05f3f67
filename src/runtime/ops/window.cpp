#include "runtime/ops/window.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace quadrant::inline v0::interpreted {

namespace {

// No model has larger ones, and what is computed from them stays within 63 bits.
constexpr std::int64_t largest_attribute = std::int64_t{1} << 28U;
constexpr std::int64_t largest_extent = std::int64_t{1} << 33U;

using Integers = std::vector<std::int64_t>;

// Divisor positive.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

// The indices i in [0, count) for which 0 <= first + i * step < extent.
constexpr IndexRange indices_inside(std::int64_t first, std::int64_t step, std::int64_t extent,
                                    std::int64_t count) {
  const std::int64_t begin = std::clamp(ceil_divide(-first, step), std::int64_t{0}, count);
  const std::int64_t end = std::clamp(ceil_divide(extent - first, step), begin, count);
  return {begin, end};
}

// The attribute, `count` numbers of at least `least`; `fallback` where it is missing.
Expected<Integers> list_attribute(const KernelCall& call, std::string_view name, std::size_t count,
                                  std::int64_t fallback, std::int64_t least) {
  Integers list = call.attribute_or(name, Integers());
  if (list.empty()) list.assign(count, fallback);
  const bool fits = list.size() == count && std::ranges::all_of(list, [&](std::int64_t value) {
                      return value >= least && value <= largest_attribute;
                    });
  if (!fits) {
    return KernelCall::refuse(
        fmt::format("attribute {} is [{}], where {} numbers from {} on are "
                    "wanted",
                    name, fmt::join(list, ", "), count, least));
  }
  return list;
}

// Strides, dilations and pads as they are written.
Expected<Window> window_of_attributes(const KernelCall& call, std::span<const std::int64_t> taps,
                                      std::span<const std::int64_t> extents) {
  const std::size_t rank = taps.size();
  if (rank == 0 || extents.size() != rank) {
    return KernelCall::refuse(
        fmt::format("a window of {} axes for an operand that has {}", rank, extents.size()));
  }
  QUADRANT_TRY(const Integers strides, list_attribute(call, "strides", rank, 1, 1));
  QUADRANT_TRY(const Integers dilations, list_attribute(call, "dilations", rank, 1, 1));
  QUADRANT_TRY(const Integers pads, list_attribute(call, "pads", 2 * rank, 0, 0));
  Window window(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (taps[i] < 1 || std::max(taps[i], extents[i]) > largest_extent) {
      return KernelCall::refuse(
          fmt::format("a window of {} elements for an extent of {}", taps[i], extents[i]));
    }
    window[i] = {.taps = taps[i],
                 .stride = strides[i],
                 .dilation = dilations[i],
                 .pad_begin = pads[i],
                 .pad_end = pads[rank + i]};
  }
  return window;
}

enum class AutoPad : std::uint8_t { none, same_upper, same_lower, valid };

Expected<AutoPad> auto_pad_of(const KernelCall& call) {
  const auto name = call.attribute_or<std::string>("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) return AutoPad::none;
  if (name == "SAME_UPPER") return AutoPad::same_upper;
  if (name == "SAME_LOWER") return AutoPad::same_lower;
  if (name == "VALID") return AutoPad::valid;
  return KernelCall::refuse(fmt::format("attribute auto_pad is '{}'", name));
}

// Of an odd number, the end has one more; or the beginning.
void spread_padding(std::int64_t total, bool more_at_end, WindowAxis& axis) {
  axis.pad_begin = (more_at_end ? total : total + 1) / 2;
  axis.pad_end = total - axis.pad_begin;
}

void pad_automatically(AutoPad auto_pad, Excess excess, WindowAxis& axis) {
  axis.pad_begin = axis.pad_end = 0;
  if (auto_pad == AutoPad::valid) return;
  const std::int64_t positions = ceil_divide(axis.image, axis.stride);
  const std::int64_t missing = (positions - 1) * axis.stride + axis.span() - axis.image;
  if (missing < 0 && excess == Excess::stays) return;
  spread_padding(missing, auto_pad == AutoPad::same_upper, axis);
}

// How often the window fits; rounded up, also where it leaves the padded image at the end, as long
// as it does not begin there.
std::int64_t positions_of(const WindowAxis& axis, bool round_up) {
  const std::int64_t room = axis.image + axis.pad_begin + axis.pad_end - axis.span();
  if (!round_up) return floor_divide(room, axis.stride) + 1;
  const std::int64_t count = ceil_divide(room, axis.stride) + 1;
  const bool last_begins_outside = (count - 1) * axis.stride >= axis.image + axis.pad_begin;
  return last_begins_outside ? count - 1 : count;
}

}  // namespace

IndexRange WindowAxis::positions_inside(std::int64_t tap) const noexcept {
  return indices_inside(at(0, tap), stride, image, positions);
}

IndexRange WindowAxis::taps_inside(std::int64_t position) const noexcept {
  return indices_inside(at(position, 0), dilation, image, taps);
}

Expected<Window> sliding_window(const KernelCall& call, std::span<const std::int64_t> image,
                                std::span<const std::int64_t> taps, Excess excess) {
  QUADRANT_TRY(Window window, window_of_attributes(call, taps, image));
  QUADRANT_TRY(const AutoPad auto_pad, auto_pad_of(call));
  const bool round_up = call.attribute_or<std::int64_t>("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowAxis& axis = window[i];
    axis.image = image[i];
    if (auto_pad != AutoPad::none) pad_automatically(auto_pad, excess, axis);
    axis.positions = positions_of(axis, round_up);
    const std::int64_t least = axis.image == 0 ? 0 : 1;
    if (axis.positions < least) {
      return KernelCall::refuse(fmt::format("a window of {} elements over an image of {}",
                                            axis.span(),
                                            axis.image + axis.pad_begin + axis.pad_end));
    }
  }
  QUADRANT_CHECK(check_window(window));
  return window;
}

namespace {

// What a transposed convolution would give along the axis without padding.
std::int64_t unpadded_extent(const WindowAxis& axis, std::int64_t output_padding) {
  return (axis.positions - 1) * axis.stride + axis.span() + output_padding;
}

}  // namespace

Expected<Window> transposed_window(const KernelCall& call, std::span<const std::int64_t> positions,
                                   std::span<const std::int64_t> taps) {
  const std::size_t rank = taps.size();
  QUADRANT_TRY(Window window, window_of_attributes(call, taps, positions));
  QUADRANT_TRY(const AutoPad auto_pad, auto_pad_of(call));
  QUADRANT_TRY(const Integers output_padding, list_attribute(call, "output_padding", rank, 0, 0));
  auto output_shape = call.attribute_or("output_shape", Integers());
  // It may begin with the batch and the channels.
  if (output_shape.size() == rank + 2)
    output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
  const bool is_given = !output_shape.empty();
  if (is_given && (output_shape.size() != rank || std::ranges::min(output_shape) < 0)) {
    return KernelCall::refuse(
        fmt::format("attribute output_shape is [{}]", fmt::join(output_shape, ", ")));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = window[i];
    axis.positions = positions[i];
    const std::int64_t whole = unpadded_extent(axis, output_padding[i]);
    if (is_given || auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower) {
      const std::int64_t wanted = is_given ? output_shape[i] : axis.positions * axis.stride;
      spread_padding(std::max<std::int64_t>(whole - wanted, 0), auto_pad == AutoPad::same_upper,
                     axis);
    } else if (auto_pad == AutoPad::valid) {
      axis.pad_begin = axis.pad_end = 0;
    }
    axis.image = is_given ? output_shape[i] : whole - axis.pad_begin - axis.pad_end;
    if (axis.image < 0) {
      return KernelCall::refuse(fmt::format("pads of {} and {} for a result of {} elements",
                                            axis.pad_begin, axis.pad_end, whole));
    }
  }
  QUADRANT_CHECK(check_window(window));
  return window;
}

Expected<void> check_window(const Window& window) {
  for (const auto extent : {&WindowAxis::image, &WindowAxis::positions, &WindowAxis::taps}) {
    std::vector<std::int64_t> extents;
    for (const WindowAxis& axis : window) extents.push_back(axis.*extent);
    if (!Shape(extents).element_count()) {
      return KernelCall::refuse(
          fmt::format("{} elements are too many", fmt::join(extents, " times ")));
    }
  }
  return {};
}

std::int64_t pixel_count(const Window& window) noexcept {
  std::int64_t count = 1;
  for (const WindowAxis& axis : window) count *= axis.image;
  return count;
}

std::int64_t position_count(const Window& window) noexcept {
  std::int64_t count = 1;
  for (const WindowAxis& axis : window) count *= axis.positions;
  return count;
}

std::int64_t tap_count(const Window& window) noexcept {
  std::int64_t count = 1;
  for (const WindowAxis& axis : window) count *= axis.taps;
  return count;
}

bool is_pointwise(const Window& window) noexcept {
  return std::ranges::all_of(window, [](const WindowAxis& axis) {
    return axis.taps == 1 && axis.stride == 1 && axis.pad_begin == 0 &&
           axis.positions == axis.image;
  });
}

Box all_positions(const Window& window) {
  Box box;
  for (const WindowAxis& axis : window) box.push_back({0, axis.positions});
  return box;
}

void for_each_piece(const Window& window, std::int64_t most,
                    FunctionRef<void(const Box& box, std::int64_t first)> body) {
  const std::int64_t count = position_count(window);
  if (count == 0) return;
  // A box has several slices along the axis `cut` and lies within one of each axis before it.
  std::size_t cut = 0;
  std::int64_t slice = count / window[0].positions;
  while (cut + 1 < window.size() && slice > most) slice /= window[++cut].positions;
  const std::int64_t slices = std::max<std::int64_t>(most / slice, 1);

  Box box = all_positions(window);
  for (std::int64_t first = 0; first < count; first += box[cut].size() * slice) {
    std::int64_t rest = first / slice;
    const auto next_index = [&](std::size_t axis) {
      const std::int64_t index = rest % window[axis].positions;
      rest /= window[axis].positions;
      return index;
    };
    const std::int64_t begin = next_index(cut);
    box[cut] = {begin, std::min(begin + slices, window[cut].positions)};
    for (std::size_t axis = cut; axis-- > 0;) {
      const std::int64_t index = next_index(axis);
      box[axis] = {index, index + 1};
    }
    body(box, first);
  }
}

TapWalk::TapWalk(const Window& window, const Box& box) {
  for (std::size_t i = 0; i < window.size(); ++i) axes_.push_back({window[i], box[i]});
  for (std::size_t i = axes_.size() - 1; i > 0; --i) {
    axes_[i - 1].position_stride = axes_[i].position_stride * axes_[i].box.size();
    axes_[i - 1].pixel_stride = axes_[i].pixel_stride * axes_[i].window.image;
  }
}

bool TapWalk::reads_padding() const noexcept {
  return std::ranges::any_of(axes_, [](const Axis& axis) {
    return axis.window.at(axis.box.begin, 0) < 0 ||
           axis.window.at(axis.box.end - 1, axis.window.taps - 1) >= axis.window.image;
  });
}

std::int64_t TapWalk::position_count() const noexcept {
  return axes_.front().position_stride * axes_.front().box.size();
}

void TapWalk::Axis::go_to_tap(std::int64_t index) {
  tap = index;
  const IndexRange all = window.positions_inside(tap);
  inside.begin = std::max(all.begin, box.begin);
  inside.end = std::max(std::min(all.end, box.end), inside.begin);
}

void TapWalk::for_each_row(FunctionRef<void(const Row& row)> body) {
  for (Axis& axis : axes_) axis.go_to_tap(0);
  for (std::int64_t tap = 0;; ++tap) {
    for_each_row_of_tap(tap, body);
    std::size_t i = axes_.size();
    for (; i > 0; --i) {
      Axis& axis = axes_[i - 1];
      if (axis.tap + 1 < axis.window.taps) break;
      axis.go_to_tap(0);
    }
    if (i == 0) return;
    axes_[i - 1].go_to_tap(axes_[i - 1].tap + 1);
  }
}

void TapWalk::for_each_row_of_tap(std::int64_t tap, FunctionRef<void(const Row& row)> body) {
  Row row{.tap = tap, .length = axes_.back().inside.size()};
  for (Axis& axis : axes_) {
    if (axis.inside.size() == 0) return;
    axis.position = axis.inside.begin;
    row.position += (axis.inside.begin - axis.box.begin) * axis.position_stride;
    row.pixel += axis.window.at(axis.inside.begin, axis.tap) * axis.pixel_stride;
  }
  while (true) {
    body(row);
    std::size_t i = axes_.size() - 1;
    for (; i > 0; --i) {
      Axis& axis = axes_[i - 1];
      const std::int64_t next =
          axis.position + 1 < axis.inside.end ? axis.position + 1 : axis.inside.begin;
      row.position += (next - axis.position) * axis.position_stride;
      row.pixel += (next - axis.position) * axis.window.stride * axis.pixel_stride;
      axis.position = next;
      if (next != axis.inside.begin) break;
    }
    if (i == 0) return;
  }
}

}  // namespace quadrant::inline v0::interpreted
