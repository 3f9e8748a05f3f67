// Operations whose kernels take codes as they are: operands and results mean the same.
#include <algorithm>

#include "qdq_fusion/forms.hpp"
#include "qdq_fusion/fusing.hpp"
#include "qdq_fusion/methods.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

QUADRANT_PARAMETERIZED(SameMethod, QdqFusion, const KernelRule*,
                       requires_parents(variadic(or_absent(AnyState)))) {
  using SameMethodBase::SameMethodBase;

  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    return fusible(scheme(), node);
  }

  void possible(NodeRef node, Possibilities& possibilities) const override {
    add_forms(scheme(), node, possibilities);
    if (const auto before = mean_before(node)) possibilities.add(*before);
  }

  // What moves codes as they are moves less than real numbers, whoever reads them.
  void request(NodeRef node, Asks& asks) const override {
    const FusedForms& forms = scheme().forms(node.id);
    if (forms.origin && forms.origin != forms.sink) asks.produce(*forms.origin);
    if (const auto before = mean_before(node)) asks.produce(*before);
  }

  void callback(const GivenForm& wanted, NodeRef node, Asks& asks) const override {
    const KernelRule& rule = *parameters();
    // What only moves elements moves those of any codes.
    const bool is_plain_move = find_move(node) != nullptr;
    const char* why =
        is_plain_move && !wanted.is_per_tensor() ? nullptr : refuse_form(rule, wanted);
    if (why == nullptr && rule.refusal != nullptr) why = rule.refusal(node, wanted, wanted);
    if (why != nullptr) {
      asks.refuse(why);
      return;
    }
    const DataOperands data = data_operands(node, rule);
    const bool commutes = rule.commutes != nullptr && rule.commutes(node);
    if (!commutes && !holds(asks, node, wanted)) {
      asks.refuse("its operand has other parameters, and a mean is no choice of elements");
      return;
    }
    std::vector<Asks::Need> needs;
    for (std::uint32_t i = data.first; i < data.first + data.count; ++i) {
      if (node.operand(i).is_absent()) continue;
      const auto before = form_before(node, i, wanted);
      if (!before) {
        asks.refuse("the scales of its result are not those of its operand");
        return;
      }
      needs.push_back({i, *before});
    }
    asks.compute(needs);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return set_forms(node, context);
  }

 private:
  // Whether the operand can be these codes without being rounded to them.
  [[nodiscard]] bool holds(const Asks& asks, NodeRef node, const GivenForm& wanted) const {
    const auto forms = operand_forms(asks, node, parameters()->first);
    return std::ranges::find(forms, wanted) != forms.end();
  }

  // What takes means of codes makes codes of the same form, which are requantized to what is asked
  // for: two roundings, each of half a step, if the operand's steps are no longer than those of the
  // result. To requantize the operand could cut off what its mean needs.
  [[nodiscard]] std::optional<GivenForm> mean_before(NodeRef node) const {
    const KernelRule& rule = *parameters();
    const FusedForms& forms = scheme().forms(node.id);
    const bool commutes = rule.commutes != nullptr && rule.commutes(node);
    const bool adds_nothing = scheme().options().target == KernelsTarget::webnn;
    if (!forms.sink || commutes || adds_nothing) return std::nullopt;
    const auto& before = scheme().forms(node.operand(rule.first).node).origin;
    const bool is_finer = before && before != forms.sink && before->is_per_tensor() &&
                          before->storage() == forms.sink->storage() &&
                          before->scale <= forms.sink->scale * (1 + 1e-6F);
    return is_finer ? before : std::nullopt;
  }

  // The operand's form of which the result is `wanted`: of an axis, the one that it comes with.
  [[nodiscard]] std::optional<GivenForm> form_before(NodeRef node, std::uint32_t operand,
                                                     const GivenForm& wanted) const {
    if (wanted.is_per_tensor()) return wanted;
    const FusedForms& before = scheme().forms(node.operand(operand).node);
    return scheme().forms(node.id).origin == wanted ? before.origin : std::nullopt;
  }
};

}  // namespace

void register_same(QdqFusion::Registration& methods, const KernelRule& rule) {
  methods.add_parameterized<SameMethod>(rule.kind, &rule);
}

}  // namespace quadrant::inline v0::qdq_fusion
