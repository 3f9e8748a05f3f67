// What conversions cost in one run: the schemes' prices, by interned constraint.
#pragma once

#include <algorithm>
#include <optional>

#include "quadrant/engine/constraint.hpp"
#include "quadrant/engine/gain.hpp"
#include "quadrant/engine/registry.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

class Prices {
 public:
  Prices(const GraphView& graph, const Registry& registry, const ConstraintTable& constraints,
         const GainModel& gains) noexcept
      : graph_(&graph), registry_(&registry), constraints_(&constraints), gains_(&gains) {}

  /// Empty: the scheme cannot.
  [[nodiscard]] std::optional<Gain> enter(Value value, ConstraintId to) const {
    return price(value, nullptr, constraints_->get(to), constraints_->scheme(to));
  }
  /// Always possible, at no cost where the scheme names none.
  [[nodiscard]] Gain leave(Value value, ConstraintId from) const {
    return price(value, constraints_->get(from), nullptr, constraints_->scheme(from))
        .value_or(Gain{});
  }
  /// Without floats in between. Empty: the scheme cannot, or they are of different schemes.
  [[nodiscard]] std::optional<Gain> convert(Value value, ConstraintId from, ConstraintId to) const {
    const std::uint32_t scheme = constraints_->scheme(from);
    if (scheme != constraints_->scheme(to) || !registry_->scheme(scheme).can_convert()) {
      return std::nullopt;
    }
    return price(value, constraints_->get(from), constraints_->get(to), scheme);
  }

 private:
  [[nodiscard]] std::optional<Gain> price(Value value, const void* from, const void* to,
                                          std::uint32_t scheme) const {
    const auto price = registry_->scheme(scheme).erased_price({graph_, value, from, to}, *gains_);
    return price ? std::optional(std::min(*price, Gain{})) : std::nullopt;  // a cost, never a gain
  }

  const GraphView* graph_;
  const Registry* registry_;
  const ConstraintTable* constraints_;
  const GainModel* gains_;
};

}  // namespace quadrant::inline v0
