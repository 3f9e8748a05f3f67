#include "io/tflite/known_integers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/result_type.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

constexpr std::int64_t longest = 64;

std::optional<IntegerList> extents_of(const GraphView& graph, NodeRef node) {
  const Shape& shape = graph.type(node.operand(0)).shape;
  if (!shape.is_ranked()) return std::nullopt;
  const std::int64_t rank = shape.rank();
  const auto bound = [&](std::string_view name, std::int64_t fallback) {
    const auto at = node.attribute_or<std::int64_t>(name, fallback);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t first = bound("start", 0);
  const std::int64_t last = std::max(first, bound("end", rank));
  IntegerList extents;
  for (std::int64_t axis = first; axis < last; ++axis) {
    const auto number = shape[axis].known();
    extents.push_back(number ? KnownInteger{.number = number}
                             : KnownInteger{std::nullopt, node.operand(0), axis});
  }
  return extents;
}

std::optional<IntegerList> gathered(const IntegerList& data, const IntegerList& indices) {
  IntegerList result;
  for (const KnownInteger& index : indices) {
    if (!index.number) return std::nullopt;
    const auto at = normalize_axis(*index.number, static_cast<std::int64_t>(data.size()));
    if (!at) return std::nullopt;
    result.push_back(data[static_cast<std::size_t>(*at)]);
  }
  return result;
}

std::optional<IntegerList> sliced(NodeRef node, const IntegerList& data) {
  const auto ranges = ops::Slice{node}.ranges();
  if (!ranges || ranges->size() != 1) return std::nullopt;
  const auto& range = ranges->front();
  IntegerList result;
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
  std::int64_t neutral;  ///< as the second of the two, it changes nothing
};

constexpr std::int64_t largest = std::int64_t{1} << 31U;

constexpr std::array arithmetic_rows{
    Arithmetic{ops::Add::kind, [](std::int64_t a, std::int64_t b) { return a + b; }, 0},
    Arithmetic{ops::Multiply::kind, [](std::int64_t a, std::int64_t b) { return a * b; }, 1},
    Arithmetic{ops::Sub::kind, [](std::int64_t a, std::int64_t b) { return a - b; }, 0},
    Arithmetic{ops::Div::kind, [](std::int64_t a, std::int64_t b) { return b > 0 ? a / b : -1; },
               1},
};

std::optional<IntegerList> computed(const Arithmetic& row, const IntegerList& a,
                                    const IntegerList& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  IntegerList result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const KnownInteger& x = a[a.size() == 1 ? 0 : i];
    const KnownInteger& y = b[b.size() == 1 ? 0 : i];
    if (!x.number || !y.number) {
      result.push_back(y.number == row.neutral ? x : KnownInteger{});
      continue;
    }
    if (*x.number < 0 || *y.number < 0 || *x.number > largest || *y.number > largest) {
      return std::nullopt;
    }
    const std::int64_t value = row.compute(*x.number, *y.number);
    if (value < 0) return std::nullopt;
    result.push_back({.number = value});
  }
  return result;
}

}  // namespace

std::optional<IntegerList> integers_of(const Graph& graph, Value value,
                                       const KnownIntegers& known) {
  if (value.is_absent()) return std::nullopt;
  if (const auto found = known.find(value); found != known.end()) return found->second;
  const Constant* constant = graph.constant(value.node);
  if (!constant || !*constant || !is_integer(constant->element())) return std::nullopt;
  if (constant->shape().rank() > 1) return std::nullopt;
  const auto values = read_integers(*constant, longest);
  if (!values) return std::nullopt;
  IntegerList integers;
  for (const std::int64_t number : *values) integers.push_back({.number = number});
  return integers;
}

std::optional<IntegerList> known_integers(const Graph& graph, NodeRef node,
                                          const KnownIntegers& known) {
  const std::string_view kind = node.kind();
  if (kind == ops::ShapeOf::kind) return extents_of(graph, node);
  constexpr std::array others{ops::Gather::kind, ops::Slice::kind, ops::Concat::kind};
  const auto* row = std::ranges::find(arithmetic_rows, kind, &Arithmetic::kind);
  const bool is_same = kind == ops::Cast::kind || has_trait(node, Trait::keeps_order);
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
    IntegerList result;
    for (const Value operand : node.operands()) {
      const auto part = integers_of(graph, operand, known);
      if (!part) return std::nullopt;
      result.insert(result.end(), part->begin(), part->end());
      if (static_cast<std::int64_t>(result.size()) > longest) return std::nullopt;
    }
    return result;
  }
  const auto second = integers_of(graph, node.operand(1), known);
  if (!second) return std::nullopt;
  if (kind == ops::Gather::kind) return gathered(*first, *second);
  return computed(*row, *first, *second);
}

namespace {

/// The operand along whose axis `axis` the result of `node` has the same extent; absent where that
/// is not sure. Where ranks differ, the last axes are the same; `axis` becomes that of the operand.
Value handed_on(NodeRef node, std::int64_t& axis) {
  const Value first = node.operand(0);
  if (first.is_absent() || !node.operand_type(0)->shape.is_ranked()) return {};
  if (has_trait(node, Trait::keeps_shape)) return first;
  const bool keeps_batch = node.kind() == ops::Conv::kind ||
                           node.kind() == ops::ConvTranspose::kind || node.kind().ends_with("Pool");
  if (keeps_batch) return axis == 0 ? first : Value{};
  if (!has_trait(node, Trait::stretches)) return {};
  // Of operands that are stretched, the one that is not known to be 1 there, if it is alone.
  Value found;
  std::int64_t found_axis = 0;
  const std::int64_t rank = node.type().shape.rank();
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (node.operand(i).is_absent()) continue;
    const Shape& shape = node.operand_type(i)->shape;
    if (!shape.is_ranked()) return {};
    const std::int64_t at = axis - (rank - shape.rank());
    if (at < 0 || surely_equal(shape[at], 1)) continue;
    if (!found.is_absent()) return {};
    found = node.operand(i);
    found_axis = at;
  }
  axis = found_axis;
  return found;
}

/// Where an extent comes from: a value of which nothing more is known.
std::pair<Value, std::int64_t> origin_of(const Graph& graph, Value value, std::int64_t axis) {
  constexpr int most_steps = 256;  // so that a chain is not walked by each of its values
  for (int i = 0; i < most_steps; ++i) {
    const Value operand = value.result == 0 ? handed_on(graph.ref(value.node), axis) : Value{};
    if (operand.is_absent()) break;
    value = operand;
  }
  return {value, axis};
}

}  // namespace

bool is_extent(const Graph& graph, const KnownInteger& integer, Value value, std::int64_t axis) {
  if (const auto extent = graph.type(value).shape[axis].known()) return integer.number == extent;
  return !integer.number && !integer.of.is_absent() &&
         origin_of(graph, integer.of, integer.axis) == origin_of(graph, value, axis);
}

Shape shape_of(const IntegerList& integers) {
  std::vector<Extent> extents;
  extents.reserve(integers.size());
  for (const KnownInteger& integer : integers) {
    const bool is_extent = integer.number.value_or(-1) >= 0;
    extents.push_back(is_extent ? Extent(*integer.number) : Extent::open());
  }
  return Shape(std::move(extents));
}

}  // namespace quadrant::inline v0::tflite
