// The two ways to say what is quantized: by the types of values, and by operators.
//
//   %y = conv(%x, %w) : codes                   types: the operation computes on codes
//
//   %a = dequantize(%x)  %b = dequantize(%w)    operators: it computes on real values, and
//   %c = conv(%a, %b)    %y = quantize(%c)      `quantize` and `dequantize` stand around it
//
// The second says what the first means. It is what ONNX files hold, and what an interpreter runs.
#pragma once

#include <string_view>
#include <unordered_map>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

/// The endings of names that tell a value's forms apart: its codes, what was computed before it was
/// quantized, and its real values beside codes that keep the name. Where another value has such a
/// name already, a number follows: `x_quantized_1`.
inline constexpr std::string_view quantized_ending = "_quantized";
inline constexpr std::string_view unquantized_ending = "_unquantized";
inline constexpr std::string_view dequantized_ending = "_dequantized";

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
/// computed before it is quantized is `<name>_unquantized`. `real_name_of` finds the name again.
/// Linear.
MovedCodes make_quantization_explicit(Graph& graph);

/// Whether `make_quantization_explicit` would leave the graph as it is.
[[nodiscard]] bool is_quantization_explicit(const GraphView& graph);

/// Whether operations of this kind are defined on codes, whatever is known of their meaning: a
/// cast, ONNX's QLinear operators, those that dequantize themselves.
[[nodiscard]] bool is_defined_on_codes(std::string_view kind);

/// The name that the real values of `codes` had before they were quantized, as far as the graph
/// tells: of models that this library quantized, or others that call values like that. It is the
/// name of what a `quantize` reads, without `unquantized_ending`; of other codes their own, without
/// `quantized_ending`, or that of what a `dequantize` makes of them, without `dequantized_ending`
/// or the `_DequantizeLinear_Output` of ONNX Runtime's tools.
///
/// An ending, or one with a number behind it, belongs to the name itself if the names of codes and
/// real values around agree on that, or if what is in front of it is the name of another value. A
/// name that only looks as if it had an ending, without another to compare, loses it. The result
/// lives as long as the names of the graph's values. Linear in the uses of the node of `codes`.
[[nodiscard]] std::string_view real_name_of(const Graph& graph, Value codes);

}  // namespace quadrant::inline v0
