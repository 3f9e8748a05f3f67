// Nodes that lost their last reader.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Erases `node` when its results have no uses, then whatever only it has used, and so on. Graph
/// inputs and outputs stay. Nodes that had no reader before are not looked for.
void erase_unused(Graph& graph, NodeId node);

}  // namespace quadrant::inline v0::onnx
