#include "io/onnx/element.hpp"

#include <algorithm>
#include <array>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::array data_types{
    DataType{ElementType::float32, TypedField::float_data},
    DataType{ElementType::uint8, TypedField::int32_data},
    DataType{ElementType::int8, TypedField::int32_data},
    DataType{ElementType::uint16, TypedField::int32_data},
    DataType{ElementType::int16, TypedField::int32_data},
    DataType{ElementType::int32, TypedField::int32_data},
    DataType{ElementType::int64, TypedField::int64_data},
    DataType{ElementType::boolean, TypedField::int32_data},
    DataType{ElementType::float16, TypedField::int32_data},
    DataType{ElementType::float64, TypedField::double_data},
    DataType{ElementType::uint32, TypedField::uint64_data},
    DataType{ElementType::uint64, TypedField::uint64_data},
    DataType{ElementType::bfloat16, TypedField::int32_data},
    DataType{ElementType::uint4, TypedField::int32_data},
    DataType{ElementType::int4, TypedField::int32_data},
};

}  // namespace

const DataType* find_data_type(std::int64_t number) noexcept {
  const auto element = numbered_element_type(number);
  return element ? find_data_type(*element) : nullptr;
}

const DataType* find_data_type(ElementType element) noexcept {
  const auto* found = std::ranges::find(data_types, element, &DataType::element);
  return found == data_types.end() ? nullptr : found;
}

ElementType element_of(std::int64_t number) noexcept {
  if (number == 0) return ElementType::undefined;
  return numbered_element_type(number).value_or(ElementType::opaque);
}

}  // namespace quadrant::inline v0::onnx
