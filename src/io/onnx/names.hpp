// What ONNX calls things, what they are called in the graph, and under which attribute names the
// parts that only ONNX has are kept. All of these begin with `onnx.`, which no operator's attribute
// does.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "ir/opset.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {

// --- operations ---------------------------------------------------------------------------------

/// The domain of OpenVINO's FakeQuantize, which OpenVINO reads in ONNX's own, too:
/// https://github.com/openvinotoolkit/openvino, src/frontends/onnx.
inline constexpr std::string_view openvino_domain = "org.openvinotoolkit";

inline constexpr std::string_view prefix = "onnx.";
/// Another spelling of the default domain, whose name is empty.
inline constexpr std::string_view default_domain_alias = "ai.onnx";

/// An operator: `domain` empty for the default one.
struct OpName {
  std::string domain;
  std::string op_type;
  friend bool operator==(const OpName&, const OpName&) = default;
};

/// `matmul`, `onnx.Relu`, `onnx.com.microsoft::Gelu`.
[[nodiscard]] std::string kind_of(const OpName& name);
/// What that says alone; an empty op_type for a kind that ONNX does not have.
[[nodiscard]] OpName op_name_of(std::string_view kind);
/// The operator of a node; an empty op_type for a kind that ONNX does not have.
[[nodiscard]] OpName op_name_of(const NodeRef& node);
/// Whether the node is an operator of the default domain, or becomes one.
[[nodiscard]] inline bool in_default_domain(const OpName& name) noexcept {
  return name.domain.empty() || name.domain == default_domain_alias;
}

// --- kinds of nodes that are no operators -------------------------------------------------------

/// An initializer whose elements the library does not read (float8, strings): no operands.
inline constexpr std::string_view opaque_initializer_kind = "onnx.initializer";
inline constexpr std::string_view sparse_initializer_kind = "onnx.sparse_initializer";

// --- attributes of nodes ------------------------------------------------------------------------
namespace key {

inline constexpr std::string_view op_type = "onnx.op_type";  ///< where the kind does not tell
inline constexpr std::string_view domain = "onnx.domain";    ///< where the kind does not tell
/// Fields of the NodeProto or TensorProto that are not read.
inline constexpr std::string_view extra = "onnx.extra";
/// Fields of an AttributeProto that are not read, `onnx.attribute.<name>`.
inline constexpr std::string_view attribute_extra = "onnx.attribute.";
/// Fields of a TensorProto that is an attribute's value, `onnx.tensor.<name>`.
inline constexpr std::string_view tensor_extra = "onnx.tensor.";
/// The indices of results that the node leaves out: they have names here and none in the file.
inline constexpr std::string_view absent_results = "onnx.absent_results";
/// How many of the last operands are not inputs, but values that subgraphs refer to by name ...
inline constexpr std::string_view captures = "onnx.captures";
/// ... and these names.
inline constexpr std::string_view capture_names = "onnx.capture_names";
/// The ValueInfoProto of result 0, of the operand of an output; `onnx.value_info.<i>` of result i.
inline constexpr std::string_view value_info = "onnx.value_info";
/// For kind `constant`: the attribute of the Constant node that it was; missing for an initializer.
inline constexpr std::string_view constant_form = "onnx.constant";
/// An initializer that is also listed among the graph's inputs: its place there and its entry.
inline constexpr std::string_view input_position = "onnx.input_position";
inline constexpr std::string_view input_info = "onnx.input_info";
/// The TensorProto or SparseTensorProto of an initializer that is only carried.
inline constexpr std::string_view tensor = "onnx.tensor";
/// The codes of such a tensor of float4, float8 or 2 bits, while a model is read: see
/// small_floats.hpp.
inline constexpr std::string_view codes = "onnx.codes";
/// The data type of an initializer, where it is another than that of its elements.
inline constexpr std::string_view data_type = "onnx.data_type";
/// The folder that data files are relative to, where bytes that are only carried name some.
inline constexpr std::string_view data_directory = "onnx.data_directory";

}  // namespace key

// --- attributes of the graph --------------------------------------------------------------------
namespace key {

inline constexpr std::string_view ir_version = "onnx.ir_version";
inline constexpr std::string_view opset_domains = opset_domains_key;  ///< as they are listed ...
inline constexpr std::string_view opset_versions = opset_versions_key;
inline constexpr std::string_view producer_name = "onnx.producer_name";
inline constexpr std::string_view producer_version = "onnx.producer_version";
inline constexpr std::string_view model_domain = "onnx.model_domain";
inline constexpr std::string_view model_version = "onnx.model_version";
inline constexpr std::string_view model_doc_string = "onnx.doc_string";
inline constexpr std::string_view functions = "onnx.functions";      ///< fields of the ModelProto
inline constexpr std::string_view model_extra = "onnx.model_extra";  ///< and those not read
inline constexpr std::string_view graph_name = "onnx.graph_name";
inline constexpr std::string_view graph_extra = "onnx.graph_extra";
/// ValueInfoProtos of names that the graph does not have.
inline constexpr std::string_view other_value_info = "onnx.other_value_info";
/// How many initializers were listed among the inputs.
inline constexpr std::string_view listed_initializers = "onnx.listed_initializers";

}  // namespace key

// --- formats of Opaque attributes ---------------------------------------------------------------

inline constexpr std::string_view attribute_format = "onnx.attribute";  ///< one AttributeProto
inline constexpr std::string_view fields_format = "onnx.fields";        ///< fields with their tags
inline constexpr std::string_view tensor_format = "onnx.tensor";  ///< one (sparse) TensorProto
inline constexpr std::string_view value_info_format = "onnx.value_info";  ///< one ValueInfoProto

/// The name under which result `result` keeps its ValueInfoProto.
[[nodiscard]] std::string value_info_key(std::uint32_t result);
/// The same of what a body of the node yields as its operand `operand` (ir/regions.hpp).
[[nodiscard]] std::string yield_info_key(std::size_t operand);
/// What the operation keeps of the graph that is its attribute `body`, as a graph keeps `key`.
[[nodiscard]] std::string body_key(std::string_view key, std::string_view body);

}  // namespace quadrant::inline v0::onnx
