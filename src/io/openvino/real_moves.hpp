// Operations that move codes, on their way to OpenVINO.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::openvino_ir {

/// What moves codes (Reshape, Transpose, Concat, ...) moves the floats instead, wherever all
/// who read it, be it behind other moves, dequantize the codes: these are dequantized in front,
/// once for all.
///
///   quantize, reshape, dequantize    ->  quantize, dequantize, reshape
///   constant, transpose, dequantize  ->  constant, dequantize, transpose
///   constant, reshape                ->  constant
///
/// Both pairs are patterns that OpenVINO's transformations know, FakeQuantize and a compressed
/// weight; codes between are arithmetic to them. The numbers stay the same to the last bit. The
/// quantization of `graph` is explicit. Linear.
void move_real_numbers(Graph& graph);

}  // namespace quadrant::inline v0::openvino_ir
