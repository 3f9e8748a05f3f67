// Fills in the types that a file did not state.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Sets the types of the results of the operations in `ops.hpp`, and of the most common ones that
/// are carried as ONNX calls them (activations, reductions, poolings, ...), where they follow from
/// the operands' types and were not known, extent by extent. Types that the file states are kept
/// when they agree, and are an error naming the node when they contradict (a transpose of a 2x3 to
/// 2x3), as are operands that do not fit together. Results of operations that the library does not
/// know are left as they are, and so are those of tensors with more than 64 dimensions. Reads the
/// constant operands that are shapes, axes, ranges and sizes, and no others. After an error, nodes
/// before it have their types.
[[nodiscard]] Expected<void> infer_shapes(Graph& graph);

}  // namespace quadrant::inline v0
