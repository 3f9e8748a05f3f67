// Convolutions: NHWC, with weights OHWI, or 1HWO where each channel has filters of its own.
#include <algorithm>
#include <array>

#include "io/tflite/bias.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/rules.hpp"
#include "io/tflite/window.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

std::vector<std::int64_t> kernel_of(const Shape& weights) {
  if (!weights.is_static() || weights.rank() < 3) impossible("weights of unknown extents");
  return {weights.extents().begin() + 2, weights.extents().end()};
}

/// Weights with two spatial axes, laid out as `axes`.
TensorId weights_of(Lowering& lowering, Value weights, const Axes& axes) {
  const TensorType& type = lowering.type(weights);
  if (type.shape.rank() == 4) return lowering.tensor(weights, axes);
  const Constant* constant = lowering.constant(weights);
  if (!constant) impossible("weights of one spatial axis that are computed");
  return lowering.model().add_constant(
      std::string(lowering.graph().value_name(weights)),
      constant->reshaped(Shape{type.shape[0], type.shape[1], 1, type.shape[2]}), type.quantization,
      axes);
}

void lower_conv(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Value weights = node.operand(1);
  const Value result = node.result();
  const Shape shape = lowering.ranked(data);
  const Shape filters = lowering.ranked(weights);
  const std::vector<WindowAxis> windows = read_windows(node, shape, kernel_of(filters));
  const WindowPadding padding = padding_of(windows);
  const WindowAxis column = windows.back();
  const WindowAxis row = windows.size() == 2 ? windows.front() : WindowAxis{};
  const auto group = node.attribute_or<std::int64_t>("group", 1);
  const std::int64_t channels = filters[0];
  const bool depthwise = group > 1 && filters[1] == 1 && group == shape[1];

  const TensorId image = pad_image(lowering, node, image_of(lowering, node, data),
                                   lowering.type(data), padding, false);
  const TensorId filter =
      weights_of(lowering, weights, depthwise ? Axes{1, 2, 3, 0} : channels_last(4));
  const TensorId bias = bias_of(lowering, node, data, weights, node.operand(2), channels);
  const TensorId output = define_image(lowering, node, result);
  const auto fill = [&](auto options) {
    options.padding = padding.padding;
    options.stride_h = static_cast<std::int32_t>(row.stride);
    options.stride_w = static_cast<std::int32_t>(column.stride);
    options.dilation_h_factor = static_cast<std::int32_t>(row.dilation);
    options.dilation_w_factor = static_cast<std::int32_t>(column.dilation);
    return options;
  };
  Model& model = lowering.model();
  if (depthwise) {
    auto options = fill(schema::DepthwiseConv2DOptionsT{});
    options.depth_multiplier = static_cast<std::int32_t>(channels / group);
    model.emit({BuiltinOperator::DEPTHWISE_CONV_2D}, {image, filter, bias}, {output},
               std::move(options));
  } else {
    model.emit({BuiltinOperator::CONV_2D}, {image, filter, bias}, {output},
               fill(schema::Conv2DOptionsT{}));
  }
  finish_image(lowering, result, output);
}

/// The padding of the convolution that a transposed one turns around. Empty where TFLite has none.
std::optional<schema::Padding> turned_padding(const std::vector<WindowAxis>& windows,
                                              const Shape& result) {
  bool valid = true;
  bool same = true;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const WindowAxis& axis = windows[i];
    const std::int64_t extent = result.extents()[i + 2];
    const std::int64_t full = (axis.extent - 1) * axis.stride + axis.reach();
    valid = valid && axis.before == 0 && extent == full;
    same = same && axis.before == std::max<std::int64_t>(full - extent, 0) / 2 &&
           (extent + axis.stride - 1) / axis.stride == axis.extent;
  }
  if (valid) return schema::Padding::VALID;
  if (same) return schema::Padding::SAME;
  return std::nullopt;
}

void lower_conv_transpose(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Value weights = node.operand(1);
  const Value result = node.result();
  const Shape shape = lowering.ranked(data);
  const Shape filters = lowering.ranked(weights);
  if (node.attribute_or<std::int64_t>("group", 1) != 1) impossible("groups");
  if (shape.rank() != 4 || filters.rank() != 4) impossible("images of other than two dimensions");
  std::vector<WindowAxis> windows(2);
  const auto strides = node.attribute_or<std::vector<std::int64_t>>("strides", {1, 1});
  const auto dilations = node.attribute_or<std::vector<std::int64_t>>("dilations", {1, 1});
  const auto pads = node.attribute_or<std::vector<std::int64_t>>("pads", {0, 0, 0, 0});
  const auto auto_pad = node.attribute_or<std::string>("auto_pad", "NOTSET");
  if (strides.size() != 2 || pads.size() != 4 || dilations != std::vector<std::int64_t>{1, 1}) {
    impossible("dilations");
  }
  if (auto_pad.starts_with("SAME")) {
    const auto larger = [](std::int64_t extent, std::int64_t stride) {
      return extent == Shape::dynamic ? extent : extent * stride;
    };
    lowering.settle(
        result, lowering.type(data).element,
        Shape{shape[0], filters[1], larger(shape[2], strides[0]), larger(shape[3], strides[1])});
  }
  const Shape wanted = lowering.ranked(result);
  if (!shape.is_static() || !wanted.is_static()) impossible("images of unknown extents");
  for (std::size_t i = 0; i < 2; ++i) {
    windows[i] = {.extent = shape.extents()[i + 2],
                  .kernel = filters.extents()[i + 2],
                  .stride = strides[i],
                  .before = pads[i],
                  .after = pads[i + 2]};
    const std::int64_t full = (windows[i].extent - 1) * strides[i] + windows[i].kernel;
    const std::int64_t cut = std::max<std::int64_t>(full - wanted.extents()[i + 2], 0);
    if (auto_pad == "SAME_UPPER") windows[i].before = cut / 2;
    if (auto_pad == "SAME_LOWER") windows[i].before = cut - cut / 2;
  }
  const auto padding = turned_padding(windows, wanted);
  if (!padding) impossible("a padding that is neither TFLite's SAME nor VALID");

  const std::int64_t channels = filters[1];
  const TensorId image = lowering.tensor(data, channels_last(4));
  const TensorId filter = lowering.tensor(weights, {1, 2, 3, 0});
  const TensorId bias = bias_of(lowering, node, data, weights, node.operand(2), channels);
  Model& model = lowering.model();
  std::vector<std::int32_t> extents;
  const Shape arranged_shape = arranged(wanted, channels_last(4));
  for (const std::int64_t extent : arranged_shape.extents()) {
    extents.push_back(static_cast<std::int32_t>(extent));
  }
  const TensorId extents_tensor = model.integers(extents);
  schema::TransposeConvOptionsT options;
  options.padding = *padding;
  options.stride_h = static_cast<std::int32_t>(windows[0].stride);
  options.stride_w = static_cast<std::int32_t>(windows[1].stride);
  model.emit({BuiltinOperator::TRANSPOSE_CONV}, {extents_tensor, filter, image, bias},
             {lowering.define(result, channels_last(4))}, std::move(options));
}

constexpr std::array convolution_rows{
    Rule{.kind = ops::Conv::kind,
         .lower = lower_conv,
         .code = BuiltinOperator::CONV_2D,
         .codes = Codes::all,
         .data = 2,
         .weights = true},
    Rule{.kind = ops::ConvTranspose::kind,
         .lower = lower_conv_transpose,
         .code = BuiltinOperator::TRANSPOSE_CONV,
         .codes = Codes::all,
         .data = 2,
         .weights = true},
};

}  // namespace

std::span<const Rule> convolution_rules() noexcept { return convolution_rows; }

}  // namespace quadrant::inline v0::tflite
