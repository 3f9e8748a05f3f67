// The best assignment of a factor graph, or one that is known to be near it.
#pragma once

#include "engine/elimination.hpp"
#include "engine/factor_graph.hpp"
#include "quadrant/engine/gain.hpp"

namespace quadrant::inline v0 {

struct Optimum {
  Assignment assignment;
  Gain bound;  ///< no assignment gains more
};

/// Parts that do not depend on each other are solved one by one: exactly where `limits` allow it,
/// else from `start`, which must be possible, by exact solutions of neighbourhoods, with a bound
/// from the dual. Never worth less than `start`.
[[nodiscard]] Optimum find_optimum(const FactorGraph& graph, Assignment start,
                                   const EliminationLimits& limits = {});

}  // namespace quadrant::inline v0
