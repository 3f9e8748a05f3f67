// Where convolutions and poolings look: ONNX's paddings as TFLite has them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/tflite/lower.hpp"

namespace quadrant::inline v0::tflite {

/// The windows along one axis.
struct WindowAxis {
  Extent extent = Extent::open();  ///< of the operand
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  ///< padding
  std::int64_t after = 0;
  Extent count = Extent::open();  ///< of windows: the result's extent
  /// The padding is what TFLite calls SAME, of an extent that only the run tells.
  bool is_open_same = false;

  [[nodiscard]] std::int64_t reach() const noexcept { return (kernel - 1) * dilation + 1; }
};

/// Reads `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode`. `kernel`: the extents of the
/// windows, one for each axis behind the first two of `operand`, at most `most_axes`.
[[nodiscard]] std::vector<WindowAxis> read_windows(const NodeRef& node, const Shape& operand,
                                                   const std::vector<std::int64_t>& kernel,
                                                   std::size_t most_axes = 2);

/// The padding that an operator does itself, and what has to be done before.
struct WindowPadding {
  schema::Padding padding = schema::Padding::VALID;
  std::vector<std::int64_t> before;  ///< one for each axis; empty when there is nothing to do
  std::vector<std::int64_t> after;
};
[[nodiscard]] WindowPadding padding_of(const std::vector<WindowAxis>& windows);
/// All of it before the operator.
[[nodiscard]] WindowPadding explicit_padding(const std::vector<WindowAxis>& windows);

/// `tensor` of NHWC, padded by `padding` with what stands for zero (`lowest` false), or with the
/// lowest value. `type`: of the value that it is, with the spatial extents in the middle.
[[nodiscard]] TensorId pad_image(Lowering& lowering, const NodeRef& node, TensorId tensor,
                                 const TensorType& type, const WindowPadding& padding, bool lowest);

/// `[N, spatial..., C]` as a shape with room for images of one dimension, which get a height of 1.
[[nodiscard]] Shape image_shape(Extent batch, std::span<const Extent> spatial, Extent channels);

/// The operand as a tensor NHWC (NDHWC), whether it has two spatial axes, three or one.
[[nodiscard]] TensorId image_of(Lowering& lowering, const NodeRef& node, Value value);
/// The tensor NHWC that an operator computes `result` into. `finish_image` has to follow it.
[[nodiscard]] TensorId define_image(Lowering& lowering, const NodeRef& node, Value result);
void finish_image(Lowering& lowering, Value result, TensorId image);

}  // namespace quadrant::inline v0::tflite
