#include "ir/fold_moves.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/put_in_place.hpp"
#include "ir/same_numbers.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

bool reorders(std::string_view kind) {
  constexpr std::array kinds{ops::Transpose::kind, ops::Slice::kind, ops::Split::kind,
                             ops::Concat::kind};
  return std::ranges::find(kinds, kind) != kinds.end();
}

/// Moves by constants alone.
bool is_plain_move(NodeRef node) {
  return has_trait(node, Trait::keeps_order) || reorders(node.kind());
}

/// How many operands hold what is moved; those behind say how.
std::size_t data_count(NodeRef node) {
  return node.kind() == ops::Concat::kind ? node.operands().size() : 1;
}

/// Contents that are moved, at hand.
struct Source {
  ConstantBytes bytes;
  std::vector<std::int64_t> strides;
};

/// The contents of result `result`.
Expected<Constant> moved_contents(const Move& move, NodeRef node, std::uint32_t result) {
  const Shape& shape = node.type(result).shape;
  const Constant& first = *node.operand_constant(0);
  if (!reorders(node.kind())) return first.reshaped(shape);
  std::vector<Source> sources;
  for (std::size_t i = 0; i < data_count(node); ++i) {
    QUADRANT_TRY(ConstantBytes bytes, node.operand_constant(i)->read());
    sources.push_back({std::move(bytes), node.operand_constant(i)->shape().strides()});
  }
  const auto width = static_cast<std::size_t>(byte_width(first.element()));
  const Origin origin = move.origin(node, result);
  const auto count = static_cast<std::size_t>(shape.element_count().value_or(0));
  std::vector<std::byte> moved(count * width);
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()), 0);
  std::vector<std::int64_t> from(static_cast<std::size_t>(first.shape().rank()), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Source& source = sources[origin(at, from)];
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      offset += from[axis] * source.strides[axis];
    }
    std::memcpy(&moved[i * width], &source.bytes.bytes()[static_cast<std::size_t>(offset) * width],
                width);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < shape[static_cast<std::int64_t>(axis)].value()) break;
      at[axis] = 0;
    }
  }
  return Constant::from_bytes(first.element(), shape, std::move(moved));
}

/// Whether the node says where each element comes from. `Move::origin` otherwise gives any of the
/// same scale: enough for scales, not for contents.
bool is_known_move(NodeRef node) {
  if (node.kind() == ops::Slice::kind) return ops::Slice{node}.ranges().has_value();
  return node.kind() != ops::Split::kind || ops::Split{node}.offsets().has_value();
}

/// Whether the node moves nothing but constants of plain integers of 4 bits, to no more elements.
bool moves_plain_4_bits(NodeRef node) {
  if (!is_plain_move(node) || node.graph->result_count(node.id) != 1) return false;
  std::int64_t available = 0;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (node.operand(i).is_absent()) continue;
    const Constant* const constant = node.operand_constant(i);
    if (constant == nullptr || !*constant) return false;
    if (i >= data_count(node)) continue;
    const TensorType& type = *node.operand_type(i);
    const bool has_4_bits = type.element == ElementType::int4 || type.element == ElementType::uint4;
    if (type.is_quantized() || !has_4_bits || constant->element() != type.element) return false;
    available += constant->element_count();
  }
  const auto count = node.type().shape.element_count();
  return count && *count <= available && is_known_move(node);
}

class FoldPass {
 public:
  explicit FoldPass(Graph& graph) : graph_(graph) {}

  Expected<void> run() {
    QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order) {
      if (!is_plain_move(graph_.ref(id))) continue;
      QUADRANT_TRY(const NodeId moved, before_dequantize(id));
      QUADRANT_CHECK(fold(moved));
    }
    return {};
  }

 private:
  /// Constant codes whose move is wanted; null for others.
  [[nodiscard]] const Constant* codes_of(Value value) const {
    const Constant* found = value.is_absent() ? nullptr : graph_.constant(value.node);
    return found != nullptr && *found && graph_.type(value).is_quantized() ? found : nullptr;
  }

  /// The groups of the node's result that are the operand's; empty where none are.
  [[nodiscard]] static std::optional<Granularity> groups_behind(const Move& move, NodeRef node,
                                                                const Granularity& operand) {
    std::vector<Granularity> wanted{Granularity::per_tensor()};
    for (std::int64_t axis = 0; axis < node.type().shape.rank(); ++axis) {
      wanted.push_back(Granularity::per_axis(axis));
    }
    for (const Granularity& groups : wanted) {
      if (move.source(node, groups) == operand) return groups;
    }
    return std::nullopt;
  }

  /// move(dequantize(codes)) becomes dequantize(move(codes)); gives the move.
  Expected<NodeId> before_dequantize(NodeId id) {
    const NodeRef node = graph_.ref(id);
    const Value real = node.operand(0);
    if (real.is_absent() || graph_.result_count(id) != 1 || node.type().is_quantized() ||
        data_count(node) != 1 || graph_.kind(real.node) != ops::Dequantize::kind) {
      return id;
    }
    const Value codes = graph_.operands(real.node)[0];
    const TensorType type = graph_.type(codes);
    if (!codes_of(codes) || !node.type().shape.is_static()) return id;
    const Move& move = *find_move(node);
    const auto groups = groups_behind(move, node, type.uniform()->granularity);
    if (!groups) return id;
    std::vector<Value> operands(node.operands().begin(), node.operands().end());
    operands.front() = codes;
    const TensorType made{node.type().element, node.type().shape, nullptr};
    const NodeId moved = graph_.add({.kind = std::string(node.kind()),
                                     .operands = std::move(operands),
                                     .results = {{std::string(graph_.value_name({id})) + "_codes",
                                                  {type.element, made.shape, type.quantization}}},
                                     .attributes = graph_.attributes(id)});
    QUADRANT_TRY(auto moved_to, moved_type(move, graph_.ref(moved), 0, *groups));
    graph_.set_type({moved}, {type.element, made.shape, std::move(moved_to)});
    const NodeId back = graph_.add({.kind = std::string(ops::Dequantize::kind),
                                    .operands = {Value{moved}},
                                    .results = {{std::string(graph_.value_name({id})), made}}});
    take_place({id}, {back});
    return moved;
  }

  Expected<void> fold(NodeId id) {
    const NodeRef node = graph_.ref(id);
    std::int64_t available = 0;
    for (std::size_t i = 0; i < node.operands().size(); ++i) {
      const bool is_data = i < data_count(node);
      const Constant* constant = node.operand_constant(i);
      if (!is_data && (node.operand(i).is_absent() || constant != nullptr)) continue;
      if (!is_data || codes_of(node.operand(i)) == nullptr || bit_width(constant->element()) < 8 ||
          constant->element() != node.operand_type(0)->element) {
        return {};
      }
      available += constant->element_count();
    }
    if (available == 0 || !is_known_move(node)) return {};
    const Move& move = *find_move(node);
    std::int64_t elements = 0;
    for (std::uint32_t result = 0; result < graph_.result_count(id); ++result) {
      const TensorType& type = node.type(result);
      const auto count = type.shape.element_count();
      if (!type.is_quantized() || !count) return {};
      elements += *count;
      const Granularity& groups = type.uniform()->granularity;
      if (!move.source(node, groups)) return {};
      QUADRANT_TRY(const auto follows, moved_type(move, node, result, groups));
      if (!have_same_numbers(*follows, *type.uniform())) return {};
    }
    if (elements > available) return {};
    for (std::uint32_t result = 0; result < graph_.result_count(id); ++result) {
      const TensorType type = graph_.type({id, result});
      QUADRANT_TRY(Constant moved, moved_contents(move, graph_.ref(id), result));
      const NodeId made =
          graph_.add({.kind = std::string(ops::Constant::kind),
                      .results = {{std::string(graph_.value_name({id, result})), type}},
                      .constant = std::move(moved)});
      take_place({id, result}, {made});
    }
    return {};
  }

  /// `made` has the readers and the name of `value`.
  void take_place(Value value, Value made) {
    graph_.replace_uses(value, made);
    std::string name(graph_.value_name(value));
    graph_.set_value_name(value, name + "_before");
    graph_.set_value_name(made, std::move(name));
  }

  Graph& graph_;
};

}  // namespace

Expected<void> fold_moved_codes(Graph& graph) { return FoldPass(graph).run(); }

Expected<void> fold_moves_of_4_bits(Graph& graph) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) {
    if (!graph.contains(id) || !moves_plain_4_bits(graph.ref(id))) continue;
    const NodeRef node = graph.ref(id);
    QUADRANT_TRY(Constant moved, moved_contents(*find_move(node), node, 0));
    const std::string name(graph.value_name({id}));
    put_in_place(graph, id, graph.add_constant(name, std::move(moved)));
  }
  return {};
}

}  // namespace quadrant::inline v0
