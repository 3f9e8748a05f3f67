// Real constants that are quantized become constants of codes.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Each `quantize` of a constant of real numbers becomes a constant, of the same name, whose codes
/// are computed when they are read. Linear; fails where the type of one is not what `quantized`
/// takes.
[[nodiscard]] Expected<void> quantize_constants(Graph& graph);

}  // namespace quadrant::inline v0
