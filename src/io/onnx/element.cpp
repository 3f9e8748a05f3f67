#include "io/onnx/element.hpp"

#include <algorithm>
#include <array>

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::array data_types{
    DataType{1, ElementType::float32, TypedField::float_data},
    DataType{2, ElementType::uint8, TypedField::int32_data},
    DataType{3, ElementType::int8, TypedField::int32_data},
    DataType{4, ElementType::uint16, TypedField::int32_data},
    DataType{5, ElementType::int16, TypedField::int32_data},
    DataType{6, ElementType::int32, TypedField::int32_data},
    DataType{7, ElementType::int64, TypedField::int64_data},
    DataType{9, ElementType::boolean, TypedField::int32_data},
    DataType{10, ElementType::float16, TypedField::int32_data},
    DataType{11, ElementType::float64, TypedField::double_data},
    DataType{12, ElementType::uint32, TypedField::uint64_data},
    DataType{13, ElementType::uint64, TypedField::uint64_data},
    DataType{16, ElementType::bfloat16, TypedField::int32_data},
    DataType{21, ElementType::uint4, TypedField::int32_data},
    DataType{22, ElementType::int4, TypedField::int32_data},
};

}  // namespace

const DataType* find_data_type(std::int64_t number) noexcept {
  const auto* found = std::ranges::find(data_types, number, &DataType::number);
  return found == data_types.end() ? nullptr : found;
}

const DataType* find_data_type(ElementType element) noexcept {
  const auto* found = std::ranges::find(data_types, element, &DataType::element);
  return found == data_types.end() ? nullptr : found;
}

ElementType element_of(std::int64_t number) noexcept {
  if (number == 0) return ElementType::undefined;
  const DataType* found = find_data_type(number);
  return found ? found->element : ElementType::opaque;
}

}  // namespace quadrant::inline v0::onnx
