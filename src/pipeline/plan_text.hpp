// A plan for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

struct PlanTotals {
  std::uint64_t stored = 0;  ///< planned values that are constants
  std::uint64_t bytes = 0;   ///< of these, in float
};
[[nodiscard]] PlanTotals totals_of(const Plan& plan, const Graph& graph);

/// A table of the values, and one of what they come to. `graph` is the one that the plan is of, by
/// whose `gains` it was decided; `bound`: what any plan could gain, if that is known.
[[nodiscard]] std::string print_decision(const Plan& plan, const Graph& graph,
                                         std::optional<Gain> bound, const GainModel& gains);

}  // namespace quadrant::inline v0
