// Field numbers of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), those that
// are read or made here. Everything else is carried through byte for byte.
#pragma once

#include <cstdint>

namespace quadrant::inline v0::onnx {

namespace model {
inline constexpr std::uint32_t ir_version = 1;
inline constexpr std::uint32_t producer_name = 2;
inline constexpr std::uint32_t producer_version = 3;
inline constexpr std::uint32_t domain = 4;
inline constexpr std::uint32_t model_version = 5;
inline constexpr std::uint32_t doc_string = 6;
inline constexpr std::uint32_t graph = 7;
inline constexpr std::uint32_t opset_import = 8;
inline constexpr std::uint32_t functions = 25;
}  // namespace model

namespace opset_id {
inline constexpr std::uint32_t domain = 1;
inline constexpr std::uint32_t version = 2;
}  // namespace opset_id

namespace function {
inline constexpr std::uint32_t name = 1;
inline constexpr std::uint32_t input = 4;
inline constexpr std::uint32_t output = 5;
inline constexpr std::uint32_t node = 7;
inline constexpr std::uint32_t doc_string = 8;
inline constexpr std::uint32_t opset_import = 9;
inline constexpr std::uint32_t domain = 10;
inline constexpr std::uint32_t attribute_proto = 11;
inline constexpr std::uint32_t value_info = 12;
inline constexpr std::uint32_t overload = 13;
inline constexpr std::uint32_t metadata_props = 14;
}  // namespace function

namespace graph {
inline constexpr std::uint32_t node = 1;
inline constexpr std::uint32_t name = 2;
inline constexpr std::uint32_t initializer = 5;
inline constexpr std::uint32_t input = 11;
inline constexpr std::uint32_t output = 12;
inline constexpr std::uint32_t value_info = 13;
inline constexpr std::uint32_t sparse_initializer = 15;
}  // namespace graph

namespace node {
inline constexpr std::uint32_t input = 1;
inline constexpr std::uint32_t output = 2;
inline constexpr std::uint32_t name = 3;
inline constexpr std::uint32_t op_type = 4;
inline constexpr std::uint32_t attribute = 5;
inline constexpr std::uint32_t domain = 7;
}  // namespace node

namespace attribute {
inline constexpr std::uint32_t name = 1;
inline constexpr std::uint32_t f = 2;
inline constexpr std::uint32_t i = 3;
inline constexpr std::uint32_t s = 4;
inline constexpr std::uint32_t t = 5;
inline constexpr std::uint32_t g = 6;
inline constexpr std::uint32_t floats = 7;
inline constexpr std::uint32_t ints = 8;
inline constexpr std::uint32_t strings = 9;
inline constexpr std::uint32_t tensors = 10;
inline constexpr std::uint32_t graphs = 11;
inline constexpr std::uint32_t doc_string = 13;
inline constexpr std::uint32_t tp = 14;
inline constexpr std::uint32_t type_protos = 15;
inline constexpr std::uint32_t type = 20;
inline constexpr std::uint32_t ref_attr_name = 21;
inline constexpr std::uint32_t sparse_tensor = 22;
inline constexpr std::uint32_t sparse_tensors = 23;

/// AttributeProto.AttributeType, those that have a typed form here.
enum Type : std::int64_t {  // NOLINT(performance-enum-size): as wide as a varint
  type_undefined = 0,
  type_float = 1,
  type_int = 2,
  type_string = 3,
  type_tensor = 4,
  type_graph = 5,
  type_floats = 6,
  type_ints = 7,
  type_strings = 8,
};
}  // namespace attribute

namespace tensor {
inline constexpr std::uint32_t dims = 1;
inline constexpr std::uint32_t data_type = 2;
inline constexpr std::uint32_t segment = 3;
inline constexpr std::uint32_t float_data = 4;
inline constexpr std::uint32_t int32_data = 5;
inline constexpr std::uint32_t string_data = 6;
inline constexpr std::uint32_t int64_data = 7;
inline constexpr std::uint32_t name = 8;
inline constexpr std::uint32_t raw_data = 9;
inline constexpr std::uint32_t double_data = 10;
inline constexpr std::uint32_t uint64_data = 11;
inline constexpr std::uint32_t external_data = 13;
inline constexpr std::uint32_t data_location = 14;
}  // namespace tensor

namespace sparse_tensor {
inline constexpr std::uint32_t values = 1;
inline constexpr std::uint32_t indices = 2;
inline constexpr std::uint32_t dims = 3;
}  // namespace sparse_tensor

namespace entry {  // StringStringEntryProto
inline constexpr std::uint32_t key = 1;
inline constexpr std::uint32_t value = 2;
}  // namespace entry

namespace value_info {
inline constexpr std::uint32_t name = 1;
inline constexpr std::uint32_t type = 2;
}  // namespace value_info

namespace type {
inline constexpr std::uint32_t tensor_type = 1;
inline constexpr std::uint32_t tensor_elem_type = 1;
inline constexpr std::uint32_t tensor_shape = 2;
inline constexpr std::uint32_t shape_dim = 1;
inline constexpr std::uint32_t dim_value = 1;
}  // namespace type

}  // namespace quadrant::inline v0::onnx
