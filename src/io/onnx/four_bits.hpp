// Plain integers of 4 bits, as other formats have them in front of a cast.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Moves constants of 4 bits without a meaning in advance, and has other operations on such values
/// compute in 8 bits, between Casts: ONNX Runtime (1.32) has no kernel but Cast and Transpose for
/// them. For graphs of other formats: what an ONNX file says of plain integers stays.
void avoid_operations_on_4_bits(Graph& graph);

}  // namespace quadrant::inline v0::onnx
