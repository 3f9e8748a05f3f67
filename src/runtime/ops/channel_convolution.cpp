#include "runtime/ops/channel_convolution.hpp"

#include <algorithm>

#include "runtime/inner_loops.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Phase r of an axis has the pixels r - pad_begin, stride + r - pad_begin, ... What tap t reads is
// phase t * dilation % stride, t * dilation / stride further on. As a window, phases are taps.
Window phases_of(Window window) {
  for (WindowAxis& axis : window) {
    const std::int64_t last = axis.span() - 1;
    axis.taps = std::min(axis.stride, last + 1);
    axis.positions += last / axis.stride;
    axis.dilation = 1;
  }
  return window;
}

// The positions of `window` among those of its phases.
Window positions_among_phases(Window window, const Window& phases) {
  for (std::size_t i = 0; i < window.size(); ++i) {
    window[i] = {.image = phases[i].positions, .positions = window[i].positions};
  }
  return window;
}

// Calls `body` with the sum over all axes of each tap's offsets, in order. `offset(axis, tap)`.
template <class Offset>
std::vector<std::int64_t> tap_offsets(const Window& window, Offset offset) {
  std::vector<std::int64_t> offsets{0};
  for (std::size_t axis = 0; axis < window.size(); ++axis) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t before : offsets) {
      for (std::int64_t tap = 0; tap < window[axis].taps; ++tap) {
        longer.push_back(before + offset(axis, tap));
      }
    }
    offsets = std::move(longer);
  }
  return offsets;
}

}  // namespace

template <class T>
bool ChannelConvolution<T>::suits(const Window& window) {
  const Window phases = phases_of(window);
  std::vector<std::int64_t> extents;
  for (const WindowAxis& axis : phases) extents.insert(extents.end(), {axis.taps, axis.positions});
  constexpr std::int64_t small = std::int64_t{1} << 16U;
  const std::int64_t room = 8 * (pixel_count(window) + position_count(window)) + small;
  return Shape(extents).element_count().value_or(room + 1) <= room;
}

template <class T>
ChannelConvolution<T>::ChannelConvolution(const Window& window)
    : pixels_to_phases_(phases_of(window), all_positions(phases_of(window))),
      sums_to_positions_(positions_among_phases(window, phases_of(window)), all_positions(window)) {
  const Window phases = phases_of(window);
  const std::int64_t phase_size = position_count(phases);
  // Of one more along an axis: in a phase, and of the phase itself.
  std::vector<std::int64_t> shift(window.size(), 1);
  std::vector<std::int64_t> phase(window.size(), phase_size);
  for (std::size_t i = window.size() - 1; i > 0; --i) {
    shift[i - 1] = shift[i] * phases[i].positions;
    phase[i - 1] = phase[i] * phases[i].taps;
  }
  offsets_ = tap_offsets(window, [&](std::size_t axis, std::int64_t tap) {
    const std::int64_t at = tap * window[axis].dilation;
    return at % window[axis].stride * phase[axis] + at / window[axis].stride * shift[axis];
  });
  length_ = 1;
  for (std::size_t i = 0; i < window.size(); ++i) length_ += (window[i].positions - 1) * shift[i];

  constexpr std::int64_t padding = InnerLoops<T>::padding;
  phases_.resize(static_cast<std::size_t>(tap_count(phases) * phase_size + padding));
  sums_.resize(static_cast<std::size_t>(length_ + padding));
}

// Padding stays as it was made: zeros.
template <class T>
void ChannelConvolution<T>::load(const T* pixels) {
  unroll_channel(pixels_to_phases_, pixels, phases_.data());
}

template <class T>
void ChannelConvolution<T>::add_to(const T* weight, T* y) {
  inner_loops<T>().weighted_sum(phases_.data(), offsets_.data(), weight,
                                static_cast<std::int64_t>(offsets_.size()), length_, sums_.data());
  sums_to_positions_.for_each_row([&](const TapWalk::Row& row) {
    const T* from = sums_.data() + row.pixel;
    T* to = y + row.position;
    for (std::int64_t i = 0; i < row.length; ++i) to[i] += from[i];
  });
}

template class ChannelConvolution<float>;
template class ChannelConvolution<double>;

}  // namespace quadrant::inline v0::interpreted
