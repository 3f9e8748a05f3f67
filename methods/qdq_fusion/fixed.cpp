// Operations whose results lie in a range that is known, which kernels have fixed parameters for.
// Other parameters are requantized to, where they are not much finer than what the kernel gives.
#include <cmath>

#include "qdq_fusion/fusing.hpp"
#include "qdq_fusion/methods.hpp"
#include "quadrant/engine/macros.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

bool is_near(const GivenForm& form, const KernelRule& rule) {
  const auto fixed = rule.results.of(form.storage());
  if (!fixed) return false;
  const bool has_any_zero = fixed->has_any_zero && form.scale == fixed->scale;
  return (form.zero_point == fixed->zero || has_any_zero) &&
         fixed->is_near(static_cast<double>(form.scale),
                        form.type->storage_max - form.type->storage_min);
}

double lowest(const GivenForm& form) {
  return static_cast<double>(form.scale) *
         static_cast<double>(form.type->storage_min - form.zero_point);
}

QUADRANT_PARAMETERIZED(FixedMethod, QdqFusion, const KernelRule*,
                       requires_parents(variadic(or_absent(AnyState)))) {
  using FixedMethodBase::FixedMethodBase;

  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    return fusible(scheme(), node);
  }

  void possible(NodeRef node, Possibilities& possibilities) const override {
    add_forms(scheme(), node, possibilities);
    if (const auto fixed = fixed_before(node)) possibilities.add(*fixed);
  }

  void request(NodeRef node, Asks& asks) const override {
    if (const auto fixed = fixed_before(node)) asks.produce(*fixed);
  }

  void callback(const GivenForm& wanted, NodeRef node, Asks& asks) const override {
    const KernelRule& rule = *parameters();
    if (const char* const why = refuse_form(rule, wanted)) {
      asks.refuse(why);
      return;
    }
    if (!is_near(wanted, rule)) {
      asks.refuse("the kernel's result has parameters of its own");
      return;
    }
    const char* why = "its operand is float";
    bool is_asked = false;
    for (const GivenForm& form : operand_forms(asks, node, 0)) {
      const char* refusal = refuse_form(rule, form);
      if (form.storage() != wanted.storage()) refusal = "codes of different types meet";
      if (refusal == nullptr && rule.refusal != nullptr) refusal = rule.refusal(node, form, wanted);
      if (refusal == nullptr) {
        asks.compute({{0, form}});
        is_asked = true;
      } else {
        why = refusal;
      }
    }
    if (!is_asked) asks.refuse(why);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return set_forms(node, context);
  }

 private:
  // The kernel's own form, where codes of it are requantized to what is asked for. With steps of
  // the kernel that are r steps of the result, codes differ by at most r / 2 + 1 / 2 from the real
  // result, which they are rounded from by another 1 / 2: by one, if r is less than 2. A quarter is
  // enough for scales that were found on samples, and leaves the kernel room.
  [[nodiscard]] std::optional<GivenForm> fixed_before(NodeRef node) const {
    const auto& sink = scheme().forms(node.id).sink;
    if (!sink || !parameters()->storages.contains(sink->storage())) return std::nullopt;
    GivenForm fixed = fixed_form(*parameters(), sink->storage());
    constexpr double longest = 1.25;
    const double finest = static_cast<double>(sink->scale) * longest;
    if (is_near(*sink, *parameters()) || static_cast<double>(fixed.scale) > finest)
      return std::nullopt;
    // Results below all of the kernel's codes would come out as the lowest of them.
    const bool is_cut = parameters()->is_unbounded_below &&
                        lowest(*sink) < lowest(fixed) - static_cast<double>(fixed.scale);
    return is_cut ? std::nullopt : std::optional(std::move(fixed));
  }
};

}  // namespace

void register_fixed(QdqFusion::Registration& methods, const KernelRule& rule) {
  methods.add_parameterized<FixedMethod>(rule.kind, &rule);
}

}  // namespace quadrant::inline v0::qdq_fusion
