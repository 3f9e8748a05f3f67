#include "static_affine/element_moves.hpp"

#include <optional>

#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::static_affine {

const Constant* constant_behind(const GraphView& graph, Value value) {
  constexpr int most_moves = 8;  // a limit, so that a chain of moves is not walked by each reader
  for (int moves = 0; moves < most_moves && !value.is_absent(); ++moves) {
    if (const Constant* constant = graph.constant(value.node)) return constant;
    const NodeRef node{&graph, value.node};
    if (!is_move(node)) return nullptr;
    value = node.operand(0);
  }
  return nullptr;
}

std::optional<std::int64_t> axis_at_constant(const GraphView& graph, Value value,
                                             std::int64_t channel) {
  Granularity groups = Granularity::per_axis(channel);
  while (graph.constant(value.node) == nullptr) {
    const NodeRef node{&graph, value.node};
    const Move* const move = find_move(node);
    const auto source = move == nullptr ? std::nullopt : move->source(node, groups);
    if (!source || source->kind != Granularity::Kind::axis) return std::nullopt;
    groups = *source;
    value = node.operand(0);
  }
  return groups.axis;
}

std::vector<Value> moved_values(const GraphView& graph, Value constant) {
  std::vector<Value> moved{constant};
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const Value value = moved[i];
    for (const Use& use : graph.uses(value.node)) {
      if (use.result != value.result || use.operand != 0 || !is_move({&graph, use.user})) continue;
      for (std::uint32_t result = 0; result < graph.result_count(use.user); ++result) {
        moved.push_back({use.user, result});
      }
    }
  }
  return moved;
}

bool chooses_elements(NodeRef node) noexcept { return has_trait(node, Trait::takes_elements); }

bool is_move(NodeRef node) { return traits_of(node).contains(Trait::stays_in_range); }

}  // namespace quadrant::inline v0::static_affine
