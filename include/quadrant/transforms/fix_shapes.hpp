// Open extents of a model's inputs become fixed ones.
#pragma once

#include <map>
#include <string>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Gives inputs, by name, these shapes, and all that follows from them: types of results are
/// inferred anew. For formats and compilers that want static shapes. Linear in the graph.
///
/// `usage` for a name that is no input's, naming the inputs, and for a shape that contradicts what
/// the model states of the input; `invalid_model`, with the node, where the model cannot have such
/// an input: operands that do not fit together then, or another extent that the model states. After
/// an error the graph's types are half inferred: it is of no use any more.
[[nodiscard]] Expected<void> fix_shapes(Graph& graph, const std::map<std::string, Shape>& shapes);

}  // namespace quadrant::inline v0
