// Shapes of operations that are carried as ONNX calls them. https://onnx.ai/onnx/operators
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/result_type.hpp"
#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

using OnnxRule = Expected<TensorType> (*)(NodeRef node);

ElementType plain_element(NodeRef node, std::size_t operand) {
  const TensorType* const type = node.operand_type(operand);
  return type == nullptr || type->is_quantized() ? ElementType::undefined : type->element;
}

Expected<TensorType> as_operand(NodeRef node) {
  return TensorType{plain_element(node, 0), operand_shape(node, 0), nullptr};
}

// Softmax and its like: a scalar has no axis for them in any version.
Expected<TensorType> along_an_axis(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  if (data.is_ranked() && data.rank() == 0) return invalid("of a tensor without dimensions");
  return as_operand(node);
}

Expected<TensorType> bits_as(NodeRef node) {
  const auto to = numbered_element_type(node.attribute_or<std::int64_t>("to", 0));
  if (!to) return invalid("a BitCast without a type");
  return TensorType{*to, operand_shape(node, 0), nullptr};
}

// --- operands that are stretched to one shape ----------------------------------------------------

Expected<Shape> stretched(NodeRef node) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const Shape shape = operand_shape(node, i);
    if (!shape.is_ranked()) return Shape();
    QUADRANT_TRY(extents, broadcast(extents, shape.extents()));
  }
  return Shape(std::move(extents));
}

template <std::size_t typed>
Expected<TensorType> elementwise(NodeRef node) {
  QUADRANT_TRY(Shape shape, stretched(node));
  return TensorType{plain_element(node, typed), std::move(shape), nullptr};
}

Expected<TensorType> truth(NodeRef node) {
  QUADRANT_TRY(Shape shape, stretched(node));
  return TensorType{ElementType::boolean, std::move(shape), nullptr};
}

// --- windows -------------------------------------------------------------------------------------

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
  // One that begins in the padding behind them is none, whatever older releases of onnx state.
  std::int64_t begin = 0;
  if (__builtin_mul_overflow(last, window.stride, &begin)) return Extent::open();
  return begin >= extent + pad_begin ? last : last + 1;
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

namespace {

Expected<TensorType> pooled(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  QUADRANT_TRY(result.shape, pooled_shape(node, operand_shape(node, 0)));
  return result;
}

Expected<TensorType> pooled_whole(NodeRef node) {
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

Expected<TensorType> reduced(NodeRef node) {
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

Expected<TensorType> place_of_largest(NodeRef node) {
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

Expected<TensorType> shape_of(NodeRef node) {
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

Extent times(Extent extent, std::int64_t factor) {
  std::int64_t product = 0;
  const bool is_known =
      extent.is_known() && !__builtin_mul_overflow(extent.value(), factor, &product);
  return is_known ? Extent(product) : Extent::open();
}

Extent divided(Extent extent, std::int64_t divisor) {
  return extent.transformed([&](std::int64_t known) { return known / divisor; });
}

Expected<TensorType> depth_to_space(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const auto block, attribute_or<std::int64_t>(node, "blocksize", 1));
  constexpr std::int64_t most = 1 << 15;
  if (data.rank() != 4 || block < 1 || block > most) return result;
  result.shape = {data[0], divided(data[1], block * block), times(data[2], block),
                  times(data[3], block)};
  return result;
}

Expected<TensorType> space_to_depth(NodeRef node) {
  TensorType result{plain_element(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const auto block, attribute_or<std::int64_t>(node, "blocksize", 1));
  constexpr std::int64_t most = 1 << 15;
  if (data.rank() != 4 || block < 1 || block > most) return result;
  result.shape = {data[0], times(data[1], block * block), divided(data[2], block),
                  divided(data[3], block)};
  return result;
}

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

Expected<TensorType> padded(NodeRef node) {
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

Expected<TensorType> tiled(NodeRef node) {
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

// By sizes, or by factors, which the other operands are about; of some axes, or of all.
Expected<TensorType> resized(NodeRef node) {
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

struct Known {
  std::string_view name;  // behind `onnx.`
  OnnxRule rule;
};

constexpr std::array known_rules{
    Known{"Abs", as_operand},
    Known{"Acos", as_operand},
    Known{"Acosh", as_operand},
    Known{"Asin", as_operand},
    Known{"Asinh", as_operand},
    Known{"Atan", as_operand},
    Known{"Atanh", as_operand},
    Known{"BatchNormalization", as_operand},
    Known{"BitwiseNot", as_operand},
    Known{"Ceil", as_operand},
    Known{"Celu", as_operand},
    Known{"Clip", as_operand},
    Known{"Cos", as_operand},
    Known{"Cosh", as_operand},
    Known{"CumProd", as_operand},
    Known{"CumSum", as_operand},
    Known{"Dropout", as_operand},
    Known{"Elu", as_operand},
    Known{"Erf", as_operand},
    Known{"Exp", as_operand},
    Known{"Floor", as_operand},
    Known{"Gelu", as_operand},
    Known{"GroupNormalization", as_operand},
    Known{"Hardmax", along_an_axis},
    Known{"HardSigmoid", as_operand},
    Known{"HardSwish", as_operand},
    Known{"InstanceNormalization", as_operand},
    Known{"LayerNormalization", as_operand},
    Known{"LeakyRelu", as_operand},
    Known{"Log", as_operand},
    Known{"LogSoftmax", along_an_axis},
    Known{"LpNormalization", as_operand},
    Known{"LRN", as_operand},
    Known{"MeanVarianceNormalization", as_operand},
    Known{"Mish", as_operand},
    Known{"Neg", as_operand},
    Known{"Not", as_operand},
    Known{"Reciprocal", as_operand},
    Known{"Relu", as_operand},
    Known{"ReverseSequence", as_operand},
    Known{"RMSNormalization", as_operand},
    Known{"Round", as_operand},
    Known{"Scatter", as_operand},
    Known{"ScatterElements", as_operand},
    Known{"ScatterND", as_operand},
    Known{"Selu", as_operand},
    Known{"Shrink", as_operand},
    Known{"Sigmoid", as_operand},
    Known{"Sign", as_operand},
    Known{"Sin", as_operand},
    Known{"Sinh", as_operand},
    Known{"Softmax", along_an_axis},
    Known{"Softplus", as_operand},
    Known{"Softsign", as_operand},
    Known{"Sqrt", as_operand},
    Known{"SwiGLU", as_operand},
    Known{"Swish", as_operand},
    Known{"Tan", as_operand},
    Known{"Tanh", as_operand},
    Known{"TensorScatter", as_operand},
    Known{"ThresholdedRelu", as_operand},
    Known{"Trilu", as_operand},
    Known{"Div", elementwise<0>},
    Known{"Max", elementwise<0>},
    Known{"Mean", elementwise<0>},
    Known{"Min", elementwise<0>},
    Known{"Pow", elementwise<0>},
    Known{"PRelu", as_operand},
    Known{"Sub", elementwise<0>},
    Known{"Sum", elementwise<0>},
    Known{"Where", elementwise<1>},
    Known{"And", truth},
    Known{"Equal", truth},
    Known{"Greater", truth},
    Known{"GreaterOrEqual", truth},
    Known{"Less", truth},
    Known{"LessOrEqual", truth},
    Known{"Or", truth},
    Known{"Xor", truth},
    Known{"AveragePool", pooled},
    Known{"LpPool", pooled},
    Known{"MaxPool", pooled},
    Known{"GlobalAveragePool", pooled_whole},
    Known{"GlobalLpPool", pooled_whole},
    Known{"GlobalMaxPool", pooled_whole},
    Known{"ReduceL1", reduced},
    Known{"ReduceL2", reduced},
    Known{"ReduceLogSum", reduced},
    Known{"ReduceLogSumExp", reduced},
    Known{"ReduceMax", reduced},
    Known{"ReduceMean", reduced},
    Known{"ReduceMin", reduced},
    Known{"ReduceProd", reduced},
    Known{"ReduceSum", reduced},
    Known{"ReduceSumSquare", reduced},
    Known{"ArgMax", place_of_largest},
    Known{"ArgMin", place_of_largest},
    Known{"BitCast", bits_as},
    Known{"Shape", shape_of},
    Known{"DepthToSpace", depth_to_space},
    Known{"SpaceToDepth", space_to_depth},
    Known{"Pad", padded},
    Known{"Tile", tiled},
    Known{"Resize", resized},
    Known{"BitShift", elementwise<0>},
    Known{"BitwiseAnd", elementwise<0>},
    Known{"BitwiseOr", elementwise<0>},
    Known{"BitwiseXor", elementwise<0>},
    Known{"Mod", elementwise<0>},
    Known{"IsInf", truth},
    Known{"IsNaN", truth},
    Known{"Upsample", resized},
};

// Null for what is not known.
OnnxRule rule_of(std::string_view kind) noexcept {
  constexpr std::string_view prefix = "onnx.";
  if (!kind.starts_with(prefix)) return nullptr;
  const auto* const found =
      std::ranges::find(known_rules, kind.substr(prefix.size()), &Known::name);
  return found == known_rules.end() ? nullptr : found->rule;
}

}  // namespace

bool keeps_shape(std::string_view kind) noexcept {
  constexpr std::array kinds{ops::Identity::kind,    ops::Cast::kind,
                             ops::Quantize::kind,    ops::Dequantize::kind,
                             ops::StorageCast::kind, ops::ConstFakeQuant::kind};
  return rule_of(kind) == as_operand || std::ranges::find(kinds, kind) != kinds.end();
}

bool stretches_operands(std::string_view kind) noexcept {
  constexpr std::array<OnnxRule, 3> stretching{elementwise<0>, elementwise<1>, truth};
  return kind == ops::Add::kind || kind == ops::Multiply::kind ||
         std::ranges::find(stretching, rule_of(kind)) != stretching.end();
}

Expected<std::vector<TensorType>> infer_onnx(NodeRef node) {
  std::vector<TensorType> results;
  if (node.operands().empty() || node.operand(0).is_absent() ||
      node.graph->result_count(node.id) == 0) {
    return results;
  }
  const OnnxRule rule = rule_of(node.kind());
  if (rule == nullptr) return node.kind().starts_with("onnx.") ? infer_by_places(node) : results;
  QUADRANT_TRY(TensorType type, rule(node));
  // It may compute codes from real numbers, which its own type says.
  if (node.type().is_quantized()) type.element = ElementType::undefined;
  results.push_back(std::move(type));
  return results;
}

}  // namespace quadrant::inline v0::detail
