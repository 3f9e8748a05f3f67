// A recipe that makes a model like one that is there.
#pragma once

#include <optional>
#include <span>

#include "pipeline/quantized_places.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// One scheme with the options that types of codes tell: bits, signs, what shares a scale. How
/// ranges were chosen they do not tell: that is left to defaults. `places`: of `quantized`, which
/// is spelled out. `may_saturate`: sums of its products may leave 16 bits. Empty where nothing is
/// quantized, or in formats that are not uniform.
[[nodiscard]] Expected<std::optional<Recipe>> recipe_of_model(
    const Graph& quantized, std::span<const QuantizedPlace> places, bool may_saturate);

}  // namespace quadrant::inline v0
