// Operations that move elements without changing them: the codes move alike, and the scales follow
// their groups.
#include <memory>
#include <variant>

#include "numerics/moved_weight.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/move.hpp"
#include "weight_only/relabel.hpp"
#include "weight_only/stored.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// The float weight whose codes are made at `node`, behind what moves it, where the groups are none
// that the weight could have, or where its codes cannot move; null for others.
const Constant* stored_here(const WeightOnly& scheme, const Granularity& groups, NodeRef node) {
  if (!scheme.is_uniform()) return own_weight(node);
  const bool reshapes = has_trait(node, Trait::keeps_order) && node.operand_constant(0) != nullptr;
  return reshapes && !find_move(node)->source(node, groups) ? own_weight(node) : nullptr;
}

// Casts between float types leave codes as they are.
void ask_for_codes(const WeightOnly& scheme, const Granularity& wanted, NodeRef node,
                   Asks<Granularity>& asks) {
  if (node.kind() != ops::Cast::kind) {
    ask_operand(scheme, node, wanted, asks);
    return;
  }
  const auto to = ops::Cast{node}.to();
  if (to && is_float(*to) && !scheme.is_uniform()) {
    asks.refuse(stays_in_place);
  } else if (to && is_float(*to)) {
    asks.alternative({{0, wanted}});
  } else {
    asks.refuse("its result is not float");
  }
}

// The codes of a Cast express another type. Rounded once, from float32.
Expected<void> express(NodeRef node, RewriteContext& context) {
  const Value codes = node.operand(0);
  const std::string name(context.view().value_name(node.result()));
  auto changed = std::make_shared<UniformType>(*context.quantization(codes));
  changed->expressed = ops::Cast{node}.to().value_or(changed->expressed);
  QUADRANT_TRY(const Value made, relabel(codes, std::move(changed), name, context));
  return context.take_place(node.result(), made, "_cast");
}

// What makes codes of a weight that it moves, or lets the codes move.
QUADRANT_PARAMETERIZED(MoveMethod, WeightOnly, std::monostate,
                       requires_parents(AnyQuantizable, variadic(or_absent(AnyState)))) {
  using MoveMethodBase::MoveMethodBase;

  void callback(const Granularity& wanted, NodeRef node, Asks& asks) const override {
    if (stored_here(scheme(), wanted, node) != nullptr) {
      asks.accept();
    } else {
      ask_for_codes(scheme(), wanted, node, asks);
    }
  }

  [[nodiscard]] std::optional<StorageChange> storage(const Granularity& constraint,
                                                     NodeRef node) const override {
    const Constant* weight = stored_here(scheme(), constraint, node);
    if (weight == nullptr) return std::nullopt;
    return stored_size(scheme(), *weight, node.type().shape, constraint);
  }

  [[nodiscard]] Expected<void> examine(const Granularity& selected, NodeRef node,
                                       DataContext& context) const override {
    const Constant* weight = stored_here(scheme(), selected, node);
    if (weight == nullptr) return {};
    QUADRANT_TRY(const Constant moved, moved_weight(node, *weight));
    return examine_weight(scheme(), node, moved, selected, context);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto& selected = context.selected<Granularity>(node.result());
    const Constant* weight = stored_here(scheme(), selected, node);
    if (weight == nullptr && node.kind() == ops::Cast::kind) return express(node, context);
    if (weight == nullptr) return move_codes(*find_move(node), node, context);
    QUADRANT_TRY(const Constant moved, moved_weight(node, *weight));
    QUADRANT_TRY(StoredWeight stored, stored_weight(scheme(), node, moved, selected, context));
    QUADRANT_TRY(const Value made,
                 context.emit_constant(std::string(context.view().value_name(node.result())),
                                       std::move(stored.codes), std::move(stored.quantization)));
    return context.take_place(node.result(), made, "_moved");
  }
};

QUADRANT_QUANTIZER(ConcatMethod, WeightOnly, ops::Concat,
                   requires_parents(variadic(AnyQuantizable))) {
  void callback(const Granularity& wanted, NodeRef node, Asks& asks) const override {
    // The same of every operand.
    const auto groups = moved_groups(scheme(), node, wanted, asks);
    if (!groups) return;
    std::vector<Asks::Need> needs;
    for (std::uint32_t i = 0; i < node.operands().size(); ++i) needs.push_back({i, *groups});
    asks.alternative(needs);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return move_codes(*find_move(node), node, context);
  }
};

// Of operand 0; a lookup is more than that.
bool is_move(const Operation& row) {
  return row.move != nullptr && row.traits.contains(Trait::takes_elements) &&
         row.kind != ops::Gather::kind;
}

}  // namespace

void register_moves(WeightOnly::Registration& methods) {
  methods.add_where<MoveMethod>(
      [](const Operation& row) { return is_move(row) || row.kind == ops::Cast::kind; });
  methods.add<ConcatMethod>();
}

}  // namespace quadrant::inline v0::weight_only
