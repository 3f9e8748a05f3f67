// How a value is had in every form in which it is read.
#pragma once

#include <optional>
#include <vector>

#include "engine/policies/prices.hpp"
#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// The forms of a value that somebody reads and that it is not made in.
struct WantedForms {
  bool floats = false;
  std::vector<ConstraintId> codes;  ///< by their constraints' order, each once
};

/// The cheapest conversions that make all of `wanted` from `made`, without readers: one that others
/// start from stands first. Of two cheapest sets, that without floats in between. Empty: there is
/// no way.
[[nodiscard]] std::optional<std::vector<Conversion>> cheapest_conversions(
    const SelectionProblem& problem, const Prices& prices, Value value, ConstraintId made,
    const WantedForms& wanted);

/// The cheapest conversions that give each reader of `value` the form that `selection` says it
/// reads.
[[nodiscard]] std::vector<Conversion> find_conversions(const SelectionProblem& problem,
                                                       const Prices& prices,
                                                       const Selection& selection, Value value);

}  // namespace quadrant::inline v0
