#include "io/tflite/known_integers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t longest = 64;

std::optional<Integers> shape_of(const GraphView& graph, NodeRef node) {
  const Shape& shape = graph.type(node.operand(0)).shape;
  if (!shape.is_ranked()) return std::nullopt;
  const std::int64_t rank = shape.rank();
  const auto bound = [&](std::string_view name, std::int64_t fallback) {
    const auto at = node.attribute_or<std::int64_t>(name, fallback);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t first = bound("start", 0);
  const std::int64_t last = std::max(first, bound("end", rank));
  Integers extents;
  for (std::int64_t axis = first; axis < last; ++axis) {
    extents.push_back(shape[axis].value_or(unknown_integer));
  }
  return extents;
}

std::optional<Integers> gathered(const Integers& data, const Integers& indices) {
  Integers result;
  for (const std::int64_t index : indices) {
    const auto at = normalize_axis(index, static_cast<std::int64_t>(data.size()));
    if (!at) return std::nullopt;
    result.push_back(data[static_cast<std::size_t>(*at)]);
  }
  return result;
}

std::optional<Integers> sliced(NodeRef node, const Integers& data) {
  const auto ranges = ops::Slice{node}.ranges();
  if (!ranges || ranges->size() != 1) return std::nullopt;
  const auto& range = ranges->front();
  Integers result;
  for (std::int64_t i = 0; i < range.count; ++i) {
    const std::int64_t at = range.start + i * range.step;
    if (at < 0 || at >= static_cast<std::int64_t>(data.size())) return std::nullopt;
    result.push_back(data[static_cast<std::size_t>(at)]);
  }
  return result;
}

/// Of numbers that are not negative, as shapes are.
struct Arithmetic {
  std::string_view kind;
  std::int64_t (*compute)(std::int64_t, std::int64_t);
};

constexpr std::int64_t largest = std::int64_t{1} << 31U;

constexpr std::array arithmetic_rows{
    Arithmetic{ops::Add::kind, [](std::int64_t a, std::int64_t b) { return a + b; }},
    Arithmetic{ops::Multiply::kind, [](std::int64_t a, std::int64_t b) { return a * b; }},
    Arithmetic{"onnx.Sub", [](std::int64_t a, std::int64_t b) { return a - b; }},
    Arithmetic{"onnx.Div", [](std::int64_t a, std::int64_t b) { return b > 0 ? a / b : -1; }},
};

std::optional<Integers> computed(const Arithmetic& row, const Integers& a, const Integers& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  Integers result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::int64_t x = a[a.size() == 1 ? 0 : i];
    const std::int64_t y = b[b.size() == 1 ? 0 : i];
    if (x == unknown_integer || y == unknown_integer) {
      result.push_back(unknown_integer);
      continue;
    }
    if (x < 0 || y < 0 || x > largest || y > largest) return std::nullopt;
    const std::int64_t value = row.compute(x, y);
    if (value < 0) return std::nullopt;
    result.push_back(value);
  }
  return result;
}

}  // namespace

std::optional<Integers> integers_of(const Graph& graph, Value value, const KnownIntegers& known) {
  if (value.is_absent()) return std::nullopt;
  if (const auto found = known.find(value); found != known.end()) return found->second;
  const Constant* constant = graph.constant(value.node);
  if (!constant || !*constant || !is_integer(constant->element())) return std::nullopt;
  if (constant->shape().rank() > 1) return std::nullopt;
  auto values = read_integers(*constant, longest);
  if (!values) return std::nullopt;
  return *std::move(values);
}

std::optional<Integers> known_integers(const Graph& graph, NodeRef node,
                                       const KnownIntegers& known) {
  const std::string_view kind = node.kind();
  if (kind == "onnx.Shape") return shape_of(graph, node);
  constexpr std::array same{ops::Identity::kind, ops::Cast::kind, ops::Reshape::kind,
                            ops::Squeeze::kind, ops::Unsqueeze::kind};
  constexpr std::array others{ops::Gather::kind, ops::Slice::kind, ops::Concat::kind};
  const auto* row = std::ranges::find(arithmetic_rows, kind, &Arithmetic::kind);
  const bool is_same = std::ranges::find(same, kind) != same.end();
  if (!is_same && row == arithmetic_rows.end() && std::ranges::find(others, kind) == others.end()) {
    return std::nullopt;
  }
  if (graph.result_count(node.id) != 1 || graph.type(node.result()).is_quantized()) {
    return std::nullopt;
  }
  if (kind == ops::Cast::kind) {
    const auto to = ops::Cast{node}.to();
    if (to != ElementType::int64 && to != ElementType::int32) return std::nullopt;
  }
  auto first = integers_of(graph, node.operand(0), known);
  if (!first || is_same) return first;
  if (kind == ops::Slice::kind) return sliced(node, *first);
  if (kind == ops::Concat::kind) {
    Integers result;
    for (const Value operand : node.operands()) {
      const auto part = integers_of(graph, operand, known);
      if (!part) return std::nullopt;
      result.insert(result.end(), part->begin(), part->end());
    }
    if (static_cast<std::int64_t>(result.size()) > longest) return std::nullopt;
    return result;
  }
  const auto second = integers_of(graph, node.operand(1), known);
  if (!second) return std::nullopt;
  if (kind == ops::Gather::kind) return gathered(*first, *second);
  return computed(*row, *first, *second);
}

}  // namespace quadrant::inline v0::tflite
