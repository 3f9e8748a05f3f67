// Resizing, and channels that become pixels.
#include <algorithm>
#include <array>
#include <cmath>

#include "io/tflite/failure.hpp"
#include "io/tflite/rules.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/opset.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

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
  if (scale == 1.0F) return extent;
  if (extent == Shape::dynamic) impossible("an unknown extent is resized");
  const double wanted = std::floor(static_cast<double>(extent) * static_cast<double>(scale));
  if (!(wanted >= 1 && wanted <= 1e6)) impossible("such scales");
  return static_cast<std::int64_t>(wanted);
}

/// The extents that a node Resize or Upsample asks for.
std::vector<std::int64_t> resized(const Lowering& lowering, const NodeRef& node,
                                  const Shape& shape) {
  const bool is_resize = node.kind() == "onnx.Resize";
  const bool has_roi = is_resize && opset_version(lowering.graph()) >= 11;
  const std::vector<std::int64_t> axes = named_axes(node, shape);
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  if (has_roi && !node.operand(3).is_absent()) {
    if (node.attribute_or<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch") {
      impossible("an aspect ratio that is kept");
    }
    std::vector<std::int64_t> sizes = lowering.integers(node.operand(3));
    std::ranges::replace(sizes, unknown_integer, Shape::dynamic);
    if (sizes.size() != axes.size()) invalid("sizes of other axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      extents[static_cast<std::size_t>(axes[i])] = sizes[i];
    }
    return extents;
  }
  std::vector<float> scales;
  const Value operand = node.operand(has_roi ? 2 : 1);
  if (!operand.is_absent()) {
    scales = lowering.reals(operand);
  } else {
    for (const double scale : node.attribute_or<std::vector<double>>("scales", {})) {
      scales.push_back(static_cast<float>(scale));
    }
  }
  if (scales.size() != axes.size()) invalid("scales of other axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& extent = extents[static_cast<std::size_t>(axes[i])];
    extent = scaled_extent(extent, scales[i]);
  }
  return extents;
}

/// What becomes of the image: which axes it is resized along, and to what.
struct Resizing {
  const Shape& from;
  const std::vector<std::int64_t>& to;
  std::vector<std::int64_t> axes;  ///< those whose extent changes, in their order
};

/// Where TFLite looks for the pixels of a resized image.
struct Sampling {
  bool align_corners = false;
  bool half_pixel_centers = false;
};

bool is_multiple(const Resizing& image) {
  return std::ranges::all_of(image.axes, [&](std::int64_t axis) {
    return image.to[static_cast<std::size_t>(axis)] % image.from[axis] == 0;
  });
}

bool makes_one_pixel(const Resizing& image) {
  return std::ranges::any_of(
      image.axes, [&](std::int64_t axis) { return image.to[static_cast<std::size_t>(axis)] == 1; });
}

Sampling sampling_of(const NodeRef& node, const Resizing& image, bool nearest, bool has_modes) {
  const auto coordinates = node.attribute_or<std::string>("coordinate_transformation_mode",
                                                          has_modes ? "half_pixel" : "asymmetric");
  const auto rounding =
      node.attribute_or<std::string>("nearest_mode", has_modes ? "round_prefer_floor" : "floor");
  const bool is_half = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
  if (coordinates == "align_corners" && (!nearest || rounding == "round_prefer_ceil")) {
    return {.align_corners = true};
  }
  if (coordinates == "pytorch_half_pixel" && makes_one_pixel(image)) {
    impossible("pytorch_half_pixel to one pixel");
  }
  if (!nearest) {
    if (is_half) return {.half_pixel_centers = true};
    if (coordinates == "asymmetric") return {};
  }
  // The nearest to a point in the middle of two is the same in all modes only if there is none.
  if (nearest && is_half &&
      (rounding == "round_prefer_ceil" ||
       (rounding == "round_prefer_floor" && is_multiple(image)))) {
    return {.half_pixel_centers = true};
  }
  if (nearest && coordinates == "asymmetric" && rounding == "floor") return {};
  impossible(fmt::format("mode {}, coordinates {}, rounding {}", nearest ? "nearest" : "linear",
                         coordinates, rounding));
}

/// An order of four axes whose second and third hold those that are resized: the one there is if it
/// does, else one that images usually have.
Axes image_axes(const Lowering& lowering, Value data, const std::vector<std::int64_t>& resized) {
  const auto holds = [&](const Axes& axes) {
    return std::ranges::all_of(
        resized, [&](std::int64_t axis) { return axes[1] == axis || axes[2] == axis; });
  };
  for (const Axes& axes : {lowering.axes(data), channels_last(4), plain_axes(4)}) {
    if (holds(axes)) return axes;
  }
  Axes middle(resized.begin(), resized.end());
  for (std::int32_t axis = 3; middle.size() < 2; --axis) {
    if (middle.front() != axis) middle.push_back(axis);
  }
  Axes others;
  for (std::int32_t axis = 0; axis < 4; ++axis) {
    if (std::ranges::find(middle, axis) == middle.end()) others.push_back(axis);
  }
  return {others[0], middle[0], middle[1], others[1]};
}

/// The extents as an image of those along the neighbours `axes`: what is before them is one axis,
/// and what is behind.
Shape merged_image(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> extents{1, 1, 1, 1};
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    std::size_t to = axis == axes.front() ? 1 : 2;
    if (axis < axes.front()) to = 0;
    if (axis > axes.back()) to = 3;
    extents[to] *= shape[axis];
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

void lower_resize(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  const std::vector<std::int64_t> extents = resized(lowering, node, shape);
  if (static_cast<std::int64_t>(extents.size()) != shape.rank()) invalid("sizes of other axes");
  Resizing image{.from = shape, .to = extents, .axes = {}};
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t wanted = extents[static_cast<std::size_t>(axis)];
    if (wanted == shape[axis]) continue;
    if (shape[axis] < 1 || wanted < 1) impossible("an unknown extent is resized");
    image.axes.push_back(axis);
  }
  const auto mode = node.attribute_or<std::string>("mode", "nearest");
  const bool nearest = mode == "nearest";
  if (!nearest && mode != "linear" && mode != "bilinear") impossible(fmt::format("mode {}", mode));
  if (node.attribute_or<std::int64_t>("antialias", 0) != 0) impossible("antialias");
  const bool has_modes = node.kind() == "onnx.Resize" && opset_version(lowering.graph()) >= 11;
  const Sampling sampling = sampling_of(node, image, nearest, has_modes);
  lowering.settle(node.result(), type.element, Shape(extents));
  if (image.axes.empty()) {
    lowering.alias(node.result(), data);
    return;
  }
  if (image.axes.size() > 2) impossible("more than two axes are resized");
  Model& model = lowering.model();
  if (shape.rank() == 4) {
    const Axes axes = image_axes(lowering, data, image.axes);
    const TensorId from = lowering.tensor(data, axes);
    emit_resize(model, sampling, nearest, from, lowering.define(node.result(), axes));
    return;
  }
  if (!shape.is_static() || image.axes.back() - image.axes.front() > 1) {
    impossible("an image of other than four axes, of unknown extents or with others between");
  }
  TensorType flat = type;
  flat.shape = merged_image(shape, image.axes);
  const TensorId from = lowering.temporary(node, "image", flat);
  lowering.reshape(lowering.in_plain_order(data), from);
  flat.shape = merged_image(Shape(extents), image.axes);
  const TensorId to = lowering.temporary(node, "image_result", flat);
  emit_resize(model, sampling, nearest, from, to);
  lowering.reshape(to, lowering.define(node.result(), plain_axes(shape.rank())));
}

BuiltinOperator resize_kernel(const Lowering& /*lowering*/, const NodeRef& node) {
  return node.attribute_or<std::string>("mode", "nearest") == "nearest" ? RESIZE_NEAREST_NEIGHBOR
                                                                        : RESIZE_BILINEAR;
}

void lower_depth_to_space(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  const auto block = node.attribute_or<std::int64_t>("blocksize", 0);
  if (shape.rank() != 4 || block < 1 || block > 1024 || shape[1] < 1 ||
      shape[1] % (block * block) != 0) {
    invalid("channels that are no blocks");
  }
  const auto larger = [&](std::int64_t extent) {
    return extent == Shape::dynamic ? extent : extent * block;
  };
  const std::int64_t channels = shape[1] / (block * block);
  lowering.settle(node.result(), type.element,
                  Shape{shape[0], channels, larger(shape[2]), larger(shape[3])});
  const Axes axes = channels_last(4);
  TensorId from = lowering.tensor(data, axes);
  Model& model = lowering.model();
  if (node.attribute_or<std::string>("mode", "DCR") == "CRD" && channels > 1) {
    // TFLite's order of channels is the other.
    std::vector<std::int32_t> order;
    for (std::int64_t i = 0; i < shape[1]; ++i) {
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
  lowering.settle(node.result(), lowering.type(data).element,
                  Shape{shape[0], shape[1] * block * block, shape[2] / block, shape[3] / block});
  const TensorId from = lowering.tensor(data, channels_last(4));
  schema::SpaceToDepthOptionsT options;
  options.block_size = static_cast<std::int32_t>(block);
  lowering.model().emit({SPACE_TO_DEPTH}, {from},
                        {lowering.define(node.result(), channels_last(4))}, options);
}

constexpr std::array image_rows{
    Rule{.kind = "onnx.Resize",
         .lower = lower_resize,
         .codes = Codes::all,
         .data = 1,
         .same = true,
         .kernel = resize_kernel},
    Rule{.kind = "onnx.Upsample",
         .lower = lower_resize,
         .codes = Codes::all,
         .data = 1,
         .same = true,
         .kernel = resize_kernel},
    Rule{.kind = "onnx.DepthToSpace",
         .lower = lower_depth_to_space,
         .code = DEPTH_TO_SPACE,
         .codes = Codes::all,
         .same = true},
    Rule{.kind = "onnx.SpaceToDepth",
         .lower = lower_space_to_depth,
         .code = SPACE_TO_DEPTH,
         .codes = Codes::all,
         .same = true},
};

}  // namespace

std::span<const Rule> image_rules() noexcept { return image_rows; }

}  // namespace quadrant::inline v0::tflite
