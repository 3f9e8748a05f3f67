// https://onnx.ai/onnx/operators/onnx__Conv.html, ..._ConvTranspose.html
#include <fmt/format.h>

#include <algorithm>

#include "ir/shape_rules.hpp"

namespace quadrant::inline v0::detail {
namespace {

struct Window {
  Extent kernel = Extent::open();
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
};

tl::unexpected<Error> beyond_63_bits() {
  return invalid("strides, pads or dilations beyond 63 bits");
}

// How many windows fit into `from` elements and the padding.
Expected<Extent> window_count(Extent from, const Window& window, bool same) {
  if (!from.is_known()) return from;
  const std::int64_t extent = from.value();
  if (same) return extent / window.stride + (extent % window.stride != 0 ? 1 : 0);
  if (!window.kernel.is_known()) return window.kernel;
  std::int64_t reach = 0;  // from the first to the last element under the kernel
  std::int64_t room = 0;
  if (__builtin_mul_overflow(window.kernel.value() - 1, window.dilation, &reach) ||
      __builtin_add_overflow(extent, window.pad_begin, &room) ||
      __builtin_add_overflow(room, window.pad_end, &room)) {
    return beyond_63_bits();
  }
  if (reach >= room) {
    return invalid(fmt::format("a kernel that reaches over {} elements does not fit into {}",
                               static_cast<std::uint64_t>(reach) + 1, room));
  }
  return (room - 1 - reach) / window.stride + 1;
}

// Where the windows of `from` elements end, when each element has one.
Expected<Extent> windows_end(Extent from, const Window& window, bool same,
                             std::int64_t output_padding) {
  const std::int64_t extent = from.value_or(0);
  if (extent == 0 || !window.kernel.is_known()) return Extent::open();
  // ONNX's text, its shape inference and its runtime agree about SAME in this case only.
  if (same && (extent % window.stride != 0 || output_padding != 0)) return Extent::open();
  std::int64_t last = 0;   // where the last window begins
  std::int64_t reach = 0;  // from the first to the last element of a window
  std::int64_t end = 0;
  std::int64_t pads = 0;
  if (__builtin_mul_overflow(extent - 1, window.stride, &last) ||
      __builtin_mul_overflow(window.kernel.value() - 1, window.dilation, &reach) ||
      __builtin_add_overflow(last, reach, &end) ||
      __builtin_add_overflow(end, output_padding, &end) || __builtin_add_overflow(end, 1, &end) ||
      __builtin_add_overflow(window.pad_begin, window.pad_end, &pads)) {
    return beyond_63_bits();
  }
  if (same) return end - last < window.stride ? end : last + window.stride;
  if (pads >= end) return invalid(fmt::format("pads of {} take all of {} elements", pads, end));
  return end - pads;
}

// The output channels. Of weights `[whole, part / group]` a convolution makes the whole of the
// parts, a transposed one the parts of the whole.
Expected<Extent> output_channels(NodeRef node, const Shape& x, const Shape& w, const Shape& bias,
                                 bool transposed) {
  QUADRANT_TRY(const std::int64_t group, attribute_or<std::int64_t>(node, "group", 1));
  if (group < 1) return invalid(fmt::format("attribute 'group' holds {}", group));
  if (!w.is_ranked()) return Extent::open();
  const Extent whole = w[0];
  if (whole.value_or(0) % group != 0) {
    return invalid(fmt::format("{} {} channels in {} groups", to_string(whole),
                               transposed ? "input" : "output", group));
  }
  std::int64_t product = 0;
  if (__builtin_mul_overflow(w[1].value_or(0), group, &product)) {
    return invalid("more channels than 63 bits count");
  }
  const Extent parts = w[1].is_known() ? Extent(product) : w[1];
  const Extent input = transposed ? whole : parts;
  const Extent output = transposed ? parts : whole;
  if (x.is_ranked() && !may_equal(x[1], input)) {
    return invalid(fmt::format("{} input channels where the weights are for {}", to_string(x[1]),
                               to_string(input)));
  }
  if (bias.is_ranked() && (bias.rank() != 1 || !may_equal(bias[0], output))) {
    return invalid(fmt::format("a bias of shape [{}] for {} output channels", to_string(bias),
                               to_string(output)));
  }
  return output;
}

// The extents that a transposed convolution states, or none. Some exporters state batch and
// channels too.
Expected<std::vector<Extent>> stated_output(NodeRef node, std::size_t spatial) {
  QUADRANT_TRY(auto values, attribute_or(node, "output_shape", std::vector<std::int64_t>{}));
  if (values.size() == spatial + 2) values.erase(values.begin(), values.begin() + 2);
  if (!values.empty() && values.size() != spatial) {
    return invalid(fmt::format("attribute 'output_shape' has {} values where {} are needed",
                               values.size(), spatial));
  }
  std::vector<Extent> extents;
  for (const std::int64_t value : values) {
    extents.push_back(value < 1 ? Extent::open() : Extent(value));
  }
  return extents;
}

// Data and weights have as many dimensions: batch and channels, and those that windows slide along.
Expected<void> check_ranks(const Shape& x, const Shape& w) {
  for (const Shape* shape : {&x, &w}) {
    if (shape->is_ranked() && shape->rank() < 2) {
      return invalid(fmt::format("a convolution of {} dimensions", shape->rank()));
    }
  }
  if (x.is_ranked() && w.is_ranked() && x.rank() != w.rank()) {
    return invalid(
        fmt::format("a convolution of {} dimensions with weights of {}", x.rank(), w.rank()));
  }
  return {};
}

}  // namespace

Expected<Shape> convolution_shape(NodeRef node, const ConvolutionOperands& operands,
                                  bool transposed) {
  const Shape x = operand_shape(node, operands.data);
  const Shape w = operand_shape(node, operands.weights);
  const Shape bias = operand_shape(node, operands.bias);
  QUADRANT_CHECK(check_ranks(x, w));
  QUADRANT_TRY(const Extent channels, output_channels(node, x, w, bias, transposed));
  if (!x.is_ranked() && !w.is_ranked()) return Shape();

  const auto spatial = static_cast<std::size_t>(std::max(x.rank(), w.rank()) - 2);
  QUADRANT_TRY(const auto kernel, kernel_shape(node, spatial));
  QUADRANT_TRY(const auto strides, integers(node, "strides", spatial, 1, 1));
  QUADRANT_TRY(const auto dilations, integers(node, "dilations", spatial, 1, 1));
  QUADRANT_TRY(const auto pads, integers(node, "pads", 2 * spatial, 0, 0));
  QUADRANT_TRY(const auto auto_pad, attribute_or<std::string>(node, "auto_pad", "NOTSET"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const bool explicit_pads = auto_pad == "NOTSET" || auto_pad.empty();
  if (!same && !explicit_pads && auto_pad != "VALID") {
    return invalid(fmt::format("attribute 'auto_pad' holds '{}'", auto_pad));
  }
  std::vector<std::int64_t> output_padding(spatial, 0);
  std::vector<Extent> stated;
  if (transposed) {
    QUADRANT_TRY(output_padding, integers(node, "output_padding", spatial, 0, 0));
    QUADRANT_TRY(stated, stated_output(node, spatial));
  }

  std::vector<Extent> extents{x.is_ranked() ? x[0] : Extent::open(), channels};
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    const Extent extent = w.is_ranked() ? w[axis] : Extent::open();
    if (!may_equal(extent, kernel[i])) {
      return invalid(fmt::format("attribute 'kernel_shape' holds {} for a kernel of {}",
                                 to_string(kernel[i]), to_string(extent)));
    }
    Window window{known_one(extent, kernel[i]), strides[i], dilations[i], 0, 0};
    if (surely_equal(window.kernel, 0)) return invalid("a kernel of extent 0");
    if (explicit_pads) {
      window.pad_begin = pads[i];
      window.pad_end = pads[i + spatial];
    }
    const Extent from = x.is_ranked() ? x[axis] : Extent::open();
    if (!stated.empty()) {
      extents.push_back(stated[i]);
      continue;
    }
    QUADRANT_TRY(const Extent to, transposed ? windows_end(from, window, same, output_padding[i])
                                             : window_count(from, window, same));
    extents.push_back(to);
  }
  return Shape(std::move(extents));
}

namespace {

Expected<TensorType> infer(NodeRef node, bool transposed) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(result.shape, convolution_shape(node, {}, transposed));
  return result;
}

}  // namespace

Expected<TensorType> infer_conv(NodeRef node) { return infer(node, false); }
Expected<TensorType> infer_conv_transpose(NodeRef node) { return infer(node, true); }

}  // namespace quadrant::inline v0::detail
