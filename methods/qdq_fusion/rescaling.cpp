// Operations whose kernels know the parameters of each operand and of the result: sums, products of
// two, and curves of one operand.
#include <algorithm>
#include <cmath>
#include <utility>

#include "qdq_fusion/forms.hpp"
#include "qdq_fusion/fusing.hpp"
#include "qdq_fusion/methods.hpp"
#include "quadrant/engine/macros.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

// Forms that operands might have together, an operand each.
using Combination = std::vector<GivenForm>;

// Every choice of one form for each operand. Few: two operands, of four forms at most each.
std::vector<Combination> combinations(const std::vector<std::vector<GivenForm>>& forms) {
  std::vector<Combination> all{{}};
  for (const std::vector<GivenForm>& of_operand : forms) {
    std::vector<Combination> longer;
    for (const Combination& begun : all) {
      for (const GivenForm& form : of_operand) {
        longer.push_back(begun);
        longer.back().push_back(form);
      }
    }
    all = std::move(longer);
  }
  return all;
}

QUADRANT_PARAMETERIZED(RescalingMethod, QdqFusion, const KernelRule*,
                       requires_parents(variadic(or_absent(AnyState)))) {
  using RescalingMethodBase::RescalingMethodBase;

  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    return fusible(scheme(), node);
  }

  void possible(NodeRef node, Possibilities& possibilities) const override {
    add_forms(scheme(), node, possibilities);
  }

  void request(NodeRef node, Asks& asks) const override {
    const FusedForms& forms = scheme().forms(node.id);
    if (forms.origin && forms.origin != forms.sink) asks.produce(*forms.origin);
  }

  void callback(const GivenForm& wanted, NodeRef node, Asks& asks) const override {
    const KernelRule& rule = *parameters();
    if (const char* const why = refuse_form(rule, wanted)) {
      asks.refuse(why);
      return;
    }
    const DataOperands data = data_operands(node, rule);
    if (rule.operands > data.count) {
      asks.refuse("an operand is missing");
      return;
    }
    std::vector<std::vector<GivenForm>> forms;
    for (std::uint32_t i = 0; i < data.count; ++i) {
      forms.push_back(operand_forms(asks, node, data.first + i));
      if (forms.back().empty()) {
        asks.refuse("an operand is float");
        return;
      }
      // Rounding may come first, in the result's own parameters.
      const bool is_known = std::ranges::find(forms.back(), wanted) != forms.back().end();
      if (commutes(node) && !is_known) forms.back().push_back(wanted);
      // Of many, there would be too many choices.
      if (data.count > 2) forms.back().erase(forms.back().begin() + 1, forms.back().end());
    }
    const char* why = nullptr;
    bool is_asked = false;
    for (const Combination& chosen : combinations(forms)) {
      if (const char* const refusal = refuse(node, chosen, wanted)) {
        why = refusal;
        continue;
      }
      std::vector<Asks::Need> needs;
      needs.reserve(data.count);
      for (std::uint32_t i = 0; i < data.count; ++i) needs.push_back({data.first + i, chosen[i]});
      asks.compute(needs);
      is_asked = true;
    }
    if (!is_asked) asks.refuse(why);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return set_forms(node, context);
  }

 private:
  [[nodiscard]] bool commutes(NodeRef node) const {
    return parameters()->commutes != nullptr && parameters()->commutes(node);
  }

  [[nodiscard]] const char* refuse(NodeRef node, const Combination& chosen,
                                   const GivenForm& wanted) const {
    const KernelRule& rule = *parameters();
    double product = 1;
    double sum = 0;
    for (const GivenForm& form : chosen) {
      if (const char* const why = refuse_form(rule, form)) return why;
      if (form.storage() != wanted.storage()) return "codes of different types meet";
      const double ratio = static_cast<double>(form.scale) / static_cast<double>(wanted.scale);
      product *= static_cast<double>(form.scale);
      sum += std::abs(ratio);
      if (!rule.is_product && !fits(ratio, form)) return too_far;
    }
    const double of_product = product / static_cast<double>(wanted.scale);
    if (rule.is_product && !fits(of_product, wanted)) return too_far;
    const bool is_of_bytes = bit_width(wanted.storage()) == 8;
    const double together = rule.is_product ? std::abs(of_product) : sum;
    if (is_of_bytes && together > rule.most_of_8_bits) return too_far;
    return rule.refusal == nullptr ? nullptr : rule.refusal(node, chosen.front(), wanted);
  }

  [[nodiscard]] bool fits(double ratio, const GivenForm& form) const {
    const KernelRule& rule = *parameters();
    const bool is_wide = form.storage() == ElementType::int16;
    const target_kernels::Ratio accepted{
        rule.ratio.low,
        is_wide && std::isfinite(rule.most_of_16_bits) ? rule.most_of_16_bits : rule.ratio.high};
    return accepted.contains(std::abs(ratio));
  }

  static constexpr const char* too_far = "the scales are too far apart for the kernel";
};

}  // namespace

void register_rescaling(QdqFusion::Registration& methods, const KernelRule& rule) {
  methods.add_parameterized<RescalingMethod>(rule.kind, &rule);
}

}  // namespace quadrant::inline v0::qdq_fusion
