// https://onnx.ai/onnx/operators/onnx__Conv.html
#include <fmt/format.h>

#include <algorithm>

#include "ir/shape_rules.hpp"

namespace quadrant::inline v0::detail {
namespace {

struct Window {
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t dilation;
  std::int64_t pad_begin;
  std::int64_t pad_end;
};

// How many windows fit into `extent` elements and the padding.
Expected<std::int64_t> window_count(std::int64_t extent, const Window& window, bool same) {
  if (extent == Shape::dynamic) return Shape::dynamic;
  if (same) return extent / window.stride + (extent % window.stride != 0 ? 1 : 0);
  if (window.kernel == Shape::dynamic) return Shape::dynamic;
  std::int64_t reach = 0;  // from the first to the last element under the kernel
  std::int64_t room = 0;
  if (__builtin_mul_overflow(window.kernel - 1, window.dilation, &reach) ||
      __builtin_add_overflow(extent, window.pad_begin, &room) ||
      __builtin_add_overflow(room, window.pad_end, &room)) {
    return invalid("pads or dilations beyond 63 bits");
  }
  if (reach >= room) {
    return invalid(fmt::format("a kernel that reaches over {} elements does not fit into {}",
                               static_cast<std::uint64_t>(reach) + 1, room));
  }
  return (room - 1 - reach) / window.stride + 1;
}

Expected<void> check_conv_channels(NodeRef node, const Shape& x, const Shape& w,
                                   const Shape& bias) {
  QUADRANT_TRY(const std::int64_t group, attribute_or<std::int64_t>(node, "group", 1));
  if (group < 1) return invalid(fmt::format("attribute 'group' holds {}", group));
  if (!w.is_ranked()) return {};
  if (w[0] != Shape::dynamic && w[0] % group != 0) {
    return invalid(fmt::format("{} output channels in {} groups", w[0], group));
  }
  std::int64_t channels = Shape::dynamic;
  if (w[1] != Shape::dynamic && __builtin_mul_overflow(w[1], group, &channels)) {
    return invalid("more channels than 63 bits count");
  }
  if (x.is_ranked() && !compatible(x[1], channels)) {
    return invalid(fmt::format("{} input channels where the weights are for {}", x[1], channels));
  }
  if (bias.is_ranked() && (bias.rank() != 1 || !compatible(bias[0], w[0]))) {
    return invalid(
        fmt::format("a bias of shape [{}] for {} output channels", to_string(bias), w[0]));
  }
  return {};
}

}  // namespace

Expected<TensorType> infer_conv(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  const Shape x = operand_shape(node, 0);
  const Shape w = operand_shape(node, 1);
  for (const Shape& shape : {x, w}) {
    if (shape.is_ranked() && shape.rank() < 2) {
      return invalid(fmt::format("a convolution of {} dimensions", shape.rank()));
    }
  }
  if (x.is_ranked() && w.is_ranked() && x.rank() != w.rank()) {
    return invalid(
        fmt::format("a convolution of {} dimensions with weights of {}", x.rank(), w.rank()));
  }
  QUADRANT_CHECK(check_conv_channels(node, x, w, operand_shape(node, 2)));
  if (!x.is_ranked() && !w.is_ranked()) return result;

  const auto spatial = static_cast<std::size_t>(std::max(x.rank(), w.rank()) - 2);
  QUADRANT_TRY(const auto kernel, integers(node, "kernel_shape", spatial, Shape::dynamic, 1));
  QUADRANT_TRY(const auto strides, integers(node, "strides", spatial, 1, 1));
  QUADRANT_TRY(const auto dilations, integers(node, "dilations", spatial, 1, 1));
  QUADRANT_TRY(const auto pads, integers(node, "pads", 2 * spatial, 0, 0));
  QUADRANT_TRY(const auto auto_pad, attribute_or<std::string>(node, "auto_pad", "NOTSET"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const bool explicit_pads = auto_pad == "NOTSET" || auto_pad.empty();
  if (!same && !explicit_pads && auto_pad != "VALID") {
    return invalid(fmt::format("attribute 'auto_pad' holds '{}'", auto_pad));
  }

  std::vector<std::int64_t> extents{x.is_ranked() ? x[0] : Shape::dynamic,
                                    w.is_ranked() ? w[0] : Shape::dynamic};
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    const std::int64_t extent = w.is_ranked() ? w[axis] : Shape::dynamic;
    if (!compatible(extent, kernel[i])) {
      return invalid(
          fmt::format("attribute 'kernel_shape' holds {} for a kernel of {}", kernel[i], extent));
    }
    Window window{std::max(extent, kernel[i]), strides[i], dilations[i], 0, 0};
    if (window.kernel == 0) return invalid("a kernel of extent 0");
    if (explicit_pads) {
      window.pad_begin = pads[i];
      window.pad_end = pads[i + spatial];
    }
    QUADRANT_TRY(const std::int64_t count,
                 window_count(x.is_ranked() ? x[axis] : Shape::dynamic, window, same));
    extents.push_back(count);
  }
  result.shape = Shape(std::move(extents));
  return result;
}

}  // namespace quadrant::inline v0::detail
