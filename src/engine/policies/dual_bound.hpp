// How much an assignment can gain at most.
#pragma once

#include <span>

#include "engine/policies/factor_graph.hpp"
#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

/// No assignment of `component` gains more, which has all variables of its factors. `reached`: what
/// some assignment gains; the search for a smaller bound ends there. Time: a fixed number of passes
/// over the tables.
///
/// The bound is that of a Lagrangian split: each factor takes its own best states, and multipliers
/// move worth between the factors of a variable so that they come to agree. Every step averages the
/// max-marginals of the factors of one variable, which never raises the bound (max-sum diffusion:
/// Tomas Werner, A linear programming approach to max-sum problem, IEEE Transactions on Pattern
/// Analysis and Machine Intelligence 29 (2007)).
[[nodiscard]] Gain dual_bound(const FactorGraph& graph, std::span<const VariableId> component,
                              Gain reached);

}  // namespace quadrant::inline v0
