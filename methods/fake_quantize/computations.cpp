// Operations on codes: one method for all families, which say what becomes of the forms.
#include <algorithm>
#include <string>
#include <vector>

#include "fake_quantize/methods.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

QUADRANT_PARAMETERIZED(CodesMethod, FakeQuantizeScheme, const PrecisionRule*,
                       requires_parents(variadic(or_absent(AnyState)))) {
  using CodesMethodBase::CodesMethodBase;

  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    const PendingDequantize& pending = scheme().pending(node.id);
    if (pending.form) return {State::Quantizable};
    return {State::Unquantized, pending.why};
  }

  void possible(NodeRef node, Possibilities& possibilities) const override {
    add_forms(scheme().pending(node.id), node, possibilities);
  }

  // Codes are computed with for their own sake, whoever reads the result.
  void request(NodeRef node, Asks& asks) const override {
    const PendingDequantize& pending = scheme().pending(node.id);
    if (pending.form) asks.produce(*pending.form);
  }

  void callback(const GivenForm& wanted, NodeRef node, Asks& asks) const override {
    const PendingDequantize& pending = scheme().pending(node.id);
    if (wanted != pending.form && !pending.requantizes) {
      asks.refuse("it hands codes on as they are");
      return;
    }
    std::vector<Asks::Need> needs;
    for (const std::uint32_t operand : pending.operands) {
      const auto& form = scheme().pending(node.operand(operand).node).form;
      if (form) needs.push_back({operand, *form});
    }
    asks.compute(needs);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const PendingDequantize& pending = scheme().pending(node.id);
    const auto& made = context.selected<GivenForm>(node.result());
    const Family& family = family_of(*parameters());
    if (family.only_renames && pending.operands.size() == 1 && made == pending.form) {
      return rename(node, pending.operands.front(), made, context);
    }
    for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
      if (context.form<GivenForm>(node.result(i)) == nullptr) continue;
      QUADRANT_CHECK(context.set_quantized(node.result(i), made.type));
    }
    const auto term = family.term == nullptr ? std::nullopt : family.term(node);
    if (!term || !pending.form) return {};
    return encode_term(node, *term, *pending.form, context);
  }

 private:
  // The same bits mean other numbers.
  static Expected<void> rename(NodeRef node, std::uint32_t operand, const GivenForm& made,
                               RewriteContext& context) {
    const std::string name(node.graph->value_name(node.result()));
    const Shape shape = node.type().shape;
    QUADRANT_TRY(const Value bits, context.emit(ops::StorageCast::kind, {node.operand(operand)},
                                                name + "_codes", {made.storage(), shape, nullptr}));
    QUADRANT_TRY(const Value recast, context.emit(ops::StorageCast::kind, {bits}, name + "_recast",
                                                  {made.storage(), shape, made.type}));
    return context.replace(node.result(), recast);
  }
};

}  // namespace

void register_computations(FakeQuantizeScheme::Registration& methods,
                           const LowPrecisionProfile& target) {
  for (const PrecisionRule& rule : target.rules) {
    methods.add_parameterized<CodesMethod>(rule.kind, &rule);
  }
}

}  // namespace quadrant::inline v0::low_precision
