// The two ways to say what is quantized: by the types of values, and by operators.
//
//   %y = conv(%x, %w) : codes                   types: the operation computes on codes
//
//   %a = dequantize(%x)  %b = dequantize(%w)    operators: it computes on real values, and
//   %c = conv(%a, %b)    %y = quantize(%c)      `quantize` and `dequantize` stand around it
//
// The second says what the first means. It is what ONNX files hold, and what an interpreter runs.
#pragma once

#include <unordered_map>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

/// Where codes are after `make_quantization_explicit`: by the values that they were before. A value
/// that is not in it is what it was.
using MovedCodes = std::unordered_map<Value, Value>;

/// Puts `dequantize` in front of each quantized operand, and `quantize` behind each quantized
/// result, of every operation but those that move codes without looking at them (transpose,
/// reshape, slice, ...), which stay, and the conversions themselves. All readers of a value share
/// one `dequantize`; one that is there already is used.
///
/// Real values keep the names: a `dequantize` takes over the name of the codes, which are called
/// `<name>_quantized` from then on. Where they have to keep it (an input or an output of the graph,
/// the result of a `quantize` that was there) it is `<name>_dequantized`. What an operation
/// computed before it is quantized is
/// `<name>_unquantized`. Linear.
MovedCodes make_quantization_explicit(Graph& graph);

/// Whether `make_quantization_explicit` would leave the graph as it is.
[[nodiscard]] bool is_quantization_explicit(const GraphView& graph);

}  // namespace quadrant::inline v0
