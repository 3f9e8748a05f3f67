// Float islands: what a quantized model computes in float between codes.
#pragma once

#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/diagnose.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Operations that hand float values to one another, the first without a form on codes giving the
/// name, as a cause each; those with the most conversions first. `quantized` is spelled out.
[[nodiscard]] Expected<std::vector<Cause>> float_islands(const Graph& quantized);

}  // namespace quadrant::inline v0
