// Shapes of operations that are carried as ONNX calls them. https://onnx.ai/onnx/operators
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

namespace {

ElementType plain_element(NodeRef node, std::size_t operand) {
  const TensorType* const type = node.operand_type(operand);
  return type == nullptr || type->is_quantized() ? ElementType::undefined : type->element;
}

}  // namespace

Expected<TensorType> infer_as_operand(NodeRef node) {
  return TensorType{plain_element(node, 0), operand_shape(node, 0), nullptr};
}

// Softmax and its like: a scalar has no axis for them in any version.
Expected<TensorType> infer_along_an_axis(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  if (data.is_ranked() && data.rank() == 0) return invalid("of a tensor without dimensions");
  return infer_as_operand(node);
}

Expected<TensorType> infer_bits_as(NodeRef node) {
  const auto to = numbered_element_type(node.attribute_or<std::int64_t>("to", 0));
  if (!to) return invalid("a BitCast without a type");
  return TensorType{*to, operand_shape(node, 0), nullptr};
}

// --- operands that are stretched to one shape ----------------------------------------------------

namespace {

Expected<Shape> stretched(NodeRef node) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const Shape shape = operand_shape(node, i);
    if (!shape.is_ranked()) return Shape();
    QUADRANT_TRY(extents, broadcast(extents, shape.extents()));
  }
  return Shape(std::move(extents));
}

}  // namespace

template <std::size_t typed>
Expected<TensorType> infer_stretched(NodeRef node) {
  QUADRANT_TRY(Shape shape, stretched(node));
  return TensorType{plain_element(node, typed), std::move(shape), nullptr};
}
template Expected<TensorType> infer_stretched<0>(NodeRef node);
template Expected<TensorType> infer_stretched<1>(NodeRef node);

Expected<TensorType> infer_truth(NodeRef node) {
  QUADRANT_TRY(Shape shape, stretched(node));
  return TensorType{ElementType::boolean, std::move(shape), nullptr};
}

// --- windows -------------------------------------------------------------------------------------

namespace {

struct PoolWindow {
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t dilation;
  std::int64_t pads;
  bool is_same;
  bool rounds_up;
};

// How many windows lie in `from` elements.
Extent windows_in(Extent from, const PoolWindow& window, std::int64_t pad_begin) {
  if (!from.is_known()) return from;
  const std::int64_t extent = from.value();
  if (window.is_same) return extent / window.stride + (extent % window.stride != 0 ? 1 : 0);
  std::int64_t reach = 0;
  std::int64_t room = 0;
  if (__builtin_mul_overflow(window.kernel - 1, window.dilation, &reach) ||
      __builtin_add_overflow(extent, window.pads, &room) || reach >= room) {
    return Extent::open();
  }
  const std::int64_t steps = room - 1 - reach;
  const std::int64_t whole = steps / window.stride;
  if (!window.rounds_up) return whole + 1;
  const std::int64_t last = whole + (steps % window.stride != 0 ? 1 : 0);
  // Of one that begins in the padding behind them, onnx and its runtimes say different things.
  std::int64_t begin = 0;
  if (__builtin_mul_overflow(last, window.stride, &begin) || begin >= extent + pad_begin) {
    return Extent::open();
  }
  return last + 1;
}

}  // namespace

Expected<Shape> pooled_shape(NodeRef node, const Shape& data) {
  if (data.rank() < 3) return Shape();
  const auto spatial = static_cast<std::size_t>(data.rank() - 2);
  QUADRANT_TRY(const auto kernel, kernel_shape(node, spatial));
  QUADRANT_TRY(const auto strides, integers(node, "strides", spatial, 1, 1));
  QUADRANT_TRY(const auto dilations, integers(node, "dilations", spatial, 1, 1));
  QUADRANT_TRY(const auto pads, integers(node, "pads", 2 * spatial, 0, 0));
  QUADRANT_TRY(const auto auto_pad, attribute_or<std::string>(node, "auto_pad", "NOTSET"));
  QUADRANT_TRY(const auto ceil_mode, attribute_or<std::int64_t>(node, "ceil_mode", 0));
  const bool is_padded = auto_pad == "NOTSET" || auto_pad.empty();
  std::vector<Extent> extents{data[0], data[1]};
  for (std::size_t i = 0; i < spatial; ++i) {
    std::int64_t both = 0;
    const bool is_known =
        kernel[i].is_known() && !__builtin_add_overflow(pads[i], pads[i + spatial], &both);
    const Extent extent = data[static_cast<std::int64_t>(i) + 2];
    const PoolWindow window{
        kernel[i].value_or(0),        strides[i],    dilations[i], is_padded ? both : 0,
        auto_pad.starts_with("SAME"), ceil_mode != 0};
    extents.push_back(is_known ? windows_in(extent, window, is_padded ? pads[i] : 0)
                               : Extent::open());
  }
  return Shape(std::move(extents));
}

Expected<TensorType> infer_pooled(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  QUADRANT_TRY(result.shape, pooled_shape(node, operand_shape(node, 0)));
  return result;
}

Expected<TensorType> infer_pooled_whole(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  if (data.rank() < 2) return result;
  std::vector<Extent> extents(static_cast<std::size_t>(data.rank()), 1);
  extents[0] = data[0];
  extents[1] = data[1];
  result.shape = Shape(std::move(extents));
  return result;
}

// --- reductions ----------------------------------------------------------------------------------

namespace {

// The axes without those that `gone` marks, which stay as 1 where `keeps`.
Shape without(const Shape& data, const std::vector<bool>& gone, bool keeps) {
  std::vector<Extent> extents;
  for (std::size_t axis = 0; axis < gone.size(); ++axis) {
    if (!gone[axis]) {
      extents.push_back(data[static_cast<std::int64_t>(axis)]);
    } else if (keeps) {
      extents.emplace_back(1);
    }
  }
  return Shape(std::move(extents));
}

}  // namespace

Expected<TensorType> infer_reduced(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const IntegerList axes, integer_list(node, "axes", 1));
  QUADRANT_TRY(const auto keeps, attribute_or<std::int64_t>(node, "keepdims", 1));
  QUADRANT_TRY(const auto is_idle, attribute_or<std::int64_t>(node, "noop_with_empty_axes", 0));
  if (!data.is_ranked() || axes.is_computed()) return result;
  if (axes.is_empty() && is_idle != 0) {
    result.shape = data;
    return result;
  }
  std::vector<bool> gone(static_cast<std::size_t>(data.rank()), axes.is_empty());
  for (const std::int64_t axis : axes.values) {
    const auto found = normalize_axis(axis, data.rank());
    if (!found) return invalid(fmt::format("axis {} of {} dimensions", axis, data.rank()));
    gone[static_cast<std::size_t>(*found)] = true;
  }
  result.shape = without(data, gone, keeps != 0);
  return result;
}

Expected<TensorType> infer_place_of_largest(NodeRef node) {
  TensorType result{ElementType::int64, {}, nullptr};
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const auto axis, attribute_or<std::int64_t>(node, "axis", 0));
  QUADRANT_TRY(const auto keeps, attribute_or<std::int64_t>(node, "keepdims", 1));
  if (!data.is_ranked()) return result;
  const auto found = normalize_axis(axis, data.rank());
  if (!found) return invalid(fmt::format("axis {} of {} dimensions", axis, data.rank()));
  std::vector<bool> gone(static_cast<std::size_t>(data.rank()), false);
  gone[static_cast<std::size_t>(*found)] = true;
  result.shape = without(data, gone, keeps != 0);
  return result;
}

// --- shapes --------------------------------------------------------------------------------------

Expected<TensorType> infer_shape_of(NodeRef node) {
  TensorType result{ElementType::int64, {Extent::open()}, nullptr};
  const Shape data = operand_shape(node, 0);
  if (!data.is_ranked()) return result;
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + data.rank() : at, 0, data.rank());
  };
  QUADRANT_TRY(const auto start, attribute_or<std::int64_t>(node, "start", 0));
  QUADRANT_TRY(const auto end, attribute_or<std::int64_t>(node, "end", data.rank()));
  result.shape = {std::max<std::int64_t>(0, clamped(end) - clamped(start))};
  return result;
}

// --- elements that move --------------------------------------------------------------------------

namespace {

Extent times(Extent extent, std::int64_t factor) {
  std::int64_t product = 0;
  const bool is_known =
      extent.is_known() && !__builtin_mul_overflow(extent.value(), factor, &product);
  return is_known ? Extent(product) : Extent::open();
}

Extent divided(Extent extent, std::int64_t divisor) {
  return extent.transformed([&](std::int64_t known) { return known / divisor; });
}

}  // namespace

Expected<TensorType> infer_depth_to_space(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const auto block, attribute_or<std::int64_t>(node, "blocksize", 1));
  constexpr std::int64_t most = 1 << 15;
  if (data.rank() != 4 || block < 1 || block > most) return result;
  result.shape = {data[0], divided(data[1], block * block), times(data[2], block),
                  times(data[3], block)};
  return result;
}

Expected<TensorType> infer_space_to_depth(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const auto block, attribute_or<std::int64_t>(node, "blocksize", 1));
  constexpr std::int64_t most = 1 << 15;
  if (data.rank() != 4 || block < 1 || block > most) return result;
  result.shape = {data[0], times(data[1], block * block), divided(data[2], block),
                  divided(data[3], block)};
  return result;
}

namespace {

// `values` at the axes that the operand or the attribute `axes` names, of all where there is none;

// empty for what is not known.
Expected<KnownIntegers> along_axes(NodeRef node, std::size_t operand, std::int64_t rank,
                                   const std::optional<KnownIntegers>& values,
                                   std::size_t first = 0) {
  KnownIntegers along(static_cast<std::size_t>(rank));
  QUADRANT_TRY(const IntegerList axes, integer_list(node, "axes", operand));
  if (!values || axes.is_computed()) return along;
  const bool are_all = axes.state == IntegerList::State::missing;
  const std::size_t count = are_all ? along.size() : axes.values.size();
  if (values->size() < first + count) return along;
  if (!are_all) along.assign(along.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto stated = are_all ? static_cast<std::int64_t>(i) : axes.values[i];
    const auto axis = normalize_axis(stated, rank);
    if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, rank));
    along[static_cast<std::size_t>(*axis)] = (*values)[first + i];
  }
  return along;
}

}  // namespace

Expected<TensorType> infer_padded(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  if (!data.is_ranked()) return result;
  const bool is_old = node.graph->attribute(node.id, "paddings") != nullptr;
  QUADRANT_TRY(const auto pads, listed_extents(node, is_old ? "paddings" : "pads", 1));
  const std::size_t half = pads ? pads->size() / 2 : 0;
  QUADRANT_TRY(const KnownIntegers before, along_axes(node, 3, data.rank(), pads));
  QUADRANT_TRY(const KnownIntegers behind, along_axes(node, 3, data.rank(), pads, half));
  std::vector<Extent> extents(static_cast<std::size_t>(data.rank()), Extent::open());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const auto known = data.extents()[axis].known();
    const std::optional<std::int64_t>& front = before[axis];
    const std::optional<std::int64_t>& back = behind[axis];
    if (!known || !front || !back) continue;
    std::int64_t extent = *known;
    if (__builtin_add_overflow(extent, *front, &extent) ||
        __builtin_add_overflow(extent, *back, &extent) || extent < 0) {
      return invalid("pads that leave no extent");
    }
    extents[axis] = extent;
  }
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> infer_tiled(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const auto repeats, listed_extents(node, "repeats", 1));
  if (!data.is_ranked()) return result;
  std::vector<Extent> extents;
  for (std::size_t axis = 0; axis < data.extents().size(); ++axis) {
    const bool are_all = repeats && repeats->size() == data.extents().size();
    const auto count = are_all ? (*repeats)[axis] : std::nullopt;
    if (count.value_or(0) < 0) return invalid("a negative number of repeats");
    extents.push_back(count ? times(data.extents()[axis], *count) : Extent::open());
  }
  result.shape = Shape(std::move(extents));
  return result;
}

namespace {

// Factors for all axes; empty where they are computed. An attribute in the oldest versions.
Expected<std::optional<std::vector<float>>> resizing_factors(NodeRef node, std::int64_t count) {
  const std::size_t operand = node.operands().size() == 2 ? 1 : 2;
  if (node.operand(operand).is_absent()) {
    const auto stated = node.attribute_or<std::vector<double>>("scales", {});
    if (std::cmp_not_equal(stated.size(), count)) return std::nullopt;
    return std::vector<float>(stated.begin(), stated.end());
  }
  const Constant* const factors = node.operand_constant(operand);
  if (factors == nullptr || factors->element() != ElementType::float32 ||
      factors->element_count() != count) {
    return std::nullopt;
  }
  QUADRANT_TRY(const ConstantBytes bytes, factors->read());
  const auto values = bytes.as<float>();
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace

// By sizes, or by factors, which the other operands are about; of some axes, or of all.
Expected<TensorType> infer_resized(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  if (!data.is_ranked()) return result;
  std::vector<Extent> extents(data.extents().begin(), data.extents().end());
  const auto finished = [&]() -> TensorType {
    result.shape = Shape(std::move(extents));
    return result;
  };
  QUADRANT_TRY(const IntegerList listed, integer_list(node, "axes", node.operands().size()));
  std::vector<std::size_t> axes;
  for (std::int64_t i = 0; i < (listed.is_empty() ? data.rank() : std::ssize(listed.values)); ++i) {
    const std::int64_t stated = listed.is_empty() ? i : listed.values[static_cast<std::size_t>(i)];
    const auto axis = normalize_axis(stated, data.rank());
    if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, data.rank()));
    axes.push_back(static_cast<std::size_t>(*axis));
  }
  if (!node.operand(3).is_absent()) {
    QUADRANT_TRY(const auto sizes, listed_extents(node, "", 3));
    const bool keeps_aspect =
        node.attribute_or<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch";
    const bool is_known = sizes && sizes->size() == axes.size() && !keeps_aspect;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (is_known && (*sizes)[i].value_or(0) < 0) return invalid("a resize to a negative extent");
      extents[axes[i]] = is_known ? Extent::of((*sizes)[i]) : Extent::open();
    }
    return finished();
  }
  QUADRANT_TRY(const auto factors, resizing_factors(node, std::ssize(axes)));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Extent& extent = extents[axes[i]];
    // In float32, as runtimes do.
    const auto from = static_cast<float>(extent.value_or(0));
    const float size = factors ? std::floor(from * (*factors)[i]) : -1;
    const bool is_known = extent.is_known() && size >= 0 && size < 1e15F;
    extent = is_known ? Extent(static_cast<std::int64_t>(size)) : Extent::open();
  }
  return finished();
}

}  // namespace quadrant::inline v0::detail
