// Real constants that are quantized become constants of codes.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A `quantize` of a constant of floats becomes a constant, of the same name, whose codes are
/// computed when they are read; what is then not read goes. Any other node stays as it is. Fails
/// where the type is not what `quantized` takes.
[[nodiscard]] Expected<void> quantize_constant(Graph& graph, NodeId id);

/// The same of all that make codes of a format that is not uniform: files have operations for few.
[[nodiscard]] Expected<void> quantize_constants_of_formats(Graph& graph);

}  // namespace quadrant::inline v0
