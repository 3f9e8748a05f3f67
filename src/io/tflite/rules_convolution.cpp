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
  return {weights.known_extents().begin() + 2, weights.known_extents().end()};
}

/// Weights with two spatial axes, laid out as `axes`.
TensorId weights_of(Lowering& lowering, Value weights, const Axes& axes) {
  const TensorType& type = lowering.type(weights);
  if (type.shape.rank() == 4) return lowering.tensor(weights, axes);
  if (!lowering.is_free(weights)) impossible("weights of one spatial axis that are computed");
  const Shape shape{type.shape[0], type.shape[1], 1, type.shape[2]};
  const std::string name(lowering.graph().value_name(weights));
  if (const Constant* constant = lowering.constant(weights)) {
    return lowering.model().add_constant(name, constant->reshaped(shape), type.quantization, axes);
  }
  const std::vector<float> reals = lowering.reals(weights);
  return lowering.model().add_constant(
      name, Constant::from_values(ElementType::float32, shape, std::span<const float>(reals)),
      nullptr, axes);
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
  const std::int64_t channels = filters[0].value();
  const bool depthwise = group > 1 && surely_equal(filters[1], 1) && surely_equal(shape[1], group);

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

/// What a transposed convolution covers along each axis: here `count` is the result's extent.
std::vector<WindowAxis> turned_windows(const NodeRef& node, const Shape& shape,
                                       const Shape& filters, const Shape& wanted) {
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
  // The padding follows from the result's extents.
  const bool is_chosen =
      auto_pad.starts_with("SAME") || node.graph->attribute(node.id, "output_shape") != nullptr;
  std::vector<WindowAxis> windows;
  for (std::size_t i = 0; i < rank; ++i) {
    WindowAxis axis{.extent = shape.extents()[i + 2],
                    .kernel = filters.known_extents()[i + 2],
                    .stride = strides[i],
                    .before = pads[i],
                    .count = wanted.extents()[i + 2]};
    if (axis.stride < 1 || axis.before < 0) impossible("strides or pads below what there is");
    const std::int64_t full = (axis.extent.value() - 1) * axis.stride + axis.kernel + added[i];
    const std::int64_t cut = std::max<std::int64_t>(full - axis.count.value(), 0);
    if (is_chosen) axis.before = auto_pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
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
  model.emit({BuiltinOperator::STRIDED_SLICE},
             {from, model.integers(begin), model.integers(end), model.integers({1, 1, 1, 1})}, {to},
             schema::StridedSliceOptionsT{});
}

/// The shape of the result where only `auto_pad` tells.
void settle_turned(Lowering& lowering, const NodeRef& node, const Shape& shape,
                   const Shape& filters) {
  if (!node.attribute_or<std::string>("auto_pad", "NOTSET").starts_with("SAME")) return;
  const auto strides = node.attribute_or<std::vector<std::int64_t>>("strides", {});
  std::vector<Extent> extents{shape[0], filters[1]};
  for (std::size_t i = 2; i < shape.extents().size(); ++i) {
    const std::int64_t stride = i - 2 < strides.size() ? strides[i - 2] : 1;
    extents.push_back(
        shape.extents()[i].transformed([&](std::int64_t extent) { return extent * stride; }));
  }
  lowering.settle(node.result(), lowering.type(node.operand(0)).element, Shape(std::move(extents)));
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
  settle_turned(lowering, node, shape, filters);
  const Shape wanted = lowering.ranked(result);
  if (!shape.is_static() || !wanted.is_static()) impossible("images of unknown extents");
  const std::vector<WindowAxis> windows = turned_windows(node, shape, filters, wanted);
  const auto padding = turned_padding(windows);

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
  const TensorId extents = model.integers(model.tensor(whole).shape);
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
