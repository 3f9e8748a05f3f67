// Resizing, and channels that become pixels.
#include <algorithm>
#include <array>
#include <cmath>

#include "io/tflite/elementwise.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/resampling.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "ir/opset.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// Whether the node says how it finds pixels, and has an operand for a region.
bool has_coordinate_modes(const Lowering& lowering, const NodeRef& node) {
  return node.kind() == ops::Resize::kind && opset_version(lowering.graph()) >= 11;
}

/// The axes that the scales or sizes of a node are for.
std::vector<std::int64_t> named_axes(const NodeRef& node, const Shape& shape) {
  auto axes = node.attribute_or<std::vector<std::int64_t>>("axes", {});
  for (std::int64_t& axis : axes) {
    const auto found = normalize_axis(axis, shape.rank());
    if (!found) invalid("an axis outside of the operand");
    axis = *found;
  }
  if (axes.empty()) {
    const Axes all = plain_axes(shape.rank());
    axes.assign(all.begin(), all.end());
  }
  return axes;
}

std::int64_t scaled_extent(std::int64_t extent, float scale) {
  // In float32, as ONNX Runtime: 20 times 0.7 is 14, and in float64 less.
  const float wanted = std::floor(static_cast<float>(extent) * scale);
  const bool is_extent = wanted >= 1 && wanted <= 1e6;  // false for what is no number
  if (!is_extent) impossible("such scales");
  return static_cast<std::int64_t>(wanted);
}

/// What becomes of the image.
struct Resizing {
  std::vector<Extent> extents;
  std::vector<ResizedAxis> axes;  ///< those that it is resized along, in their order
};

std::vector<float> given_scales(const Lowering& lowering, const NodeRef& node, Value operand) {
  if (!operand.is_absent()) return lowering.reals(operand);
  std::vector<float> scales;
  for (const double scale : node.attribute_or<std::vector<double>>("scales", {})) {
    scales.push_back(static_cast<float>(scale));
  }
  return scales;
}

/// What a node Resize or Upsample asks for.
Resizing resized(const Lowering& lowering, const NodeRef& node, const Shape& shape) {
  const bool has_roi = has_coordinate_modes(lowering, node);
  const std::vector<std::int64_t> axes = named_axes(node, shape);
  Resizing image{.extents = {shape.extents().begin(), shape.extents().end()}, .axes = {}};
  const bool has_sizes = has_roi && !node.operand(3).is_absent();
  IntegerList sizes;
  std::vector<float> scales;
  if (has_sizes) {
    if (node.attribute_or<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch") {
      impossible("an aspect ratio that is kept");
    }
    auto known = lowering.open_integers(node.operand(3));
    if (!known) impossible("sizes that are computed");
    sizes = *std::move(known);
  } else {
    scales = given_scales(lowering, node, node.operand(has_roi ? 2 : 1));
  }
  if ((has_sizes ? sizes.size() : scales.size()) != axes.size()) invalid("sizes of other axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Extent given = shape[axes[i]];
    const bool is_kept = has_sizes ? is_extent(lowering.graph(), sizes[i], node.operand(0), axes[i])
                                   : scales[i] == 1.0F;
    if (is_kept) continue;
    if (!given.is_known() || (has_sizes && !sizes[i].number)) {
      impossible("sizes or an operand whose extents are known only at run time");
    }
    const std::int64_t from = given.value();
    const std::int64_t to = has_sizes ? *sizes[i].number : scaled_extent(from, scales[i]);
    if (from < 1 || to < 1) impossible("an empty image");
    image.extents[static_cast<std::size_t>(axes[i])] = to;
    const float scale = has_sizes ? static_cast<float>(to) / static_cast<float>(from) : scales[i];
    image.axes.push_back({.axis = axes[i], .from = from, .to = to, .scale = scale});
  }
  std::ranges::sort(image.axes, {}, &ResizedAxis::axis);
  return image;
}

/// Where TFLite looks for the pixels of a resized image.
struct Sampling {
  bool align_corners = false;
  bool half_pixel_centers = false;
};

/// How TFLite's operators do the same; empty where they do not.
std::optional<Sampling> sampling_of(const Resampling& how, const Resizing& image) {
  const bool is_nearest = how.mode == "nearest";
  if (!is_nearest && how.mode != "linear") return std::nullopt;
  // TFLite's scale is the quotient of the extents.
  const auto is_quotient = [](const ResizedAxis& axis) {
    const auto quotient = static_cast<float>(axis.to) / static_cast<float>(axis.from);
    return std::abs(quotient - axis.scale) <= 1e-6F * axis.scale;
  };
  const bool is_one_pixel = std::ranges::find(image.axes, 1, &ResizedAxis::to) != image.axes.end();
  const bool is_pytorch = how.coordinates == "pytorch_half_pixel";
  const bool is_half = how.coordinates == "half_pixel" || (is_pytorch && !is_one_pixel);
  const bool is_asymmetric = how.coordinates == "asymmetric";
  if (how.coordinates == "align_corners") {
    const bool is_same = !is_nearest || how.rounding == "round_prefer_ceil";
    return is_same && !is_one_pixel ? std::optional(Sampling{.align_corners = true}) : std::nullopt;
  }
  if (!std::ranges::all_of(image.axes, is_quotient)) return std::nullopt;
  if (!is_nearest) {
    if (is_half) return Sampling{.half_pixel_centers = true};
    return is_asymmetric ? std::optional(Sampling{}) : std::nullopt;
  }
  // The nearest to a point in the middle of two is the same in all modes only if there is none.
  const auto is_multiple = [](const ResizedAxis& axis) { return axis.to % axis.from == 0; };
  if (is_half &&
      (how.rounding == "round_prefer_ceil" ||
       (how.rounding == "round_prefer_floor" && std::ranges::all_of(image.axes, is_multiple)))) {
    return Sampling{.half_pixel_centers = true};
  }
  return is_asymmetric && how.rounding == "floor" ? std::optional(Sampling{}) : std::nullopt;
}

/// An order of four axes whose second and third hold those that are resized: the one there is if it
/// does, else one that images usually have.
Axes image_axes(const Lowering& lowering, Value data, const std::vector<ResizedAxis>& resized) {
  const auto holds = [&](const Axes& axes) {
    return std::ranges::all_of(resized, [&](const ResizedAxis& found) {
      return axes[1] == found.axis || axes[2] == found.axis;
    });
  };
  for (const Axes& axes : {lowering.axes(data), channels_last(4), plain_axes(4)}) {
    if (holds(axes)) return axes;
  }
  Axes middle;
  for (const ResizedAxis& found : resized) middle.push_back(static_cast<std::int32_t>(found.axis));
  for (std::int32_t axis = 3; middle.size() < 2; --axis) {
    if (middle.front() != axis) middle.push_back(axis);
  }
  Axes others;
  for (std::int32_t axis = 0; axis < 4; ++axis) {
    if (std::ranges::find(middle, axis) == middle.end()) others.push_back(axis);
  }
  return {others[0], middle[0], middle[1], others[1]};
}

/// Whether the axes are those of an image whose extents are known: two of four, or neighbours in
/// others.
bool is_planar(const Lowering& lowering, Value data, const Resizing& image) {
  const Shape& shape = lowering.shape(data);
  if (image.axes.size() > 2) return false;
  if (shape.rank() == 4) {
    const Axes axes = image_axes(lowering, data, image.axes);
    return shape[axes[1]].is_known() && shape[axes[2]].is_known();
  }
  return shape.is_static() && image.axes.back().axis - image.axes.front().axis <= 1;
}

/// The extents as an image of those along the neighbours `axes`: what is before them is one axis,
/// and what is behind.
Shape merged_image(const Shape& shape, const std::vector<ResizedAxis>& axes) {
  std::vector<std::int64_t> extents{1, 1, 1, 1};
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    std::size_t to = axis == axes.front().axis ? 1 : 2;
    if (axis < axes.front().axis) to = 0;
    if (axis > axes.back().axis) to = 3;
    extents[to] *= shape[axis].value();
  }
  return Shape(std::move(extents));
}

void emit_resize(Model& model, const Sampling& sampling, bool nearest, TensorId from, TensorId to) {
  const std::vector<std::int32_t> shape = model.tensor(to).shape;
  const TensorId size = model.integers({shape[1], shape[2]});
  const auto fill = [&](auto options) {
    options.align_corners = sampling.align_corners;
    options.half_pixel_centers = sampling.half_pixel_centers;
    return options;
  };
  if (nearest) {
    model.emit({RESIZE_NEAREST_NEIGHBOR}, {from, size}, {to},
               fill(schema::ResizeNearestNeighborOptionsT{}));
  } else {
    model.emit({RESIZE_BILINEAR}, {from, size}, {to}, fill(schema::ResizeBilinearOptionsT{}));
  }
}

/// The sum of a tap's pixels along one axis, each times its factor.
TensorId emit_taps(Lowering& lowering, const NodeRef& node, TensorId from, const TensorType& type,
                   const std::vector<Tap>& taps, std::int32_t along) {
  Model& model = lowering.model();
  TensorId sum = no_tensor;
  for (const Tap& tap : taps) {
    TensorId part = lowering.temporary(node, "pixels", type);
    schema::GatherOptionsT options;
    options.axis = along;
    model.emit({GATHER}, {from, model.integers(tap.pixels)}, {part}, options);
    if (!tap.factors.empty()) {
      std::vector<std::int64_t> extents(static_cast<std::size_t>(type.shape.rank()), 1);
      extents[static_cast<std::size_t>(along)] = static_cast<std::int64_t>(tap.factors.size());
      const TensorId factors =
          model.add_constant(lowering.name(node, "factors"),
                             Constant::from_values(ElementType::float32, Shape(extents),
                                                   std::span<const float>(tap.factors)),
                             nullptr, plain_axes(type.shape.rank()));
      const TensorId product = lowering.temporary(node, "weighted", type);
      emit_elementwise(model, MUL, {part, factors}, product);
      part = product;
    }
    if (sum != no_tensor) {
      const TensorId next = lowering.temporary(node, "summed", type);
      emit_elementwise(model, ADD, {sum, part}, next);
      part = next;
    }
    sum = part;
  }
  return sum;
}

/// One axis after the other, pixel by pixel.
void resize_by_taps(Lowering& lowering, const NodeRef& node, const Resampling& how,
                    const Resizing& image) {
  const Value data = node.operand(0);
  TensorType type = lowering.type(data);
  lowering.decomposed(node, how.mode == "nearest" ? "GATHER along each axis"
                                                  : "GATHER, MUL and ADD along each axis");
  const Axes axes = lowering.axes(data);
  std::vector<Extent> extents(type.shape.extents().begin(), type.shape.extents().end());
  TensorId tensor = lowering.tensor(data, axes);
  for (const ResizedAxis& axis : image.axes) {
    extents[static_cast<std::size_t>(axis.axis)] = axis.to;
    type.shape = arranged(Shape(extents), axes);
    tensor = emit_taps(lowering, node, tensor, type, taps_of(how, axis), position(axes, axis.axis));
  }
  lowering.model().tensor(tensor).name = std::string(lowering.graph().value_name(node.result()));
  lowering.alias(node.result(), tensor, axes);
}

BuiltinOperator resize_kernel(const Lowering& lowering, const NodeRef& node) {
  const Shape& shape = lowering.ranked(node.operand(0));
  const Resizing image = resized(lowering, node, shape);
  const Resampling how = resampling_of(node, has_coordinate_modes(lowering, node));
  const bool is_nearest = how.mode == "nearest";
  if (image.axes.empty()) return RESHAPE;
  if (is_planar(lowering, node.operand(0), image) && sampling_of(how, image)) {
    return is_nearest ? RESIZE_NEAREST_NEIGHBOR : RESIZE_BILINEAR;
  }
  return is_nearest ? GATHER : CUSTOM;
}

void lower_resize(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  const Resizing image = resized(lowering, node, shape);
  const Resampling how = resampling_of(node, has_coordinate_modes(lowering, node));
  lowering.settle(node.result(), type.element, Shape(image.extents));
  if (image.axes.empty()) {
    lowering.alias(node.result(), data);
    return;
  }
  const auto sampling = sampling_of(how, image);
  if (!sampling || !is_planar(lowering, data, image)) {
    resize_by_taps(lowering, node, how, image);
    return;
  }
  const bool is_nearest = how.mode == "nearest";
  Model& model = lowering.model();
  if (shape.rank() == 4) {
    const Axes axes = image_axes(lowering, data, image.axes);
    const TensorId from = lowering.tensor(data, axes);
    emit_resize(model, *sampling, is_nearest, from, lowering.define(node.result(), axes));
    return;
  }
  TensorType flat = type;
  flat.shape = merged_image(shape, image.axes);
  const TensorId from = lowering.temporary(node, "image", flat);
  lowering.reshape(lowering.in_plain_order(data), from);
  flat.shape = merged_image(Shape(image.extents), image.axes);
  const TensorId to = lowering.temporary(node, "image_result", flat);
  emit_resize(model, *sampling, is_nearest, from, to);
  lowering.reshape(to, lowering.define(node.result(), plain_axes(shape.rank())));
}

void lower_depth_to_space(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  const auto block = node.attribute_or<std::int64_t>("blocksize", 0);
  if (shape.rank() != 4 || !shape[1].is_known()) impossible("channels of an unknown number");
  const std::int64_t all = shape[1].value();
  if (block < 1 || block > 1024 || all % (block * block) != 0) {
    invalid("channels that are no blocks");
  }
  const auto larger = [&](Extent given) {
    return given.transformed(
        [&](std::int64_t extent) { return saturating_multiply(extent, block); });
  };
  const std::int64_t channels = all / (block * block);
  lowering.settle(node.result(), type.element,
                  Shape{shape[0], channels, larger(shape[2]), larger(shape[3])});
  const Axes axes = channels_last(4);
  TensorId from = lowering.tensor(data, axes);
  Model& model = lowering.model();
  if (node.attribute_or<std::string>("mode", "DCR") == "CRD" && channels > 1) {
    // TFLite's order of channels is the other.
    std::vector<std::int32_t> order;
    order.reserve(static_cast<std::size_t>(all));
    for (std::int64_t i = 0; i < all; ++i) {
      order.push_back(static_cast<std::int32_t>(i % channels * block * block + i / channels));
    }
    lowering.decomposed(node, "a GATHER of the channels and a DEPTH_TO_SPACE");
    TensorType same = type;
    same.shape = arranged(shape, axes);
    const TensorId ordered = lowering.temporary(node, "ordered", same);
    schema::GatherOptionsT gather;
    gather.axis = 3;
    model.emit({GATHER}, {from, model.integers(order)}, {ordered}, gather);
    from = ordered;
  }
  schema::DepthToSpaceOptionsT options;
  options.block_size = static_cast<std::int32_t>(block);
  model.emit({DEPTH_TO_SPACE}, {from}, {lowering.define(node.result(), axes)}, options);
}

void lower_space_to_depth(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  const auto block = node.attribute_or<std::int64_t>("blocksize", 0);
  if (shape.rank() != 4 || block < 1 || block > 1024 || !shape.is_static()) {
    impossible("images of unknown extents");
  }
  if (node.attribute_or<std::string>("mode", "DCR") == "CRD" && !surely_equal(shape[1], 1)) {
    impossible("another order of the channels than TFLite's");
  }
  lowering.settle(node.result(), lowering.type(data).element,
                  Shape{shape[0], saturating_multiply(shape[1].value(), block * block),
                        shape[2].value() / block, shape[3].value() / block});
  const TensorId from = lowering.tensor(data, channels_last(4));
  schema::SpaceToDepthOptionsT options;
  options.block_size = static_cast<std::int32_t>(block);
  lowering.model().emit({SPACE_TO_DEPTH}, {from},
                        {lowering.define(node.result(), channels_last(4))}, options);
}

constexpr std::array image_rows{
    Rule{.kind = ops::Resize::kind,
         .lower = lower_resize,
         .codes = Codes::all,
         .data = 1,
         .same = true,
         .kernel = resize_kernel},
    Rule{.kind = ops::Upsample::kind,
         .lower = lower_resize,
         .codes = Codes::all,
         .data = 1,
         .same = true,
         .kernel = resize_kernel},
    Rule{.kind = ops::DepthToSpace::kind,
         .lower = lower_depth_to_space,
         .code = DEPTH_TO_SPACE,
         .codes = Codes::all,
         .same = true},
    Rule{.kind = ops::SpaceToDepth::kind,
         .lower = lower_space_to_depth,
         .code = SPACE_TO_DEPTH,
         .codes = Codes::all,
         .same = true},
};

}  // namespace

std::span<const Rule> image_rules() noexcept { return image_rows; }

}  // namespace quadrant::inline v0::tflite
