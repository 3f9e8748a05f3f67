// quantizeLinear and dequantizeLinear. WebNN's scale has the rank of what it scales and divides it
// into equal blocks along every axis; ONNX's has one element, or one axis, or blocks along one
// axis.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

Integers extents_of(const Shape& shape) {
  return {shape.known_extents().begin(), shape.known_extents().end()};
}

/// `shape` with axes of 1 in front, of the rank of `data`; its extents divide those of `data`.
Expected<Integers> block_counts(const Shape& shape, const Shape& data) {
  Integers counts = extents_of(shape);
  const auto rank = static_cast<std::size_t>(data.rank());
  if (counts.size() <= rank) {
    counts.insert(counts.begin(), rank - counts.size(), 1);
    bool divides = true;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t extent = data[static_cast<std::int64_t>(i)].value();
      divides = divides && counts[i] > 0 && extent % counts[i] == 0;
    }
    if (divides) return counts;
  }
  return refuse(fmt::format("parameters of shape [{}] for an operand of shape [{}]",
                            to_string(shape), to_string(data)));
}

/// Each element as often as makes the extents `to`, which are multiples.
Expected<Value> repeat(GraphBuilder& graph, Value value, const Integers& from, const Integers& to) {
  if (from == to) return value;
  Integers apart;
  Integers repeated;
  for (std::size_t i = 0; i < to.size(); ++i) {
    apart.insert(apart.end(), {from[i], 1});
    repeated.insert(repeated.end(), {from[i], to[i] / from[i]});
  }
  QUADRANT_TRY(const Value split, graph.fold(ops::Reshape::kind, {value, graph.integers(apart)}));
  QUADRANT_TRY(const Value expanded,
               graph.fold(ops::Expand::kind, {split, graph.integers(repeated)}));
  return graph.fold(ops::Reshape::kind, {expanded, graph.integers(to)});
}

/// How ONNX says which elements share parameters.
struct Layout {
  Integers counts;  ///< of blocks along each axis
  Integers shape;   ///< of the parameters
  Attributes attributes;
};

Layout layout_of(Integers counts, const Shape& data) {
  Layout layout;
  const auto several = [](std::int64_t count) { return count > 1; };
  const auto first = std::ranges::find_if(counts, several);
  if (first == counts.end()) {
    layout.counts = std::move(counts);
    return layout;
  }
  const auto extents = data.known_extents();
  auto axis = static_cast<std::size_t>(first - counts.begin());
  if (std::ranges::count_if(counts, several) == 1 && counts[axis] == extents[axis]) {
    layout.shape = {counts[axis]};
    layout.counts = std::move(counts);
    layout.attributes.set("axis", static_cast<std::int64_t>(axis));
    return layout;
  }
  // Blocks along the axis where they are largest; along the others each element has its own.
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (extents[i] / counts[i] > extents[axis] / counts[axis]) axis = i;
  }
  layout.counts = {extents.begin(), extents.end()};
  layout.counts[axis] = counts[axis];
  layout.shape = layout.counts;
  layout.attributes.set("axis", static_cast<std::int64_t>(axis));
  layout.attributes.set("block_size", extents[axis] / counts[axis]);
  return layout;
}

Result convert(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  const Value data = operation.input(0);
  const Shape shape = graph.shape(data);
  QUADRANT_TRY(const Integers scales, block_counts(graph.shape(operation.input(1)), shape));
  Integers counts = scales;
  Integers zero_points;
  if (operation.has(2)) {
    QUADRANT_TRY(zero_points, block_counts(graph.shape(operation.input(2)), shape));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = std::max(scales[i], zero_points[i]);
      if (counts[i] % scales[i] != 0 || counts[i] % zero_points[i] != 0) {
        return refuse("a scale and a zero point that do not go together");
      }
    }
  }
  const Layout layout = layout_of(std::move(counts), shape);
  const auto parameter = [&](Value value, const Integers& from) -> Expected<Value> {
    QUADRANT_TRY(Value full, repeat(graph, value, from, layout.counts));
    if (extents_of(graph.shape(full)) != layout.shape) {
      QUADRANT_TRY(full, graph.fold(ops::Reshape::kind, {full, graph.integers(layout.shape)}));
    }
    return graph.shared(full);
  };
  std::vector<Value> operands{data};
  QUADRANT_TRY(operands.emplace_back(), parameter(operation.input(1), scales));
  if (operation.has(2)) {
    QUADRANT_TRY(operands.emplace_back(), parameter(operation.input(2), zero_points));
  }
  return only(graph.add(kind, std::move(operands), layout.attributes));
}

constexpr std::array quantization_table{
    OperationEntry{"dequantizeLinear", convert, "onnx.DequantizeLinear", 2, 3},
    OperationEntry{"quantizeLinear", convert, "onnx.QuantizeLinear", 2, 3},
};

}  // namespace

std::span<const OperationEntry> quantization_operations() noexcept { return quantization_table; }

Expected<Value> scale_of_each(GraphBuilder& graph, Value scale, const Shape& data) {
  QUADRANT_TRY(const Integers counts, block_counts(graph.shape(scale), data));
  return repeat(graph, scale, counts, extents_of(data));
}

}  // namespace quadrant::webnn
