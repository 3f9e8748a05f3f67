// Rounding by samples, shared by several ranks.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// How long it takes to find the codes of the weight, in products: with moments, by those of its
/// columns for its rows and the factorization of each matrix; else its elements. `moments`: null
/// where there are none.
[[nodiscard]] double rounding_cost(const Graph& graph, Value weight,
                                   const SecondMomentsTable* moments);

/// Each rank's log gets what the others have.
[[nodiscard]] Expected<void> share(RoundingLog& log, Ranks& ranks);

}  // namespace quadrant::inline v0
