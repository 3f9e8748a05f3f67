#include "io/tflite/window.hpp"

#include <algorithm>
#include <limits>

#include "io/tflite/failure.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using Integers = std::vector<std::int64_t>;

Integers list(const NodeRef& node, std::string_view name, std::size_t size, std::int64_t fallback) {
  auto values = node.attribute_or<Integers>(name, {});
  if (values.empty()) values.assign(size, fallback);
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  if (values.size() != size || std::ranges::any_of(values, [](std::int64_t value) {
        return value < 0 || value > largest;
      })) {
    impossible(std::string(name) + " that do not fit the operand");
  }
  return values;
}

/// How many windows there are; the last may reach beyond the end where `ceil` is true, but has to
/// begin before it.
Extent count_of(const WindowAxis& axis, bool ceil) {
  if (!axis.extent.is_known()) return axis.extent;
  const std::int64_t extent = axis.extent.value();
  const std::int64_t room = extent + axis.before + axis.after - axis.reach();
  if (room < 0) impossible("windows that are larger than the operand");
  std::int64_t count = (room + (ceil ? axis.stride - 1 : 0)) / axis.stride + 1;
  if (ceil && (count - 1) * axis.stride >= extent + axis.before) --count;
  return count;
}

bool is_same(const WindowAxis& axis) {
  if (axis.is_open_same) return true;
  if (!axis.extent.is_known()) {
    return axis.stride == 1 && axis.before == (axis.reach() - 1) / 2 &&
           axis.before + axis.after == axis.reach() - 1;
  }
  const std::int64_t extent = axis.extent.value();
  const std::int64_t count = (extent + axis.stride - 1) / axis.stride;
  const std::int64_t total =
      std::max<std::int64_t>((count - 1) * axis.stride + axis.reach() - extent, 0);
  return surely_equal(axis.count, count) && axis.before == total / 2;
}

bool is_valid(const WindowAxis& axis) {
  if (axis.before != 0 || axis.is_open_same) return false;
  if (!axis.extent.is_known()) return axis.after == 0;
  const std::int64_t room = axis.extent.value() - axis.reach();
  return room >= 0 && surely_equal(axis.count, room / axis.stride + 1);
}

}  // namespace

std::vector<WindowAxis> read_windows(const NodeRef& node, const Shape& operand,
                                     const Integers& kernel, std::size_t most_axes) {
  const std::size_t count = kernel.size();
  if (operand.rank() != static_cast<std::int64_t>(count) + 2 || count < 1 || count > most_axes) {
    impossible(fmt::format("images of other than one to {} dimensions", most_axes));
  }
  const Integers strides = list(node, "strides", count, 1);
  const Integers dilations = list(node, "dilations", count, 1);
  const auto auto_pad = node.attribute_or<std::string>("auto_pad", "NOTSET");
  const bool is_explicit = auto_pad == "NOTSET" || auto_pad.empty();
  const Integers pads = is_explicit ? list(node, "pads", 2 * count, 0) : Integers(2 * count, 0);
  const bool ceil = node.attribute_or<std::int64_t>("ceil_mode", 0) != 0;

  std::vector<WindowAxis> axes(count);
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& axis = axes[i];
    axis = {.extent = operand.extents()[i + 2],
            .kernel = kernel[i],
            .stride = strides[i],
            .dilation = dilations[i],
            .before = pads[i],
            .after = pads[count + i]};
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1) impossible("empty windows");
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      axis.is_open_same = !axis.extent.is_known() && axis.stride != 1;
      if (axis.is_open_same && auto_pad == "SAME_LOWER") {
        impossible("auto_pad SAME_LOWER of an operand whose extents are not known");
      }
      const std::int64_t extent = axis.extent.value_or(1);  // any will do with a stride of 1
      const std::int64_t windows = (extent + axis.stride - 1) / axis.stride;
      const std::int64_t covered = (windows - 1) * axis.stride + axis.reach();
      const std::int64_t total = std::max<std::int64_t>(covered - extent, 0);
      axis.before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.after = total - axis.before;
    }
    if (ceil && !axis.extent.is_known() && axis.stride != 1) {
      impossible("ceil_mode of an operand whose extents are not known");
    }
    axis.count = count_of(axis, ceil);
    const Shape& stated = node.type().shape;
    if (ceil && stated.rank() == operand.rank() &&
        !may_equal(axis.count, stated.extents()[i + 2])) {
      impossible(
          "a window that begins in the padding, which the model counts, and runtimes do not");
    }
  }
  return axes;
}

WindowPadding padding_of(const std::vector<WindowAxis>& windows) {
  if (std::ranges::all_of(windows, is_valid)) return {schema::Padding::VALID, {}, {}};
  if (std::ranges::all_of(windows, is_same)) return {schema::Padding::SAME, {}, {}};
  return explicit_padding(windows);
}

WindowPadding explicit_padding(const std::vector<WindowAxis>& windows) {
  WindowPadding padding;
  for (const WindowAxis& axis : windows) {
    if (axis.is_open_same) impossible("auto_pad of an operand whose extents are not known");
    padding.before.push_back(axis.before);
    // As far as the last window reaches: rounding up may reach beyond the padding.
    if (!axis.extent.is_known()) {
      padding.after.push_back(axis.after);
      continue;
    }
    const std::int64_t end = (axis.count.value() - 1) * axis.stride + axis.reach();
    padding.after.push_back(std::max<std::int64_t>(end - axis.extent.value() - axis.before, 0));
  }
  return padding;
}

Shape image_shape(Extent batch, std::span<const Extent> spatial, Extent channels) {
  std::vector<Extent> extents{batch};
  if (spatial.size() == 1) extents.emplace_back(1);
  extents.insert(extents.end(), spatial.begin(), spatial.end());
  extents.push_back(channels);
  return Shape(std::move(extents));
}

namespace {

Shape image_shape_of(const Shape& shape) {
  return image_shape(shape[0], shape.extents().subspan(2), shape[1]);
}

}  // namespace

TensorId pad_image(Lowering& lowering, const NodeRef& node, TensorId tensor, const TensorType& type,
                   const WindowPadding& padding, bool lowest) {
  if (padding.before.empty()) return tensor;
  std::vector<Extent> spatial(type.shape.extents().begin() + 2, type.shape.extents().end());
  std::vector<std::int32_t> pads{0, 0};
  if (spatial.size() == 1) pads.insert(pads.end(), {0, 0});
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    spatial[i] = spatial[i].transformed(
        [&](std::int64_t extent) { return extent + padding.before[i] + padding.after[i]; });
    pads.push_back(static_cast<std::int32_t>(padding.before[i]));
    pads.push_back(static_cast<std::int32_t>(padding.after[i]));
  }
  pads.insert(pads.end(), {0, 0});
  TensorType padded = type;
  padded.shape = image_shape(type.shape[0], spatial, type.shape[1]);
  const TensorId to = lowering.temporary(node, "padded", padded);
  Model& model = lowering.model();
  const TensorId table =
      model.add_constant(lowering.name(node, "pads"),
                         Constant::from_values(ElementType::int32, Shape{padded.shape.rank(), 2},
                                               std::span<const std::int32_t>(pads)),
                         nullptr, plain_axes(2));
  if (!lowest) {
    model.emit({BuiltinOperator::PAD}, {tensor, table}, {to}, schema::PadOptionsT{});
    return to;
  }
  TensorId filling = no_tensor;
  if (type.element != ElementType::float32) {
    const std::int64_t code = integer_range(type.element).value_or(IntegerRange{}).min;
    filling =
        model.add_constant(lowering.name(node, "lowest"),
                           make_zero_points(type.element, Shape::scalar(), std::span(&code, 1)),
                           type.quantization, {});
  } else {
    filling = model.real(std::numeric_limits<float>::lowest());
  }
  model.emit({BuiltinOperator::PADV2}, {tensor, table, filling}, {to}, schema::PadV2OptionsT{});
  return to;
}

TensorId image_of(Lowering& lowering, const NodeRef& node, Value value) {
  const TensorType& type = lowering.type(value);
  const TensorId tensor = lowering.tensor(value, channels_last(type.shape.rank()));
  if (type.shape.rank() != 3) return tensor;
  const TensorId image = lowering.temporary(
      node, "image", {type.element, image_shape_of(type.shape), type.quantization});
  lowering.reshape(tensor, image, {0, no_axis, 1, 2});
  return image;
}

TensorId define_image(Lowering& lowering, const NodeRef& node, Value result) {
  const TensorType& type = lowering.type(result);
  const std::int64_t rank = type.shape.rank();
  if (rank != 3) return lowering.define(result, channels_last(rank));
  return lowering.temporary(node, "image_result",
                            {type.element, image_shape_of(type.shape), type.quantization});
}

void finish_image(Lowering& lowering, Value result, TensorId image) {
  const std::int64_t rank = lowering.shape(result).rank();
  if (rank != 3) return;
  lowering.reshape(image, lowering.define(result, channels_last(rank)), {0, 2, 3});
}

}  // namespace quadrant::inline v0::tflite
