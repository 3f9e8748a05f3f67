#include "weight_only/move.hpp"

namespace quadrant::inline v0::weight_only {

void ask_operand(const Move& move, NodeRef node, const Granularity& wanted,
                 Asks<Granularity>& asks) {
  if (const auto groups = move.source(node, wanted)) {
    asks.alternative({{0, *groups}});
  } else {
    asks.refuse(move.refusal);
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
