// How TensorProto holds elements of the library's types.
#pragma once

#include <cstdint>
#include <optional>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::onnx {

/// How the typed fields (`int32_data`, ...) hold one element of a type, besides `raw_data`.
enum class TypedField : std::uint8_t {
  float_data,
  int32_data,
  int64_data,
  double_data,
  uint64_data
};

struct DataType {
  ElementType element;
  TypedField field;
};

/// Null for types that are carried but not read: strings, complex numbers, float8, float4, and what
/// later versions add.
[[nodiscard]] const DataType* find_data_type(std::int64_t number) noexcept;
[[nodiscard]] const DataType* find_data_type(ElementType element) noexcept;

/// The element type of a value; `opaque` for types without a name here.
[[nodiscard]] ElementType element_of(std::int64_t number) noexcept;

/// Whether a byte has several elements.
[[nodiscard]] constexpr bool is_packed(ElementType element) noexcept {
  return element == ElementType::int4 || element == ElementType::uint4 ||
         element == ElementType::int2 || element == ElementType::uint2 ||
         element == ElementType::float4e2m1;
}

/// What a constant holds elements of a file as, where it can: codes of 2 bits as ones of 4, the
/// bits of float4 as ones of 4, those of float8 (e4m3fn, e5m2, e8m0) as bytes. `undefined` for
/// other types that are carried.
[[nodiscard]] inline ElementType held_element(ElementType stored) noexcept {
  switch (stored) {
    case ElementType::int2:
      return ElementType::int4;
    case ElementType::uint2:
    case ElementType::float4e2m1:
      return ElementType::uint4;
    case ElementType::float8e4m3:
    case ElementType::float8e5m2:
    case ElementType::float8e8m0:
      return ElementType::uint8;
    default:
      return is_carried(stored) ? ElementType::undefined : stored;
  }
}

/// Bytes that a constant takes in a file that has its elements as `stored`.
[[nodiscard]] inline std::uint64_t stored_size(const Constant& constant,
                                               ElementType stored) noexcept {
  return packed_size(stored, static_cast<std::uint64_t>(constant.element_count()));
}

}  // namespace quadrant::inline v0::onnx
