// --shape: shapes of inputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// What --shape says, by input: `x=1x3x8x8` of an input of `graph`. `usage` for what is not
/// written so, and for a name that is no input's.
[[nodiscard]] Expected<std::map<std::string, Shape>> parse_shapes(
    const std::vector<std::string>& options, const Graph& graph);

}  // namespace quadrant::cli
