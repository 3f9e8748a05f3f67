// Softmax, and what takes away a mean and divides by a deviation.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

Result softmax(Operation& operation, std::string_view kind) {
  const std::int64_t axis = operation.options.integer("axis", -1);
  return only(operation.graph.add(kind, operation.inputs, {{"axis", axis}}));
}

/// What a normalization takes away, multiplies with and adds, each of a shape that broadcasts to
/// that of `data`.
struct Normalization {
  Value data;
  Value mean;
  Value variance;
  Value scale;  ///< may be absent
  Value bias;   ///< may be absent
};

Result normalize(Operation& operation, const Normalization& parts) {
  GraphBuilder& graph = operation.graph;
  QUADRANT_TRY(const Value epsilon,
               graph.number(graph.element(parts.data), operation.options.real("epsilon", 1e-5)));
  QUADRANT_TRY(const Value centred, graph.add("onnx.Sub", {parts.data, parts.mean}));
  QUADRANT_TRY(const Value safe, graph.add(ops::Add::kind, {parts.variance, epsilon}));
  QUADRANT_TRY(const Value deviation, graph.add("onnx.Sqrt", {safe}));
  QUADRANT_TRY(Value result, graph.add("onnx.Div", {centred, deviation}));
  if (!parts.scale.is_absent()) {
    QUADRANT_TRY(result, graph.add(ops::Multiply::kind, {result, parts.scale}));
  }
  if (!parts.bias.is_absent()) {
    QUADRANT_TRY(result, graph.add(ops::Add::kind, {result, parts.bias}));
  }
  return std::vector<Value>{result};
}

Expected<Value> mean_of(GraphBuilder& graph, Value data, const Integers& axes) {
  if (axes.empty()) return data;  // of each element by itself
  return graph.add("onnx.ReduceMean", {data, graph.integers(axes)}, {{"keepdims", flag(true)}});
}

Expected<Value> variance_of(GraphBuilder& graph, Value data, Value mean, const Integers& axes) {
  QUADRANT_TRY(const Value centred, graph.add("onnx.Sub", {data, mean}));
  QUADRANT_TRY(const Value square, graph.add(ops::Multiply::kind, {centred, centred}));
  return mean_of(graph, square, axes);
}

/// `value`, whose axis i is axis `axes[i]` of `data`, with axes of 1 where it has none.
Expected<Value> along(GraphBuilder& graph, Value value, Value data, const Integers& axes) {
  if (value.is_absent()) return value;
  if (std::cmp_not_equal(graph.rank(value), axes.size())) {
    return refuse(
        fmt::format("parameters of {} axes, where {} are wanted", graph.rank(value), axes.size()));
  }
  Integers order = first_numbers(graph.rank(value));
  std::ranges::sort(order, {}, [&](std::int64_t i) { return axes[static_cast<std::size_t>(i)]; });
  Integers shape(static_cast<std::size_t>(graph.rank(data)), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[static_cast<std::size_t>(axes[i])] =
        graph.shape(value)[static_cast<std::int64_t>(i)].value();
  }
  QUADRANT_TRY(const Value sorted, graph.transpose(value, order));
  return graph.add(ops::Reshape::kind, {sorted, graph.integers(std::move(shape))});
}

Result batch_normalization(Operation& operation, std::string_view /*kind*/) {
  GraphBuilder& graph = operation.graph;
  const Value data = operation.input(0);
  const std::int64_t axis = operation.options.integer("axis", 1);
  QUADRANT_CHECK(operation.options.status());
  if (axis < 0 || axis >= graph.rank(data)) return refuse(fmt::format("axis {}", axis));
  Normalization parts{.data = data};
  QUADRANT_TRY(parts.mean, along(graph, operation.input(1), data, {axis}));
  QUADRANT_TRY(parts.variance, along(graph, operation.input(2), data, {axis}));
  QUADRANT_TRY(parts.scale, along(graph, operation.input(3), data, {axis}));
  QUADRANT_TRY(parts.bias, along(graph, operation.input(4), data, {axis}));
  return normalize(operation, parts);
}

/// Mean and variance along `reduced`; scale and bias, inputs 1 and 2, along `scaled`.
Result normalize_along(Operation& operation, const Integers& reduced, const Integers& scaled) {
  GraphBuilder& graph = operation.graph;
  Normalization parts{.data = operation.input(0)};
  QUADRANT_TRY(parts.mean, mean_of(graph, parts.data, reduced));
  QUADRANT_TRY(parts.variance, variance_of(graph, parts.data, parts.mean, reduced));
  QUADRANT_TRY(parts.scale, along(graph, operation.input(1), parts.data, scaled));
  QUADRANT_TRY(parts.bias, along(graph, operation.input(2), parts.data, scaled));
  return normalize(operation, parts);
}

Result instance_normalization(Operation& operation, std::string_view /*kind*/) {
  if (operation.graph.rank(operation.input(0)) != 4) return refuse("an image that has not 4 axes");
  const bool channels_last = layout_option(operation, "layout").channels_last;
  return channels_last ? normalize_along(operation, {1, 2}, {3})
                       : normalize_along(operation, {2, 3}, {1});
}

Result layer_normalization(Operation& operation, std::string_view /*kind*/) {
  const std::int64_t rank = operation.graph.rank(operation.input(0));
  Integers rest = first_numbers(rank);
  if (!rest.empty()) rest.erase(rest.begin());
  const Integers axes = axes_option(operation, "axes", rank, std::move(rest));
  QUADRANT_CHECK(operation.options.status());
  return normalize_along(operation, axes, axes);
}

constexpr std::array normalization_table{
    OperationEntry{"softmax", softmax, "onnx.Softmax"},
    OperationEntry{"batchNormalization", batch_normalization, {}, 3, 5},
    OperationEntry{"instanceNormalization", instance_normalization, {}, 1, 3},
    OperationEntry{"layerNormalization", layer_normalization, {}, 1, 3},
};

}  // namespace

std::span<const OperationEntry> normalization_operations() noexcept { return normalization_table; }

}  // namespace quadrant::webnn
