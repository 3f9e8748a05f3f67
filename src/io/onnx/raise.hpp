// DequantizeLinear and QuantizeLinear of a file as `dequantize` and `quantize`, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/onnx/names.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Turns each DequantizeLinear and QuantizeLinear (of the default domain or com.microsoft) whose
/// parameters are constants into a `dequantize` or `quantize`, and gives the codes their quantized
/// types: constants, results of `quantize`, and what moves of these make. A Cast of the result to
/// another float type becomes part of the `dequantize`, as what it expresses. Scales and zero
/// points that nothing else reads leave the graph, unless there is more to them than contents.
///
/// Only what `restore_linear` makes as it was is raised; the rest stays what it is: scales that are
/// not float32, zero, not finite or not of the type's `parameter_shape`; operators with further
/// attributes; codes that are graph inputs or come from unknown operations, or computed ones of
/// several meanings (constants get copies). A scale that is a list of one is a number. Where types
/// that follow contradict what the file states, nothing is raised. Linear in the size of the graph;
/// reads scales and zero points, and keeps small ones.
void raise_linear(Graph& graph);

/// Which codes are meant: integers of a uniform type, or those of another format.
enum class Restored : std::uint8_t { uniform, other };

/// The inverse, for what still means what the file said: the same operators, names, initializers
/// and attributes, in the same order, where the graph was not changed. What was changed is left to
/// `lower_quantization` and `lower_small_floats`. Called for the other formats first, before
/// anything is added to the graph, when scales and zero points of all get their places again;
/// `has_weights`: their constants, too. The second call removes what is not read in the end.
void restore_linear(Graph& graph, Restored which, bool has_weights = true);

/// What a raised node remembers of its operator. All these names begin alike.
namespace raised {

inline constexpr std::string_view kind = "onnx.linear";  ///< and that it is raised at all
inline constexpr std::string_view operands = "onnx.linear.operands";  ///< how many
inline constexpr std::string_view scale = "onnx.linear.scale";
inline constexpr std::string_view zero_point = "onnx.linear.zero_point";
/// A Cast that stood between the operator and its scale.
inline constexpr std::string_view scale_cast = "onnx.linear.scale_cast";
/// Suffixes of the three above: the name of the value, the index of its node, what the file has the
/// elements of the initializer as, where that is another type than they are held in; and where the
/// node was placed (ir/regions.hpp), and what it was called.
inline constexpr std::string_view name_suffix = "_name";
inline constexpr std::string_view index_suffix = "_index";
inline constexpr std::string_view type_suffix = "_type";
inline constexpr std::string_view place_suffix = "_place";
inline constexpr std::string_view node_suffix = "_node";
/// The data type of the codes: of an operator that `raise_small_floats` raised.
inline constexpr std::string_view codes_type = "onnx.linear.codes_type";
/// The initializer of such codes that means something else to another operator.
inline constexpr std::string_view codes_name = "onnx.linear.codes_name";
/// The zero points are all 0, which the type does not list.
inline constexpr std::string_view zeros = "onnx.linear.zeros";
/// Prefix of the operator's own attributes.
inline constexpr std::string_view attribute = "onnx.linear.attribute.";
/// Where the node was a Cast behind the operator: what the latter was called, its result and its
/// index, and the prefix of the Cast's attributes.
inline constexpr std::string_view inner_name = "onnx.linear.inner_name";
inline constexpr std::string_view inner_value = "onnx.linear.inner_value";
inline constexpr std::string_view inner_index = "onnx.linear.inner_index";
inline constexpr std::string_view cast_attribute = "onnx.linear.cast.";

/// Of a node that is made anew when it is written, since there is a Clip of codes: that it was
/// read.
inline constexpr std::string_view beside_clip = "onnx.linear.beside_clip";

/// An operator that becomes a `dequantize` or `quantize`.
struct Operator {
  NodeId node;
  NodeId cast{};           ///< behind it, if that becomes part of it
  bool has_zeros = false;  ///< all of its zero points are 0
};
/// All of the above of it.
[[nodiscard]] Attributes kept_operator(const Graph& graph, const Operator& linear);

/// What an initializer holds, that of a carried type (`key::codes`), too; null for other values.
[[nodiscard]] const Constant* contents(const Graph& graph, Value value);

/// The shape of a scale or zero point as a type has it: a list of one number is a number.
[[nodiscard]] Shape parameter_shape(const Constant& parameter);

/// On a scale or zero point of which the file says more than its contents, such as a Constant
/// operator: it stays in the graph for `restore_linear`.
inline constexpr std::string_view parameter = "onnx.linear.parameter";

/// Which elements share parameters, for an operator with these attributes (their names begin with
/// `prefix`) whose scales have shape `scales` and codes `codes`. Empty where the two do not fit, or
/// where the operator would be written otherwise.
[[nodiscard]] std::optional<Granularity> granularity(const Attributes& attributes,
                                                     std::string_view attribute_prefix,
                                                     bool microsoft, const Shape& scales,
                                                     const Shape& codes);

}  // namespace raised

[[nodiscard]] inline bool is_raised(const Graph& graph, NodeId node) {
  return graph.attribute(node, raised::kind) != nullptr;
}

/// Replaces a node of one result by another, which takes its uses, and, the graph handing out the
/// index that was freed last, its place in the order.
NodeId replace_in_place(Graph& graph, NodeId node, NodeSpec spec);

}  // namespace quadrant::inline v0::onnx
