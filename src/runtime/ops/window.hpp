// Windows that slide over images: the shape arithmetic that convolutions and pools share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0::interpreted {

/// From `begin` up to, not including, `end`, which is not smaller.
struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

/// How a window slides along one axis of an image. Tap `t` of the window at position `p` reads
/// `p * stride + t * dilation - pad_begin`, which lies outside the image where that is padded.
struct WindowAxis {
  std::int64_t image = 0;
  std::int64_t positions = 0;
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;

  /// From the first tap to the last.
  [[nodiscard]] std::int64_t span() const noexcept { return (taps - 1) * dilation + 1; }
  [[nodiscard]] std::int64_t at(std::int64_t position, std::int64_t tap) const noexcept {
    return position * stride + tap * dilation - pad_begin;
  }
  /// The positions at which `tap` lies in the image.
  [[nodiscard]] IndexRange positions_inside(std::int64_t tap) const noexcept;
  /// The taps that lie in the image at `position`.
  [[nodiscard]] IndexRange taps_inside(std::int64_t position) const noexcept;
};

/// One for each spatial axis.
using Window = std::vector<WindowAxis>;

/// What becomes of pixels beyond those that automatic padding wants: where strides are larger than
/// the window, it is less than nothing that is missing.
enum class Excess : std::uint8_t {
  stays,  ///< for convolutions
  goes,   ///< negative pads, by ONNX's formula for pools
};

/// The window of a convolution or a pool over an image of the extents `image`, from the attributes
/// `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode`. Refuses negative ones and such as do
/// not fit.
[[nodiscard]] Expected<Window> sliding_window(const KernelCall& call,
                                              std::span<const std::int64_t> image,
                                              std::span<const std::int64_t> taps,
                                              Excess excess = Excess::stays);

/// The window of a transposed convolution, whose positions are the operand's elements and whose
/// image is the result: from the attributes above without `ceil_mode`, and from `output_padding`
/// and `output_shape`. Checked like the other one.
[[nodiscard]] Expected<Window> transposed_window(const KernelCall& call,
                                                 std::span<const std::int64_t> positions,
                                                 std::span<const std::int64_t> taps);

/// Refuses a window whose pixels, positions or taps cannot be counted.
[[nodiscard]] Expected<void> check_window(const Window& window);
/// Products over all axes, of a window that was checked and none of whose extents is 0.
[[nodiscard]] std::int64_t pixel_count(const Window& window) noexcept;
[[nodiscard]] std::int64_t position_count(const Window& window) noexcept;
[[nodiscard]] std::int64_t tap_count(const Window& window) noexcept;
/// Whether there is one tap, which reads pixel `p` at position `p`.
[[nodiscard]] bool is_pointwise(const Window& window) noexcept;

/// Some of a window's positions: a range along each axis.
using Box = std::vector<IndexRange>;

[[nodiscard]] Box all_positions(const Window& window);

/// Calls `body(box, first)` for boxes that together are all positions, in order. Those of a box
/// follow one another, from position `first` on, and are at most `most`, or a single one.
void for_each_piece(const Window& window, std::int64_t most,
                    FunctionRef<void(const Box& box, std::int64_t first)> body);

/// Walks over what the taps of a window read at the positions of a box.
class TapWalk {
 public:
  TapWalk(const Window& window, const Box& box);

  /// Neighbouring positions, counted within the box, at which a tap reads pixels of the image that
  /// are `pixel_step()` apart.
  struct Row {
    std::int64_t tap = 0;
    std::int64_t position = 0;
    std::int64_t pixel = 0;
    std::int64_t length = 0;
  };
  /// Calls `body` for all rows of all taps, tap by tap. Where a tap reads padding there is no row.
  void for_each_row(FunctionRef<void(const Row& row)> body);
  [[nodiscard]] std::int64_t pixel_step() const noexcept { return axes_.back().window.stride; }
  /// All of the box.
  [[nodiscard]] std::int64_t position_count() const noexcept;
  [[nodiscard]] bool reads_padding() const noexcept;

 private:
  struct Axis {
    WindowAxis window;
    IndexRange box;
    std::int64_t position_stride = 1;
    std::int64_t pixel_stride = 1;
    // Where the walk is:
    std::int64_t tap = 0;
    IndexRange inside = {};  // positions of the box at which the tap lies in the image
    std::int64_t position = 0;

    void go_to_tap(std::int64_t index);
  };
  void for_each_row_of_tap(std::int64_t tap, FunctionRef<void(const Row& row)> body);

  std::vector<Axis> axes_;
};

/// Sets the columns of one channel, `[taps, positions of the box]`, to the pixels that are read
/// there. Where that is padding they stay as they are.
template <class T>
void unroll_channel(TapWalk& walk, const T* pixels, T* columns) {
  const std::int64_t positions = walk.position_count();
  const std::int64_t step = walk.pixel_step();
  walk.for_each_row([&](const TapWalk::Row& row) {
    const T* from = pixels + row.pixel;
    T* to = columns + row.tap * positions + row.position;
    if (step == 1) {
      std::copy_n(from, row.length, to);
    } else {
      for (std::int64_t i = 0; i < row.length; ++i) to[i] = from[i * step];
    }
  });
}

}  // namespace quadrant::inline v0::interpreted
