// Whose kernels count where sums of two products meet in 16 bits.
#pragma once

#include <vector>

#include "cli/model_format.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/targets/saturation.hpp"

namespace quadrant::cli {

/// Of those that run files of the format: LiteRT's sum in 32 bits.
[[nodiscard]] Expected<std::vector<PairedProduct>> paired_products(const Graph& graph,
                                                                   ModelFormat format);

/// The same of what the recipe made: of the runtime alone that it was made for, if it names one.
[[nodiscard]] Expected<std::vector<PairedProduct>> paired_products(const Graph& graph,
                                                                   ModelFormat format,
                                                                   const Recipe& recipe);

}  // namespace quadrant::cli
