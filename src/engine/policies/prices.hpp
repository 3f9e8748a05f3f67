// What conversions cost in one run: the schemes' prices, by interned constraint.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/phases/holding.hpp"
#include "engine/policies/form_of.hpp"
#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

class Prices {
 public:
  Prices(const GraphView& graph, const Registry& registry, const ConstraintTable& constraints,
         const GainModel& gains) noexcept
      : graph_(&graph), registry_(&registry), constraints_(&constraints), gains_(&gains) {}

  /// Empty: the scheme cannot.
  [[nodiscard]] std::optional<Gain> enter(Value value, ConstraintId to) const {
    return price(value, float_form, to);
  }
  /// Always possible, at no cost where the scheme names none.
  [[nodiscard]] Gain leave(Value value, ConstraintId from) const {
    return price(value, from, float_form).value_or(Gain{});
  }
  /// Without floats in between. Empty: the scheme cannot, or they are of different schemes.
  [[nodiscard]] std::optional<Gain> convert(Value value, ConstraintId from, ConstraintId to) const {
    const std::uint32_t scheme = constraints_->scheme(from);
    if (scheme != constraints_->scheme(to) || !registry_->scheme(scheme).can_convert()) {
      return std::nullopt;
    }
    return price(value, from, to);
  }

 private:
  [[nodiscard]] std::optional<Gain> price(Value value, ConstraintId from, ConstraintId to) const {
    const FormChange change{graph_, value, form_of(*registry_, *constraints_, from),
                            form_of(*registry_, *constraints_, to)};
    const Scheme& scheme = registry_->scheme(constraints_->scheme(from == float_form ? to : from));
    if (from == float_form && why_not_entered(*graph_, *registry_, *constraints_, value, to)) {
      return std::nullopt;
    }
    if (from != float_form && to != float_form &&
        why_not_held(*graph_, *registry_, *constraints_, value, to)) {
      return std::nullopt;
    }
    const auto price = scheme.erased_price(change, *gains_);
    return price ? std::optional(std::min(*price, Gain{})) : std::nullopt;  // a cost, never a gain
  }

  const GraphView* graph_;
  const Registry* registry_;
  const ConstraintTable* constraints_;
  const GainModel* gains_;
};

}  // namespace quadrant::inline v0
