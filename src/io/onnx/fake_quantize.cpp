#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/onnx/edit.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fake_quantize.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/unused.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/reals.hpp"

namespace quadrant::inline v0::onnx {
namespace {

using Broadcast = ops::FakeQuantize::Broadcast;

constexpr std::size_t bound_count = 4;
constexpr std::int64_t opset_of_forms = 13;  // an axis, comparisons that include what is equal

// --- as codes and scales -------------------------------------------------------------------------

/// Input and output ends of an interval for all of X, or for each index along `axis`.
struct Intervals {
  std::optional<std::int64_t> axis;
  std::vector<double> lows;
  std::vector<double> highs;
};

/// The one axis along which there are several; 0 where there is none, empty for more than one.
std::optional<std::int64_t> varying_axis(const std::vector<Shape>& shapes) {
  std::int64_t found = 0;
  bool any = false;
  for (const Shape& shape : shapes) {
    for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      if (any && found != axis) return std::nullopt;
      found = axis;
      any = true;
    }
  }
  return found;
}

/// Of constant bounds, if those of input and output are the same.
std::optional<Intervals> same_intervals(NodeRef node) {
  const Shape& x = node.operand_type(0)->shape;
  std::vector<std::vector<double>> values;
  std::vector<Shape> shapes;
  for (std::size_t i = 1; i <= bound_count; ++i) {
    const Constant* bound = node.operand_constant(i);
    if (bound == nullptr || !is_float(bound->element())) return std::nullopt;
    const auto count = bound->element_count();
    if (count != 1 && !x.is_ranked()) return std::nullopt;
    shapes.push_back(count == 1 ? Shape::scalar()
                                : value_of(ops::FakeQuantize{node}.aligned(bound->shape(), x)));
  }
  const auto axis = varying_axis(shapes);
  if (!axis) return std::nullopt;
  for (std::size_t i = 1; i <= bound_count; ++i) {
    values.push_back(value_of(read_reals(*node.operand_constant(i))));
  }
  const std::size_t count = std::ranges::max(values, {}, &std::vector<double>::size).size();
  for (std::vector<double>& bound : values) {
    if (bound.size() == 1) bound.resize(count, bound.front());
  }
  if (count == 0 || values[0] != values[2] || values[1] != values[3]) return std::nullopt;
  return Intervals{.axis = count > 1 ? axis : std::nullopt,
                   .lows = std::move(values[0]),
                   .highs = std::move(values[1])};
}

/// The level that zero is, from 0 to `last`; empty where it is none. Bounds are rounded to float32,
/// so it is off an integer by as much.
std::optional<std::int64_t> zero_level(double low, double high, std::int64_t last) {
  const auto levels = static_cast<double>(last);
  const double level = -low / (high - low) * levels;
  const double nearest = std::nearbyint(level);
  if (!(std::abs(level - nearest) <= levels * 0x1p-22)) return std::nullopt;
  if (nearest < 0 || nearest > levels) return std::nullopt;
  return static_cast<std::int64_t>(nearest);
}

template <class T>
Constant parameters_of(ElementType element, const Intervals& intervals,
                       const std::vector<T>& values) {
  const Shape shape =
      intervals.axis ? Shape{static_cast<std::int64_t>(values.size())} : Shape::scalar();
  return Constant::from_values(element, shape, std::span<const T>(values));
}

/// The type whose codes are the levels, and its real values what a level stands for.
std::optional<UniformType> linear_type(NodeRef node, std::int64_t levels) {
  constexpr std::int64_t most_levels = 256;
  const ElementType expressed = node.operand_type(0)->element;
  if (levels > most_levels || !is_float(expressed) || expressed == ElementType::float64) {
    return std::nullopt;
  }
  const auto intervals = same_intervals(node);
  if (!intervals) return std::nullopt;

  const std::int64_t last = levels - 1;
  std::vector<float> scales;
  std::vector<std::uint8_t> zeros;
  for (std::size_t i = 0; i < intervals->lows.size(); ++i) {
    const double low = intervals->lows[i];
    const double high = intervals->highs[i];
    const auto scale = static_cast<float>((high - low) / static_cast<double>(last));
    if (!(low < high) || !std::isnormal(scale)) return std::nullopt;
    const auto zero = zero_level(low, high, last);
    if (!zero) return std::nullopt;
    scales.push_back(scale);
    zeros.push_back(static_cast<std::uint8_t>(*zero));
  }

  UniformType type;
  type.expressed = expressed;
  type.scales = parameters_of(ElementType::float32, *intervals, scales);
  if (intervals->axis) type.granularity = Granularity::per_axis(*intervals->axis);
  // Zero in the middle: signed codes, without zero points.
  const std::int64_t middle = levels / 2;
  const bool is_signed = std::ranges::all_of(zeros, [&](auto zero) { return zero == middle; });
  type.storage_min = is_signed ? -middle : 0;
  type.storage_max = type.storage_min + last;
  if (!is_signed) {
    type.storage = ElementType::uint8;
    type.zero_points = parameters_of(ElementType::uint8, *intervals, zeros);
  }
  return type;
}

// --- the pass ------------------------------------------------------------------------------------

class FakeQuantizeLowering {
 public:
  FakeQuantizeLowering(Graph& graph, FakeQuantizeForm form) : graph_(graph), form_(form) {}

  LoweredFakeQuantize run() {
    const std::vector<NodeId> nodes = nodes_to_replace();
    if (nodes.empty()) return {};
    raise_opset();
    for (const NodeId node : nodes) {
      in_node(label(graph_, node), [&] { replace(node); });
    }
    return lowered_;
  }

 private:
  [[nodiscard]] std::vector<NodeId> nodes_to_replace() {
    std::vector<NodeId> nodes;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || graph_.kind(node) != ops::FakeQuantize::kind) continue;
      // OpenVINO has it in another domain, too, which is ONNX's own.
      graph_.erase_attribute(node, key::domain);
      graph_.erase_attribute(node, key::op_type);
      const auto broadcast = ops::FakeQuantize{graph_.ref(node)}.broadcast();
      const bool keeps = form_ == FakeQuantizeForm::openvino && broadcast != Broadcast::pdpd;
      if (!keeps) nodes.push_back(node);
    }
    return nodes;
  }

  void raise_opset() {
    if (opset_version(graph_) >= opset_of_forms) return;
    const std::string why_not = upgrade(graph_, opset_of_forms);
    if (!why_not.empty()) {
      impossible(fmt::format("fake_quantize needs opset {}: {}", opset_of_forms, why_not));
    }
    set_opset(graph_, opset_of_forms);
  }

  void replace(NodeId node) {
    const NodeRef ref = graph_.ref(node);
    const auto levels = ops::FakeQuantize{ref}.levels();
    if (!levels) impossible("the attribute 'levels' is missing or less than 2");
    for (std::size_t i = 0; i <= bound_count; ++i) {
      if (ref.operand(i).is_absent()) impossible("a fake_quantize has five operands");
    }
    std::string name(ref.name());
    const std::vector<Value> operands(ref.operands().begin(), ref.operands().end());
    const auto type =
        form_ == FakeQuantizeForm::elementary ? std::nullopt : linear_type(ref, *levels);
    const Value result = type ? as_codes(node, *type) : as_arithmetic(node, *levels);
    ++(type ? lowered_.linear : lowered_.arithmetic);
    take_over(graph_, {node}, result);
    graph_.set_node_name(result.node, std::move(name));
    for (const Value operand : operands) erase_unused(graph_, operand.node);
  }

  Value as_codes(NodeId node, const UniformType& type) {
    const Value x = graph_.ref(node).operand(0);
    TensorType codes = graph_.type(x);
    codes.element = type.storage;
    codes.quantization = std::make_shared<const UniformType>(type);
    const Value quantized = add(node, ops::Quantize::kind, {x}, std::move(codes));
    return add(node, ops::Dequantize::kind, {quantized}, graph_.type(x));
  }

  // --- elementary operators ---

  Value as_arithmetic(NodeId node, std::int64_t levels) {
    const Value given = graph_.ref(node).operand(0);
    const ElementType element = graph_.type(given).element;
    if (!is_float(element)) {
      impossible(fmt::format("a fake_quantize of elements of type {}", to_string(element)));
    }
    // Half floats are computed in float32.
    const ElementType wide = is_wide_float(element) ? element : ElementType::float32;
    const TensorType real{wide, graph_.type(given).shape, nullptr};
    const TensorType one_a_bound{wide, {}, nullptr};
    const TensorType condition{ElementType::boolean, real.shape, nullptr};

    std::array<Value, bound_count> bounds;
    for (std::size_t i = 0; i < bound_count; ++i) {
      bounds[i] = cast(node, aligned(node, i + 1), wide);
    }
    const auto [input_low, input_high, output_low, output_high] = bounds;
    const Value x = cast(node, given, wide);
    const std::array last{static_cast<double>(levels - 1)};
    const Value steps = graph_.add_constant(std::string(graph_.value_name({node})) + "_levels",
                                            rounded_constant(wide, Shape::scalar(), last));

    const Value input_span = add(node, "onnx.Sub", {input_high, input_low}, one_a_bound);
    const Value output_span = add(node, "onnx.Sub", {output_high, output_low}, one_a_bound);
    Value y = add(node, "onnx.Sub", {x, input_low}, real);
    y = add(node, "onnx.Div", {y, input_span}, real);
    y = add(node, ops::Multiply::kind, {y, steps}, real);
    y = add(node, "onnx.Round", {y}, real);
    y = add(node, "onnx.Div", {y, steps}, real);
    y = add(node, ops::Multiply::kind, {y, output_span}, real);
    y = add(node, ops::Add::kind, {y, output_low}, real);

    const Value highest = add(node, "onnx.Max", {input_low, input_high}, one_a_bound);
    const Value above = add(node, "onnx.Greater", {x, highest}, condition);
    y = add(node, "onnx.Where", {above, output_high, y}, real);
    const Value lowest = add(node, "onnx.Min", {input_low, input_high}, one_a_bound);
    const Value below = add(node, "onnx.LessOrEqual", {x, lowest}, condition);
    y = add(node, "onnx.Where", {below, output_low, y}, real);
    return cast(node, y, element);
  }

  /// A bound, of a shape that goes with X by numpy's rules, and has no more axes.
  Value aligned(NodeId node, std::size_t operand) {
    const ops::FakeQuantize view{graph_.ref(node)};
    const Value bound = view.node.operand(operand);
    const Shape& given = graph_.type(bound).shape;
    const Shape& x = view.node.operand_type(0)->shape;
    const Shape wanted = value_of(view.aligned(given, x));
    const bool is_pdpd = view.broadcast() == Broadcast::pdpd;
    if (!is_pdpd && (!wanted.is_ranked() || given.rank() <= x.rank())) return bound;
    if (!wanted.is_ranked() || std::ranges::count(wanted.extents(), Shape::dynamic) > 1) {
      impossible("bounds of a shape that is not known");
    }
    std::string name(graph_.value_name(bound));
    if (const Constant* constant = view.node.operand_constant(operand)) {
      return graph_.add_constant(std::move(name), constant->reshaped(wanted));
    }
    const Value shape = graph_.add_constant(name + "_shape", int64_constant(wanted.extents()));
    return add(node, ops::Reshape::kind, {bound, shape},
               {graph_.type(bound).element, wanted, nullptr});
  }

  Value cast(NodeId node, Value value, ElementType to) {
    TensorType type = graph_.type(value);
    if (type.element == to) return value;
    type.element = to;
    return add(node, ops::Cast::kind, {value}, std::move(type), {{"to", element_type_number(to)}});
  }

  /// An operator whose result is called after the node's.
  Value add(NodeId node, std::string_view kind, std::vector<Value> operands, TensorType type,
            Attributes attributes = {}) {
    return add_op(graph_, std::string(kind), {}, std::move(operands),
                  {std::string(graph_.value_name({node})), std::move(type)}, std::move(attributes));
  }

  Graph& graph_;
  FakeQuantizeForm form_;
  LoweredFakeQuantize lowered_;
};

}  // namespace

LoweredFakeQuantize lower_fake_quantize(Graph& graph, FakeQuantizeForm form) {
  return FakeQuantizeLowering(graph, form).run();
}

}  // namespace quadrant::inline v0::onnx
