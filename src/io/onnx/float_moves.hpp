// Operations that move 4-bit codes (Reshape, Gather, Concat, ...): ONNX says what they mean, ONNX
// Runtime (1.23) has no kernels for them.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Lets every operation that moves quantized 4-bit values move something else: the float values,
/// dequantized in front (once for all readers) instead of behind; or, where somebody behind reads
/// codes, the same codes in 8 bits. Both are exact, since dequantizing is elementwise and the
/// parameters move with the codes. Transposes of constants stay from opset 21 on. Linear. Throws
/// `impossible` where such codes leave the graph.
void avoid_moves_of_4_bits(Graph& graph);

}  // namespace quadrant::inline v0::onnx
