// Convolutions: NHWC, with weights OHWI, or 1HWO where each channel has filters of its own.
#include <algorithm>
#include <array>

#include "io/tflite/bias.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/rules.hpp"
#include "io/tflite/window.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

std::vector<std::int64_t> kernel_of(const Shape& weights) {
  if (!weights.is_static() || weights.rank() < 3) impossible("weights of unknown extents");
  return {weights.known_extents().begin() + 2, weights.known_extents().end()};
}

/// Whether scales lie along the spatial axis of weights that have one: no axis of the longer shape
/// is the same.
bool has_scales_in_space(const Lowering& lowering, Value weights) {
  const NodeRef node = lowering.graph().ref(weights.node);
  if (node.kind() != ops::Dequantize::kind) return false;
  const Granularity groups = granularity_of(lowering.type(node.operand(0)).quantization);
  return groups.kind != Granularity::Kind::tensor && groups.axis == 2;
}

/// Weights with two spatial axes, laid out as `axes`: of one, that is the second.
TensorId weights_of(Lowering& lowering, Value weights, const Axes& axes) {
  const TensorType& type = lowering.type(weights);
  if (type.shape.rank() != 3) return lowering.tensor(weights, axes);
  const Shape shape{type.shape[0], type.shape[1], 1, type.shape[2]};
  if (lowering.is_free(weights) && !has_scales_in_space(lowering, weights)) {
    return lowering.free_tensor(weights, axes, shape);
  }
  if (type.is_quantized()) impossible("codes as weights of one spatial axis that are computed");
  Axes of_three;
  for (const auto axis : axes) {
    if (axis != 2) of_three.push_back(axis == 3 ? 2 : axis);
  }
  const std::string name(lowering.graph().value_name(weights));
  const TensorId to =
      lowering.model().add_tensor(name + "_of_two_axes", {type.element, shape, nullptr}, axes);
  lowering.reshape(lowering.tensor(weights, of_three), to);
  return to;
}

/// NDHWC, with weights DHWIO.
void lower_conv_3d(Lowering& lowering, const NodeRef& node) {
  const Value data = node.operand(0);
  const Value weights = node.operand(1);
  const Shape shape = lowering.ranked(data);
  const Shape filters = lowering.ranked(weights);
  const std::vector<WindowAxis> windows = read_windows(node, shape, kernel_of(filters), 3);
  if (node.attribute_or<std::int64_t>("group", 1) != 1) impossible("groups in three dimensions");
  std::vector<Extent> extents{shape[0], filters[0]};
  for (const WindowAxis& axis : windows) extents.push_back(axis.count);
  lowering.settle(node.result(), lowering.type(data).element, Shape(std::move(extents)));
  const WindowPadding padding = padding_of(windows);
  const TensorId image = pad_image(lowering, node, image_of(lowering, node, data),
                                   lowering.type(data), padding, false);
  const TensorId filter = lowering.tensor(weights, {2, 3, 4, 1, 0});
  const TensorId bias = bias_of(lowering, node, data, weights, node.operand(2), filters[0].value());
  schema::Conv3DOptionsT options;
  options.padding = padding.padding;
  const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  options.stride_d = narrow(windows[0].stride);
  options.stride_h = narrow(windows[1].stride);
  options.stride_w = narrow(windows[2].stride);
  options.dilation_d_factor = narrow(windows[0].dilation);
  options.dilation_h_factor = narrow(windows[1].dilation);
  options.dilation_w_factor = narrow(windows[2].dilation);
  lowering.model().emit({BuiltinOperator::CONV_3D}, {image, filter, bias},
                        {define_image(lowering, node, node.result())}, options);
}

/// Of volumes there is no kernel for codes.
BuiltinOperator conv_kernel(const Lowering& lowering, const NodeRef& node) {
  const Shape& shape = lowering.ranked(node.operand(0));
  const Shape& filters = lowering.ranked(node.operand(1));
  if (shape.rank() == 5) return BuiltinOperator::CONV_3D;
  const auto group = node.attribute_or<std::int64_t>("group", 1);
  const bool is_depthwise = group > 1 && std::min(shape.rank(), filters.rank()) > 1 &&
                            surely_equal(filters[1], 1) && surely_equal(shape[1], group);
  return is_depthwise ? BuiltinOperator::DEPTHWISE_CONV_2D : BuiltinOperator::CONV_2D;
}

void lower_conv(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const BuiltinOperator kernel = conv_kernel(lowering, node);
  if (kernel == BuiltinOperator::CONV_3D) {
    lower_conv_3d(lowering, node);
    return;
  }
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
  const std::int64_t channels = filters[0].value();
  const bool depthwise = kernel == BuiltinOperator::DEPTHWISE_CONV_2D;

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
    model.emit({BuiltinOperator::DEPTHWISE_CONV_2D}, {image, filter, bias}, {output}, options);
  } else {
    model.emit({BuiltinOperator::CONV_2D}, {image, filter, bias}, {output},
               fill(schema::Conv2DOptionsT{}));
  }
  finish_image(lowering, result, output);
}

/// The padding of the convolution that a transposed one turns around. Empty where TFLite has none.
std::optional<schema::Padding> turned_padding(const std::vector<WindowAxis>& windows) {
  bool valid = true;
  bool same = true;
  for (const WindowAxis& axis : windows) {
    const std::int64_t count = axis.count.value();
    const std::int64_t full = (axis.extent.value() - 1) * axis.stride + axis.reach();
    const std::int64_t more = count - full;  // a border that no window reaches
    valid = valid && axis.before == 0 && more >= 0 && more < axis.stride;
    same = same && axis.before == std::max<std::int64_t>(full - count, 0) / 2 &&
           surely_equal(axis.extent, (count + axis.stride - 1) / axis.stride);
  }
  if (valid) return schema::Padding::VALID;
  if (same) return schema::Padding::SAME;
  return std::nullopt;
}

/// What a transposed convolution covers along each axis, as ONNX Runtime has it where ONNX's text
/// says several things: here `count` is the result's extent.
std::vector<WindowAxis> turned_windows(const NodeRef& node, const Shape& shape,
                                       const Shape& filters) {
  const std::size_t rank = filters.extents().size() - 2;
  const auto list = [&](std::string_view name, std::size_t size, std::int64_t fallback) {
    auto values = node.attribute_or<std::vector<std::int64_t>>(name, {});
    if (values.empty()) values.assign(size, fallback);
    if (values.size() != size) invalid(std::string(name) + " of other axes");
    return values;
  };
  const auto strides = list("strides", rank, 1);
  const auto pads = list("pads", 2 * rank, 0);
  if (std::ranges::any_of(list("dilations", rank, 1), [](std::int64_t d) { return d != 1; })) {
    impossible("dilations");
  }
  const auto added = list("output_padding", rank, 0);
  const auto auto_pad = node.attribute_or<std::string>("auto_pad", "NOTSET");
  const bool is_explicit = auto_pad == "NOTSET" || auto_pad.empty();
  auto stated = node.attribute_or<std::vector<std::int64_t>>("output_shape", {});
  // Some exporters state batch and channels, too.
  if (stated.size() == rank + 2) stated.erase(stated.begin(), stated.begin() + 2);
  if (!stated.empty() && stated.size() != rank) invalid("an output_shape of other axes");
  std::vector<WindowAxis> windows;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = shape.extents()[i + 2].known();
    if (!extent) impossible("images of unknown extents");
    WindowAxis axis{
        .extent = *extent, .kernel = filters.known_extents()[i + 2], .stride = strides[i]};
    if (axis.stride < 1 || pads[i] < 0 || pads[i + rank] < 0 || added[i] < 0) {
      impossible("strides or pads below what there is");
    }
    const std::int64_t full = (*extent - 1) * axis.stride + axis.kernel + added[i];
    std::int64_t count = 0;
    if (!stated.empty() || auto_pad.starts_with("SAME")) {
      // The padding follows from the result's extent.
      const std::int64_t wanted = stated.empty() ? *extent * axis.stride : stated[i];
      const std::int64_t cut = std::max<std::int64_t>(full - wanted, 0);
      axis.before = auto_pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      count = stated.empty() ? full - cut : wanted;
    } else {
      axis.before = is_explicit ? pads[i] : 0;
      count = full - axis.before - (is_explicit ? pads[i + rank] : 0);
    }
    if (count < 1) impossible("pads that leave nothing");
    axis.count = count;
    windows.push_back(axis);
  }
  return windows;
}

/// The whole result of a transposed convolution without padding, with what `output_padding` adds
/// behind it, of which the wanted part is a slice.
std::vector<Extent> whole_extents(const std::vector<WindowAxis>& windows) {
  std::vector<Extent> whole;
  for (const WindowAxis& axis : windows) {
    const std::int64_t full = (axis.extent.value() - 1) * axis.stride + axis.kernel;
    const std::int64_t all = std::max(full, axis.before + axis.count.value());
    whole.push_back(all);
    if (all - full >= axis.stride) impossible("an output_padding of a stride or more");
  }
  return whole;
}

void emit_crop(Lowering& lowering, TensorId from, const std::vector<WindowAxis>& windows,
               TensorId to) {
  std::vector<std::int32_t> begin{0};
  if (windows.size() == 1) begin.push_back(0);
  for (const WindowAxis& axis : windows) begin.push_back(static_cast<std::int32_t>(axis.before));
  begin.push_back(0);
  Model& model = lowering.model();
  std::vector<std::int32_t> end = model.tensor(to).shape;
  for (std::size_t i = 0; i < end.size(); ++i) end[i] += begin[i];
  schema::StridedSliceOptionsT options;
  options.end_mask = 1;  // all of the batch, whose extent may be open
  model.emit({BuiltinOperator::STRIDED_SLICE},
             {from, model.integers(begin), model.integers(end), model.integers({1, 1, 1, 1})}, {to},
             options);
}

void lower_conv_transpose(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Value weights = node.operand(1);
  const Value result = node.result();
  const Shape shape = lowering.ranked(data);
  const Shape filters = lowering.ranked(weights);
  if (node.attribute_or<std::int64_t>("group", 1) != 1) impossible("groups");
  if (shape.rank() != filters.rank() || shape.rank() < 3 || shape.rank() > 4) {
    impossible("images of other than one or two dimensions");
  }
  if (!filters.is_static()) impossible("weights of unknown extents");
  const std::vector<WindowAxis> windows = turned_windows(node, shape, filters);
  const auto padding = turned_padding(windows);
  std::vector<Extent> turned{shape[0], filters[1]};
  for (const WindowAxis& axis : windows) turned.push_back(axis.count);
  lowering.settle(result, lowering.type(data).element, Shape(std::move(turned)));

  const TensorId image = image_of(lowering, node, data);
  const TensorId filter = weights_of(lowering, weights, {1, 2, 3, 0});
  const TensorId bias = bias_of(lowering, node, data, weights, node.operand(2), filters[1].value());
  const TensorId output = define_image(lowering, node, result);
  Model& model = lowering.model();
  TensorId whole = output;
  if (!padding) {
    lowering.decomposed(node, "a TRANSPOSE_CONV without padding, and a STRIDED_SLICE");
    TensorType type = lowering.type(result);
    type.shape = image_shape(shape[0], whole_extents(windows), filters[1]);
    whole = lowering.temporary(node, "whole", type);
  }
  const TensorId extents = lowering.extents(image, whole, {0, no_axis, no_axis, no_axis});
  schema::TransposeConvOptionsT options;
  options.padding = padding.value_or(schema::Padding::VALID);
  options.stride_h =
      windows.size() == 2 ? static_cast<std::int32_t>(windows.front().stride) : std::int32_t{1};
  options.stride_w = static_cast<std::int32_t>(windows.back().stride);
  model.emit({BuiltinOperator::TRANSPOSE_CONV}, {extents, filter, image, bias}, {whole}, options);
  if (!padding) emit_crop(lowering, whole, windows, output);
  finish_image(lowering, result, output);
}

constexpr std::array convolution_rows{
    Rule{.kind = ops::Conv::kind,
         .lower = lower_conv,
         .code = BuiltinOperator::CONV_2D,
         .codes = Codes::all,
         .data = 2,
         .weights = true,
         .kernel = conv_kernel},
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
