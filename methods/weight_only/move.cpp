#include "weight_only/move.hpp"

namespace quadrant::inline v0::weight_only {

std::optional<Granularity> moved_groups(const WeightOnly& scheme, NodeRef node,
                                        const Granularity& wanted, Asks<Granularity>& asks) {
  if (!scheme.is_uniform()) {
    asks.refuse(stays_in_place);
    return std::nullopt;
  }
  const Move& move = *find_move(node);
  auto groups = move.source(node, wanted);
  if (!groups) asks.refuse(move.refusal);
  return groups;
}

void ask_operand(const WeightOnly& scheme, NodeRef node, const Granularity& wanted,
                 Asks<Granularity>& asks) {
  if (const auto groups = moved_groups(scheme, node, wanted, asks)) {
    asks.alternative({{0, *groups}});
  }
}

Expected<void> move_codes(const Move& move, NodeRef node, RewriteContext& context) {
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    const auto* groups = context.form<Granularity>(node.result(i));
    if (groups == nullptr) continue;
    QUADRANT_TRY(auto type, moved_type(move, node, i, *groups));
    QUADRANT_CHECK(context.set_quantized(node.result(i), std::move(type)));
  }
  return {};
}

}  // namespace quadrant::inline v0::weight_only
