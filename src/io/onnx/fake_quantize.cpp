#include "io/onnx/fake_quantize.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/unused.hpp"
#include "numerics/elementary_fake_quantize.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

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
      if (surely_equal(shape[axis], 1)) continue;
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
std::optional<UniformType> linear_type(NodeRef node) {
  constexpr std::int64_t most_levels = 256;
  const auto levels = ops::FakeQuantize{node}.levels();
  if (!levels || *levels > most_levels || node.operand(0).is_absent()) return std::nullopt;
  const ElementType expressed = node.operand_type(0)->element;
  if (!is_float(expressed) || expressed == ElementType::float64) return std::nullopt;
  const auto intervals = same_intervals(node);
  if (!intervals) return std::nullopt;

  const std::int64_t last = *levels - 1;
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
  const std::int64_t middle = *levels / 2;
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
    std::string name(ref.name());
    const std::vector<Value> operands(ref.operands().begin(), ref.operands().end());
    const auto type = form_ == FakeQuantizeForm::elementary ? std::nullopt : linear_type(ref);
    const Value result = type ? as_codes(node, *type) : as_arithmetic(node);
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
    const Value quantized = add(node, ops::Quantize::kind, x, std::move(codes));
    return add(node, ops::Dequantize::kind, quantized, graph_.type(x));
  }

  Value as_arithmetic(NodeId node) {
    return {value_of(add_elementary_fake_quantize(graph_, node)).back()};
  }

  /// An operator whose result is called after the node's.
  Value add(NodeId node, std::string_view kind, Value operand, TensorType type) {
    return add_op(graph_, std::string(kind), {}, {operand},
                  {std::string(graph_.value_name({node})), std::move(type)});
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
