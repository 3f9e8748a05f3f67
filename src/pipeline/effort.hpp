// How much work a run may be: one word for what else takes several options.
#pragma once

#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The recipe with the options that `effort` of its model stands for (docs/rounding.md), where it
/// does not give them itself, and without `effort`. `usage` for one that looks at samples where
/// there are none.
[[nodiscard]] Expected<Recipe> with_effort(Recipe recipe, const RunInputs& inputs);

}  // namespace quadrant::inline v0
