// Operations that move elements without changing them: the codes move alike, and the scales follow
// their groups.
#include <memory>
#include <variant>

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/move.hpp"
#include "weight_only/relabel.hpp"
#include "weight_only/stored.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

QUADRANT_PARAMETERIZED(MoveMethod, WeightOnly, std::monostate,
                       requires_parents(AnyQuantizable, variadic(or_absent(AnyState)))) {
  using MoveMethodBase::MoveMethodBase;

  void callback(const Granularity& wanted, NodeRef node, Asks& asks) const override {
    ask_operand(scheme(), node, wanted, asks);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return move_codes(*find_move(node), node, context);
  }
};

// A reshape of a weight that nobody else reads is a weight itself, and groups that the weight could
// not have are found for its result.
QUADRANT_PARAMETERIZED(ReshapeMethod, WeightOnly, std::monostate,
                       requires_parents(AnyQuantizable, or_absent(AnyState))) {
  using ReshapeMethodBase::ReshapeMethodBase;

  void callback(const Granularity& wanted, NodeRef node, Asks& asks) const override {
    if (stored_here(wanted, node) != nullptr) {
      asks.accept();
    } else {
      ask_operand(scheme(), node, wanted, asks);
    }
  }

  [[nodiscard]] std::optional<StorageChange> storage(const Granularity& constraint,
                                                     NodeRef node) const override {
    const Constant* weight = stored_here(constraint, node);
    if (weight == nullptr) return std::nullopt;
    return stored_size(scheme(), *weight, node.type().shape, constraint);
  }

  [[nodiscard]] Expected<void> examine(const Granularity& selected, NodeRef node,
                                       DataContext& context) const override {
    const Constant* weight = stored_here(selected, node);
    if (weight == nullptr) return {};
    return examine_weight(scheme(), node, weight->reshaped(node.type().shape), selected, context);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto& selected = context.selected<Granularity>(node.result());
    const Constant* weight = stored_here(selected, node);
    if (weight == nullptr) return move_codes(*find_move(node), node, context);
    QUADRANT_TRY(
        StoredWeight stored,
        stored_weight(scheme(), node, weight->reshaped(node.type().shape), selected, context));
    QUADRANT_TRY(const Value made,
                 context.emit_constant(std::string(context.view().value_name(node.result())),
                                       std::move(stored.codes), std::move(stored.quantization)));
    return context.take_place(node.result(), made, "_reshaped");
  }

 private:
  // The float weight that the node alone reads; null when there is none.
  static const Constant* own_weight(NodeRef node) {
    const Constant* weight = node.operand_constant(0);
    if (weight == nullptr || node.graph->uses(node.operand(0).node).size() != 1) return nullptr;
    const bool fits = node.type().shape.element_count() == weight->element_count();
    return fits && is_float(weight->element()) ? weight : nullptr;
  }

  // The same if its codes are made here, in these groups.
  [[nodiscard]] const Constant* stored_here(const Granularity& groups, NodeRef node) const {
    const bool moves = scheme().is_uniform() && find_move(node)->source(node, groups);
    return moves ? nullptr : own_weight(node);
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

// Between float types: the codes stay, and express another type. Rounded once, from float32.
QUADRANT_QUANTIZER(CastMethod, WeightOnly, ops::Cast, requires_parents(AnyQuantizable)) {
  void callback(const Granularity& wanted, NodeRef node, Asks& asks) const override {
    const auto to = ops::Cast{node}.to();
    if (to && is_float(*to) && !scheme().is_uniform()) {
      asks.refuse(stays_in_place);
    } else if (to && is_float(*to)) {
      asks.alternative({{0, wanted}});
    } else {
      asks.refuse("it makes no real numbers");
    }
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const Value codes = node.operand(0);
    const std::string name(context.view().value_name(node.result()));
    auto changed = std::make_shared<UniformType>(*context.quantization(codes));
    changed->expressed = ops::Cast{node}.to().value_or(changed->expressed);
    QUADRANT_TRY(const Value made, relabel(codes, std::move(changed), name, context));
    return context.take_place(node.result(), made, "_cast");
  }
};

// Of operand 0; a lookup is more than that.
bool is_move(const Operation& row) {
  return row.move != nullptr && row.traits.contains(Trait::takes_elements) &&
         row.kind != ops::Gather::kind;
}

bool reshapes(const Operation& row) {
  return row.traits.contains(Trait::keeps_order) && !row.traits.contains(Trait::keeps_shape);
}

}  // namespace

void register_moves(WeightOnly::Registration& methods) {
  methods.add_where<MoveMethod>(
      [](const Operation& row) { return is_move(row) && !reshapes(row); });
  methods.add_where<ReshapeMethod>(
      [](const Operation& row) { return is_move(row) && reshapes(row); });
  methods.add<ConcatMethod>();
  methods.add<CastMethod>();
}

}  // namespace quadrant::inline v0::weight_only
