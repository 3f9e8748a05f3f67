#include "io/onnx/value_info.hpp"

#include <algorithm>

#include "io/onnx/element.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/rope.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

Shape read_shape(std::string_view file, Range range) {
  std::vector<Extent> extents;
  Message message(file, range);
  while (message.next()) {
    if (message.field() != type::shape_dim) continue;
    Extent extent = Extent::open();
    Message dimension(file, message.payload());
    while (dimension.next()) {
      // Some exporters write -1 or other negative numbers for "any".
      if (dimension.field() == type::dim_value) {
        const std::int64_t value = dimension.integer();
        extent = value < 0 ? Extent::open() : Extent(value);
      }
    }
    extents.push_back(extent);
  }
  return Shape(std::move(extents));
}

}  // namespace

ValueInfo read_value_info(std::string_view file, Range range) {
  ValueInfo info;
  Message message(file, range);
  while (message.next()) {
    if (message.field() == value_info::name) info.name = message.text();
    if (message.field() != value_info::type) continue;
    Message type_message(file, message.payload());
    while (type_message.next()) {
      if (type_message.field() != type::tensor_type) continue;
      info.is_tensor = true;
      Message tensor_type(file, type_message.payload());
      while (tensor_type.next()) {
        if (tensor_type.field() == type::tensor_elem_type) {
          info.type.element = element_of(tensor_type.integer());
        } else if (tensor_type.field() == type::tensor_shape) {
          info.type.shape = read_shape(file, tensor_type.payload());
        }
      }
    }
  }
  return info;
}

std::optional<TensorType> merged(const TensorType& a, const TensorType& b) {
  TensorType result = a;
  if (a.element == ElementType::undefined) {
    result.element = b.element;
  } else if (b.element != ElementType::undefined && b.element != a.element) {
    return std::nullopt;
  }
  auto shape = merged(a.shape, b.shape);
  if (!shape) return std::nullopt;
  result.shape = *std::move(shape);
  return result;
}

std::string make_value_info(std::string_view name, const TensorType& type) {
  Rope tensor_type;
  const std::int64_t number = element_type_number(type.element);
  tensor_type.add_integer(type::tensor_elem_type, number);
  if (type.shape.is_ranked()) {
    Rope shape;
    for (const Extent extent : type.shape.extents()) {
      Rope dimension;
      // NOLINTNEXTLINE(readability-suspicious-call-argument): a field's number, then its value
      if (extent.is_known()) dimension.add_integer(type::dim_value, extent.value());
      shape.add_message(type::shape_dim, dimension);
    }
    tensor_type.add_message(type::tensor_shape, shape);
  }
  Rope info;
  info.add_text(value_info::name, name);
  if (number != 0) {
    Rope type_message;
    type_message.add_message(type::tensor_type, tensor_type);
    info.add_message(value_info::type, type_message);
  }
  return info.own_bytes();
}

}  // namespace quadrant::inline v0::onnx
