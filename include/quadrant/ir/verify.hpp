// Checks that a graph keeps the rules of the IR.
#pragma once

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// No cycles; operands exist; value names unique and not empty; every known operation has the
/// operands, attributes and types that its view in `ops.hpp` promises; every quantized type is
/// consistent (axis inside the rank, parameters of the right shape, storage range inside the
/// storage type). The error names the node.
[[nodiscard]] Expected<void> verify(const GraphView& graph);

/// The rules of one quantized type for tensors of shape `shape`.
[[nodiscard]] Expected<void> verify(const UniformType& type, const Shape& shape);

}  // namespace quadrant::inline v0
