// A better assignment by exact solutions of parts of it.
#pragma once

#include <span>

#include "engine/elimination.hpp"
#include "engine/factor_graph.hpp"

namespace quadrant::inline v0 {

/// Frees one neighbourhood of variables after another, all of `component` in turn, and sets it to
/// what is worth most while the rest is held; until nothing improves, or for a few rounds.
/// `assignment` must be possible, and stays so; it is never worth less. Linear in the component.
void improve_by_neighbourhoods(const FactorGraph& graph, std::span<const VariableId> component,
                               Elimination& elimination, Assignment& assignment);

}  // namespace quadrant::inline v0
