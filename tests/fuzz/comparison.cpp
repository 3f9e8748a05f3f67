#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "require.hpp"
#include "runs.hpp"

namespace fuzz {
namespace {

using namespace quadrant;

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_exact_float(ElementType element) {
  return element == ElementType::float32 || element == ElementType::float64;
}

// Whether results jump: of inputs that differ in the last digit they may differ by anything. Those
// that make integers or booleans of floats are told by their types.
bool has_steps(NodeRef node) {
  constexpr auto kinds = std::to_array<std::string_view>(
      {ops::FakeQuantize::kind, ops::ConstFakeQuant::kind, ops::FakeQuant::kind, "onnx.Round",
       "onnx.Floor", "onnx.Ceil", "onnx.Sign", "onnx.Mod", "onnx.ThresholdedRelu", "onnx.Shrink",
       "onnx.Hardmax", "onnx.GridSample", "onnx.RoiAlign", "onnx.Resize", "onnx.Upsample",
       "onnx.AffineGrid"});
  if (std::ranges::find(kinds, node.kind()) != kinds.end()) return true;
  bool reads_floats = false;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* type = node.operand_type(i);
    reads_floats |= type != nullptr && is_float(type->element);
  }
  if (!reads_floats) return false;
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    if (!is_exact_float(node.type(i).element)) return true;
  }
  return false;
}

// Nodes whose results can be compared: nothing in front of them has steps, or has fewer digits.
std::vector<bool> comparable(const Graph& graph) {
  std::vector<bool> nodes(graph.index_bound(), false);
  const auto order = topological_order(graph);
  if (!order) return nodes;
  for (const NodeId node : *order) {
    bool is_comparable = !has_steps(graph.ref(node));
    for (const Value operand : graph.operands(node)) {
      is_comparable &= operand.is_absent() || nodes[operand.node.index];
    }
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
      const TensorType& type = graph.type({node, i});
      is_comparable &= !is_float(type.element) || is_exact_float(type.element);
      is_comparable &= !type.is_quantized() || graph.constant(node) != nullptr;
    }
    nodes[node.index] = is_comparable;
  }
  return nodes;
}

// How far numbers are moved, relative to themselves: far more than rounding, too little to matter.
constexpr double nudge = 0x1p-16;

template <class T>
std::vector<T> nudged(std::span<const T> values, std::minstd_rand& dice) {
  std::vector<T> changed(values.begin(), values.end());
  for (T& value : changed) value *= static_cast<T>(dice() % 2 == 0 ? 1 + nudge : 1 - nudge);
  return changed;
}

Tensor nudged(const Tensor& tensor, std::minstd_rand& dice) {
  if (tensor.element() == ElementType::float32) {
    const auto values = nudged(tensor.as<float>(), dice);
    return Tensor::from_values<float>(tensor.element(), tensor.shape(), values);
  }
  if (tensor.element() == ElementType::float64) {
    const auto values = nudged(tensor.as<double>(), dice);
    return Tensor::from_values<double>(tensor.element(), tensor.shape(), values);
  }
  return tensor;
}

// The same model with each constant a little beside itself.
Graph nudged(const Graph& graph, std::minstd_rand& dice) {
  Graph changed = graph;
  for (std::uint32_t index = 0; index < changed.index_bound(); ++index) {
    const NodeId node = changed.node_at(index);
    const Constant* constant = node.is_valid() ? changed.constant(node) : nullptr;
    if (constant == nullptr || !is_exact_float(constant->element())) continue;
    if (const auto tensor = Tensor::from_constant(*constant)) {
      changed.set_constant(node, nudged(*tensor, dice).to_constant());
    }
  }
  return changed;
}

std::vector<double> reals(const Tensor& tensor) {
  if (tensor.element() == ElementType::float32) {
    const auto values = tensor.as<float>();
    return {values.begin(), values.end()};
  }
  if (tensor.element() == ElementType::float64) {
    const auto values = tensor.as<double>();
    return {values.begin(), values.end()};
  }
  return {};
}

double largest(const Tensor& tensor) {
  double most = 0;
  for (const double value : reals(tensor)) {
    most = std::isfinite(value) ? std::max(most, std::abs(value)) : infinity;
    if (most == infinity) break;
  }
  return most;
}

// Beyond these, squares and products leave float32; some kernels compute them in float64.
bool is_moderate(const Tensor& tensor) {
  return std::ranges::all_of(reals(tensor), [](double value) {
    return value == 0 || (std::abs(value) > 0x1p-16 && std::abs(value) < 0x1p16);
  });
}

bool has_moderate_constants(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant == nullptr) continue;
    const auto tensor = Tensor::from_constant(*constant);
    if (!tensor || !is_moderate(*tensor)) return false;
  }
  return true;
}

// Infinite where they cannot be told apart by numbers.
double distance(const Tensor& a, const Tensor& b) {
  if (same(a, b)) return 0;
  if (a.element() != b.element() || a.shape() != b.shape()) return infinity;
  const std::vector<double> first = reals(a);
  const std::vector<double> second = reals(b);
  double most = first.empty() ? infinity : 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double difference = std::abs(first[i] - second[i]);
    if (!std::isfinite(difference)) return infinity;
    most = std::max(most, difference);
  }
  return most;
}

}  // namespace

std::optional<Reference> reference(const Graph& graph, Tensors inputs) {
  if (!has_moderate_constants(graph) || !std::ranges::all_of(inputs, is_moderate)) return {};
  auto outputs = run(graph, inputs);
  if (!outputs) return {};
  const std::vector<bool> nodes = comparable(graph);
  const std::vector<Value> values = output_values(graph);
  std::vector<double> slack;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = largest((*outputs)[i]);
    slack.push_back(nodes[values[i].node.index] ? size * 1e-4 + 1e-9 : infinity);
  }
  std::minstd_rand dice(1);
  for (int time = 0; time < 3; ++time) {
    Tensors beside;
    for (const Tensor& input : inputs) beside.push_back(nudged(input, dice));
    const auto others = run(nudged(graph, dice), beside);
    for (std::size_t i = 0; i < slack.size(); ++i) {
      slack[i] += others ? 4 * distance((*outputs)[i], (*others)[i]) : infinity;
    }
  }
  // What moves by a hundredth of its size says nothing any more.
  for (std::size_t i = 0; i < slack.size(); ++i) {
    if (slack[i] > 1e-9 + largest((*outputs)[i]) / 100) slack[i] = infinity;
  }
  return Reference{std::move(inputs), *std::move(outputs), std::move(slack)};
}

void require_near(const Reference& reference, const Graph& graph, const Graph& original,
                  std::string_view what) {
  const auto outputs = run(graph, reference.inputs);
  if (!outputs && outputs.error().code == ErrorCode::impossible) return;  // of too much memory, say
  require_value(outputs, what, [&] { return print_graph(original) + print_graph(graph); });
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    if (reference.slack[i] == infinity) continue;
    const double moved = distance(reference.outputs[i], (*outputs)[i]);
    require(moved <= reference.slack[i], what, [&] {
      return "output " + std::to_string(i) + " moved by " + std::to_string(moved) + " of " +
             std::to_string(largest(reference.outputs[i])) + ", where " +
             std::to_string(reference.slack[i]) + " is rounding\n" + print_graph(original) +
             "\nbecame\n" + print_graph(graph);
    });
  }
}

namespace {

// Codes may have lost their meaning, and real numbers may have become codes.
bool may_be_same(const TensorType& a, const TensorType& b) {
  const bool known = a.element != ElementType::undefined && b.element != ElementType::undefined;
  if (known && a.element != b.element && a.expressed().element != b.expressed().element) {
    return false;
  }
  return may_equal(a.shape, b.shape);
}

}  // namespace

void require_same_signature(const Graph& original, const Graph& graph, std::string_view what) {
  const auto show = [&] { return print_graph(original) + "\nbecame\n" + print_graph(graph); };
  require(original.inputs().size() == graph.inputs().size(), what, show);
  require(original.outputs().size() == graph.outputs().size(), what, show);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    require(
        may_be_same(original.type({original.inputs()[i], 0}), graph.type({graph.inputs()[i], 0})),
        what, show);
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value before = original.operands(original.outputs()[i])[0];
    const Value after = graph.operands(graph.outputs()[i])[0];
    require(may_be_same(original.type(before), graph.type(after)), what, show);
  }
}

void require_same_names(const Graph& original, const Graph& graph, std::string_view what) {
  const auto show = [&] { return print_graph(original) + "\nbecame\n" + print_graph(graph); };
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    require(
        original.value_name({original.inputs()[i], 0}) == graph.value_name({graph.inputs()[i], 0}),
        what, show);
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    require(original.name(original.outputs()[i]) == graph.name(graph.outputs()[i]), what, show);
  }
}

}  // namespace fuzz
