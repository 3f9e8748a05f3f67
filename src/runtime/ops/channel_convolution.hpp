// Convolutions of one channel at a time, as depthwise ones are: there is no product of matrices to
// make of them.
#pragma once

#include <vector>

#include "runtime/ops/window.hpp"

namespace quadrant::inline v0::interpreted {

/// Takes the pixels of a channel apart into the phases of the window's stride, with their padding:
/// with a stride of 2, even and odd pixels. What a tap reads at neighbouring positions are
/// neighbours then, so that a convolution is a sum of phases, shifted, times weights. That is one
/// long loop over all positions; it also computes some between the rows, which are left out. T:
/// float, double.
template <class T>
class ChannelConvolution {
 public:
  /// Whether the phases take no more memory than the image and the result do, roughly: not so where
  /// pads or dilations are out of all proportion.
  [[nodiscard]] static bool suits(const Window& window);

  /// The window suits, and none of its extents is 0.
  explicit ChannelConvolution(const Window& window);

  void load(const T* pixels);
  /// Adds the convolution of what was loaded with a weight, of all taps, to all positions of `y`.
  void add_to(const T* weight, T* y);

 private:
  std::vector<std::int64_t> offsets_;  // by tap: of what it reads at the first position
  std::int64_t length_ = 0;            // from the first position to the last
  TapWalk pixels_to_phases_;
  TapWalk sums_to_positions_;
  std::vector<T> phases_;
  std::vector<T> sums_;
};

}  // namespace quadrant::inline v0::interpreted
