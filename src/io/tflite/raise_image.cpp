// Convolutions, poolings and what else knows of images: NCHW in the graph.
#include <algorithm>
#include <array>

#include "io/tflite/failure.hpp"
#include "io/tflite/raise.hpp"
#include "io/tflite/steps.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

const Axes& nhwc() {
  static const Axes axes = channels_last(4);
  return axes;
}

/// The windows of an operator, one number for each axis.
struct RaisedWindow {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
};

bool is_image(const Raising& raising, TensorId id) {
  return id != no_tensor && raising.rank(id) == 4;
}

/// Attributes for the windows. SAME is written as pads where extents or strides tell them.
Attributes window_attributes(schema::Padding padding, const RaisedWindow& window,
                             const Shape& image) {
  const std::size_t axes = window.kernel.size();
  bool is_open = false;
  for (std::size_t i = 0; i < axes; ++i) {
    if (window.kernel[i] < 1 || window.stride[i] < 1 || window.dilation[i] < 1) {
      invalid("windows or strides of no extent");
    }
    is_open =
        is_open || (window.stride[i] != 1 && !image[static_cast<std::int64_t>(i) + 1].is_known());
  }
  Attributes attributes{{"strides", window.stride}, {"kernel_shape", window.kernel}};
  if (padding == schema::Padding::SAME && is_open) {
    attributes.set("auto_pad", std::string("SAME_UPPER"));
    return attributes;
  }
  std::vector<std::int64_t> pads(2 * axes, 0);
  for (std::size_t i = 0; padding == schema::Padding::SAME && i < axes; ++i) {
    // With a stride of 1 they are the same for all.
    const std::int64_t extent = image[static_cast<std::int64_t>(i) + 1].value_or(1);
    const std::int64_t count = (extent + window.stride[i] - 1) / window.stride[i];
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
    const std::int64_t total =
        std::max<std::int64_t>((count - 1) * window.stride[i] + reach - extent, 0);
    pads[i] = total / 2;
    pads[i + axes] = total - total / 2;
  }
  attributes.set("pads", std::move(pads));
  return attributes;
}

bool raise_convolution(Raising& raising, const RaisedOp& op, RaisedWindow window,
                       schema::Padding padding, const Axes& weight_axes, bool depthwise,
                       schema::ActivationFunctionType activation) {
  const TensorId data = op.input(0);
  const TensorId weights = op.input(1);
  if (!is_image(raising, data) || !is_image(raising, weights) || !is_image(raising, op.output())) {
    return false;
  }
  const Shape image = raising.type(data).shape;
  const Shape filters = raising.type(weights).shape;
  const std::int64_t channels = image[3].value_or(0);
  if (channels < 1 || filters.element_count().value_or(0) < 1) return false;
  window.kernel = {filters[1].value(), filters[2].value()};
  const std::int64_t read = filters[3].value();
  std::int64_t group = channels;
  if (!depthwise) {
    if (channels % read != 0) invalid("weights for other channels than the operand's");
    group = channels / read;
  } else if (!surely_equal(filters[0], 1) || read % channels != 0) {
    invalid("weights for other channels than the operand's");
  }
  Attributes attributes = window_attributes(padding, window, image);
  attributes.set("group", group);
  attributes.set("dilations", window.dilation);
  std::vector<Value> operands{raising.value(data, nhwc()), raising.value(weights, weight_axes)};
  if (op.input(2) != no_tensor) {
    if (raising.rank(op.input(2)) != 1) return false;
    operands.push_back(raising.plain(op.input(2)));
  }
  raising.add_activated(ops::Conv::kind, std::move(operands), op.output(), nhwc(), activation,
                        std::move(attributes));
  return true;
}

template <class Options>
RaisedWindow window_of(const Options& options) {
  return {.kernel = {},
          .stride = {options.stride_h(), options.stride_w()},
          .dilation = {options.dilation_h_factor(), options.dilation_w_factor()}};
}

bool raise_conv(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_Conv2DOptions();
  return options != nullptr &&
         raise_convolution(raising, op, window_of(*options), options->padding(), nhwc(), false,
                           options->fused_activation_function());
}

/// Weights are DHWIO.
bool raise_conv_3d(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_Conv3DOptions();
  const TensorId data = op.input(0);
  const TensorId weights = op.input(1);
  const auto is_volume = [&](TensorId id) { return id != no_tensor && raising.rank(id) == 5; };
  if (!options || !is_volume(data) || !is_volume(weights) || !is_volume(op.output()) ||
      raising.type(data).is_quantized() ||
      (op.input(2) != no_tensor && raising.rank(op.input(2)) != 1)) {
    return false;
  }
  const Shape filters = raising.type(weights).shape;
  if (filters.element_count().value_or(0) < 1) return false;
  const RaisedWindow window{
      .kernel = {filters[0].value(), filters[1].value(), filters[2].value()},
      .stride = {options->stride_d(), options->stride_h(), options->stride_w()},
      .dilation = {options->dilation_d_factor(), options->dilation_h_factor(),
                   options->dilation_w_factor()}};
  Attributes attributes = window_attributes(options->padding(), window, raising.type(data).shape);
  attributes.set("dilations", window.dilation);
  std::vector<Value> operands{raising.value(data, channels_last(5)),
                              raising.value(weights, {2, 3, 4, 1, 0})};
  if (op.input(2) != no_tensor) operands.push_back(raising.plain(op.input(2)));
  raising.add_activated(ops::Conv::kind, std::move(operands), op.output(), channels_last(5),
                        options->fused_activation_function(), std::move(attributes));
  return true;
}

bool raise_depthwise(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_DepthwiseConv2DOptions();
  return options != nullptr &&
         raise_convolution(raising, op, window_of(*options), options->padding(), {1, 2, 3, 0}, true,
                           options->fused_activation_function());
}

/// The padding of a transposed convolution along one axis, as ONNX has it.
struct TurnedAxis {
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::int64_t more = 0;  ///< `output_padding`
};

TurnedAxis turned_axis(std::int64_t extent, std::int64_t result, std::int64_t kernel,
                       std::int64_t stride, schema::Padding padding) {
  TurnedAxis axis;
  if (padding == schema::Padding::SAME) {
    const std::int64_t count = (result + stride - 1) / stride;
    axis.before = std::max<std::int64_t>((count - 1) * stride + kernel - result, 0) / 2;
  }
  const std::int64_t left = (extent - 1) * stride + kernel - axis.before - result;
  axis.after = std::max<std::int64_t>(left, 0);
  axis.more = std::max<std::int64_t>(-left, 0);
  return axis;
}

bool raise_transposed_conv(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_TransposeConvOptions();
  const TensorId weights = op.input(1);
  const TensorId data = op.input(2);
  const TensorId bias = op.input(3);
  if (!options || !is_image(raising, weights) || !is_image(raising, data) ||
      !is_image(raising, op.output()) || (bias != no_tensor && raising.rank(bias) != 1)) {
    return false;
  }
  const Shape image = raising.type(data).shape;
  const Shape filters = raising.type(weights).shape;
  const Shape result = raising.type(op.output()).shape;
  const auto stated = raising.integers(op.input(0));
  if (!image.is_static() || !result.is_static() || !stated ||
      !std::ranges::equal(*stated, result.known_extents())) {
    return false;
  }
  if (filters.element_count() == 0 || image.element_count() == 0 || result.element_count() == 0) {
    return false;
  }
  if (!surely_equal(image[0], result[0]) || !surely_equal(filters[3], image[3]) ||
      !surely_equal(filters[0], result[3])) {
    invalid("weights for other images than those of the operator");
  }
  const std::array<std::int64_t, 2> stride{options->stride_h(), options->stride_w()};
  std::vector<std::int64_t> pads(4, 0);
  std::vector<std::int64_t> more(2, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto at = static_cast<std::int64_t>(i) + 1;
    if (stride[i] < 1) invalid("strides of no extent");
    const TurnedAxis axis = turned_axis(image[at].value(), result[at].value(), filters[at].value(),
                                        stride[i], options->padding());
    if (axis.more >= stride[i] && axis.more > 0) return false;
    pads[i] = axis.before;
    pads[i + 2] = axis.after;
    more[i] = axis.more;
  }
  std::vector<Value> operands{raising.value(data, nhwc()), raising.value(weights, {1, 2, 3, 0})};
  if (bias != no_tensor) operands.push_back(raising.plain(bias));
  raising.add_activated(
      ops::ConvTranspose::kind, std::move(operands), op.output(), nhwc(),
      options->fused_activation_function(),
      {{"strides", std::vector<std::int64_t>(stride.begin(), stride.end())},
       {"pads", std::move(pads)},
       {"output_padding", std::move(more)},
       {"kernel_shape", std::vector<std::int64_t>{filters[1].value(), filters[2].value()}}});
  return true;
}

bool raise_pool(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_Pool2DOptions();
  if (!options || !is_image(raising, op.input(0)) || !is_image(raising, op.output())) return false;
  const Shape& image = raising.type(op.input(0)).shape;
  const RaisedWindow window{.kernel = {options->filter_height(), options->filter_width()},
                            .stride = {options->stride_h(), options->stride_w()},
                            .dilation = {1, 1}};
  Attributes attributes = window_attributes(options->padding(), window, image);
  const Value data = raising.value(op.input(0), nhwc());
  if (op.code != BuiltinOperator::L2_POOL_2D) {
    raising.add_activated(
        op.code == BuiltinOperator::MAX_POOL_2D ? ops::MaxPool::kind : ops::AveragePool::kind,
        {data}, op.output(), nhwc(), options->fused_activation_function(), std::move(attributes));
    return true;
  }
  // The root of the mean of squares.
  if (raising.type(op.input(0)).is_quantized()) return false;
  Steps steps(raising, op.output());
  const Value squares = steps.apply(ops::Multiply::kind, {data, data});
  const Value means = steps.apply(ops::AveragePool::kind, {squares}, std::move(attributes),
                                  raising.type_of(op.output(), nhwc()));
  raising.add_activated(ops::Sqrt::kind, {means}, op.output(), nhwc(),
                        options->fused_activation_function());
  return true;
}

template <class Options>
bool add_resize(Raising& raising, const RaisedOp& op, const Options* options,
                std::string_view mode) {
  const auto size = raising.integers(op.input(1));
  if (!options || !size || size->size() != 2 || !is_image(raising, op.input(0)) ||
      !is_image(raising, op.output())) {
    return false;
  }
  const Shape& image = raising.type(op.input(0)).shape;
  if (!image[0].is_known() || !image[3].is_known()) return false;
  std::string coordinates = options->half_pixel_centers() ? "half_pixel" : "asymmetric";
  if (options->align_corners()) coordinates = "align_corners";
  const bool rounds = options->half_pixel_centers() || options->align_corners();
  const std::string rounding = rounds ? "round_prefer_ceil" : "floor";
  const Value sizes =
      raising.integer_constant(raising.name(op.output()) + "_sizes",
                               {image[0].value(), image[3].value(), (*size)[0], (*size)[1]});
  raising.add(ops::Resize::kind, {raising.value(op.input(0), nhwc()), {}, {}, sizes}, op.output(),
              nhwc(),
              {{"mode", std::string(mode)},
               {"coordinate_transformation_mode", std::move(coordinates)},
               {"nearest_mode", rounding}});
  return true;
}

bool raise_resize(Raising& raising, const RaisedOp& op) {
  if (op.code == BuiltinOperator::RESIZE_BILINEAR) {
    return add_resize(raising, op, op.op->builtin_options_as_ResizeBilinearOptions(), "linear");
  }
  return add_resize(raising, op, op.op->builtin_options_as_ResizeNearestNeighborOptions(),
                    "nearest");
}

bool raise_depth_to_space(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_DepthToSpaceOptions();
  if (!options || !is_image(raising, op.input(0)) || !is_image(raising, op.output())) return false;
  raising.add(ops::DepthToSpace::kind, {raising.value(op.input(0), nhwc())}, op.output(), nhwc(),
              {{"blocksize", std::int64_t{options->block_size()}}, {"mode", std::string("DCR")}});
  return true;
}

/// Blocks that do not fill the image are no operation of ONNX.
bool raise_space_to_depth(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_SpaceToDepthOptions();
  if (!options || !is_image(raising, op.input(0)) || !is_image(raising, op.output())) return false;
  const Shape& image = raising.type(op.input(0)).shape;
  const std::int64_t block = options->block_size();
  if (block < 1) return false;
  for (const Extent extent : {image[1], image[2]}) {
    if (!extent.is_known() || extent.value() % block != 0) return false;
  }
  raising.add(ops::SpaceToDepth::kind, {raising.value(op.input(0), nhwc())}, op.output(), nhwc(),
              {{"blocksize", block}});
  return true;
}

constexpr std::array raise_image_rows{
    RaiseRule{BuiltinOperator::CONV_2D, raise_conv},
    RaiseRule{BuiltinOperator::DEPTHWISE_CONV_2D, raise_depthwise},
    RaiseRule{BuiltinOperator::TRANSPOSE_CONV, raise_transposed_conv},
    RaiseRule{BuiltinOperator::MAX_POOL_2D, raise_pool},
    RaiseRule{BuiltinOperator::AVERAGE_POOL_2D, raise_pool},
    RaiseRule{BuiltinOperator::L2_POOL_2D, raise_pool},
    RaiseRule{BuiltinOperator::CONV_3D, raise_conv_3d},
    RaiseRule{BuiltinOperator::RESIZE_BILINEAR, raise_resize},
    RaiseRule{BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, raise_resize},
    RaiseRule{BuiltinOperator::DEPTH_TO_SPACE, raise_depth_to_space},
    RaiseRule{BuiltinOperator::SPACE_TO_DEPTH, raise_space_to_depth},
};

}  // namespace

std::span<const RaiseRule> raise_image_rules() noexcept { return raise_image_rows; }

}  // namespace quadrant::inline v0::tflite
