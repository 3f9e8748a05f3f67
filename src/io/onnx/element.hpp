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

[[nodiscard]] inline bool is_packed(ElementType element) noexcept {  ///< two elements a byte
  return element == ElementType::int4 || element == ElementType::uint4;
}

/// Bytes that `count` elements take in a file.
[[nodiscard]] inline std::uint64_t stored_size(ElementType element, std::uint64_t count) noexcept {
  return is_packed(element) ? count / 2 + count % 2
                            : count * static_cast<std::uint64_t>(byte_width(element));
}

[[nodiscard]] inline std::uint64_t stored_size(const Constant& constant) noexcept {
  return stored_size(constant.element(), static_cast<std::uint64_t>(constant.element_count()));
}

}  // namespace quadrant::inline v0::onnx
