// The best assignment of a factor graph, or one that is known to be near it.
#pragma once

#include <optional>
#include <span>

#include "engine/policies/elimination.hpp"
#include "engine/policies/factor_graph.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

struct Optimum {
  Assignment assignment;
  Gain bound;  ///< no assignment gains more
};

/// Someone who knows more of the graph than its tables say. Given the variables of one component or
/// of several and an assignment, returns what they gain at most, and may propose another assignment
/// there: of each component the better one is kept. Empty: cannot tell, and proposes nothing.
using ComponentSolver =
    FunctionRef<std::optional<Gain>(std::span<const VariableId> variables, Assignment& assignment)>;

/// Parts that do not depend on each other are solved one by one: large ones by `solver`, if that
/// reaches its bound; exactly by elimination where `limits` allow it; small ones that they do not
/// by `solver`; else from `start`, or what `solver` made of it, by exact solutions of
/// neighbourhoods, with a bound from `solver` or the dual. Never worth less than `start`, if that
/// is possible.
[[nodiscard]] Optimum find_optimum(const FactorGraph& graph, Assignment start,
                                   ComponentSolver solver, const EliminationLimits& limits = {});

}  // namespace quadrant::inline v0
