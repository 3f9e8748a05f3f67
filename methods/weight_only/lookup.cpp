// Gather: an embedding lookup asks for a scale a row of its table. Where scales differ along
// another axis, it is a move.
#include <algorithm>

#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/move.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// Bytes that are made places: codes that a table gives their meaning.
bool are_codes(NodeRef places) {
  return places.kind() == ops::Cast::kind && places.operand_constant(0) != nullptr;
}

// What constant codes stand for before scales: cast, or looked up, and moved.
bool are_levels(const GraphView& graph, Value value) {
  constexpr int most_moves = 8;
  for (int i = 0; i < most_moves && !value.is_absent(); ++i) {
    const NodeRef maker{&graph, value.node};
    if (are_codes(maker)) return true;
    if (maker.kind() == ops::Gather::kind) return are_codes({&graph, maker.operand(1).node});
    if (maker.operands().empty()) return false;
    value = maker.operand(0);
  }
  return false;
}

// Rows at places that are known, which codes are multiplied by.
bool are_scales(NodeRef lookup) {
  if (lookup.operand_constant(1) == nullptr) return false;
  return std::ranges::any_of(lookup.graph->uses(lookup.id), [&](const Use& use) {
    const NodeRef reader{lookup.graph, use.user};
    return reader.kind() == ops::Multiply::kind &&
           are_levels(*lookup.graph, reader.operand(1 - use.operand));
  });
}

QUADRANT_QUANTIZER(LookupMethod, WeightOnly, ops::Gather,
                   requires_parents(AnyQuantizable, AnyState)) {
  void callback(const Granularity& wanted, NodeRef node, Asks& asks) const override {
    ask_operand(scheme(), node, wanted, asks);
  }

  void request(NodeRef node, Asks& asks) const override {
    if (are_codes({node.graph, node.operand(1).node})) {
      asks.refuse("its places are codes: the table says what they mean");
      return;
    }
    if (are_scales(node)) {
      asks.refuse("it looks up the scales of a weight that is computed of codes");
      return;
    }
    const Shape& table = node.operand_type(0)->shape;
    const auto rows = ops::Gather{node}.axis();
    if (!rows || table.rank() < 2) {
      asks.refuse("a list of numbers has no rows");
      return;
    }
    // What a row holds: the last axis, or the one before where rows are the last.
    const std::int64_t along = *rows == table.rank() - 1 ? table.rank() - 2 : table.rank() - 1;
    if (const auto groups = scheme().groups(table, *rows, along)) asks.benefit(0, *groups);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return move_codes(*find_move(node), node, context);  // none, where it reads floats
  }
};

}  // namespace

void register_lookup(WeightOnly::Registration& methods) { methods.add<LookupMethod>(); }

}  // namespace quadrant::inline v0::weight_only
