// Models that are quantized already, by types or by operators.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

// The two ways to say what is quantized: by the types of values, and by operators.
//
//   %y = conv(%x, %w) : codes                   types: the operation computes on codes
//
//   %a = dequantize(%x)  %b = dequantize(%w)    operators: it computes in float, and
//   %c = conv(%a, %b)    %y = quantize(%c)      `quantize` and `dequantize` stand around it
//
// The second says what the first means. It is what ONNX files hold, and what an interpreter runs.

/// The endings of names that tell a value's forms apart: its codes, what was computed before it was
/// quantized, and its float values beside codes that keep the name. Where another value has such a
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
/// Float values keep the names: a `dequantize` takes over the name of the codes, which are called
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

/// The name that the float values of `codes` had before they were quantized, as far as the graph
/// tells: of models that this library quantized, or others that call values like that. It is the
/// name of what a `quantize` reads, without `unquantized_ending`; of other codes their own, without
/// `quantized_ending`, or that of what a `dequantize` makes of them, without `dequantized_ending`
/// or the `_DequantizeLinear_Output` of ONNX Runtime's tools.
///
/// An ending, or one with a number behind it, belongs to the name itself if the names of codes and
/// float values around agree on that, or if what is in front of it is the name of another value. A
/// name that only looks as if it had an ending, without another to compare, loses it. The result
/// lives as long as the names of the graph's values. Linear in the uses of the node of `codes`.
[[nodiscard]] std::string_view real_name_of(const Graph& graph, Value codes);

// Parameters that came with a model, as a label that compares by what they say.

/// A quantization that came with the model, known by what it says: two of the same contents are
/// one.
struct GivenForm {
  /// `i8 0.05:3`: storage, scale and zero point. Of several scales: `i8 axis=0 #` and a hash of
  /// them.
  std::string text;
  /// Null for a form that was parsed.
  std::shared_ptr<const UniformType> type;
  float scale = 1;              ///< of one that is per tensor
  std::int64_t zero_point = 0;  ///< of one that is per tensor

  /// Empty where the scales cannot be read. Reads them whole.
  [[nodiscard]] static std::optional<GivenForm> of(std::shared_ptr<const UniformType> type);
  /// One scale and zero point, codes of the whole range of `storage`, an integer type of at most 16
  /// bits; float values are float32.
  [[nodiscard]] static GivenForm per_tensor(ElementType storage, float scale,
                                            std::int64_t zero_point);

  [[nodiscard]] bool is_per_tensor() const noexcept {
    return type->granularity.kind == Granularity::Kind::tensor;
  }
  [[nodiscard]] ElementType storage() const noexcept { return type->storage; }

  [[nodiscard]] std::size_t hash() const noexcept { return std::hash<std::string>{}(text); }
  [[nodiscard]] std::string print() const { return text; }
  [[nodiscard]] static std::optional<GivenForm> parse(std::string_view text);
  friend bool operator==(const GivenForm& a, const GivenForm& b) noexcept {
    return a.text == b.text;
  }
  friend auto operator<=>(const GivenForm& a, const GivenForm& b) noexcept {
    return a.text <=> b.text;
  }
};

/// The form of the result of a node that only re-orders elements (transpose, reshape, squeeze,
/// unsqueeze, flatten, identity), of operand 0 in `form`: scales of an axis go where the axis goes.
/// Empty where they do not stay together, and, unless there is one scale, for other nodes.
[[nodiscard]] std::optional<GivenForm> moved_form(NodeRef node, const GivenForm& form);

}  // namespace quadrant::inline v0
