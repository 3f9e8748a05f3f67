// From an element type to the C++ type that holds it.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0 {

/// Calls `body.template operator()<T>()`, T being what holds one element of the type: `float`,
/// `double`, an integer of 8 to 64 bits (4-bit ones are held by 8 bits), `bool` for `boolean`.
/// Refuses float16 and bfloat16, which kernels are given as float32 (HalfFloats::widened).
template <class Body>
[[nodiscard]] Expected<Tensors> with_element(ElementType element, Body body) {
  switch (element) {
    case ElementType::boolean:
      return body.template operator()<bool>();
    case ElementType::int4:
    case ElementType::int8:
      return body.template operator()<std::int8_t>();
    case ElementType::uint4:
    case ElementType::uint8:
      return body.template operator()<std::uint8_t>();
    case ElementType::int16:
      return body.template operator()<std::int16_t>();
    case ElementType::uint16:
      return body.template operator()<std::uint16_t>();
    case ElementType::int32:
      return body.template operator()<std::int32_t>();
    case ElementType::uint32:
      return body.template operator()<std::uint32_t>();
    case ElementType::int64:
      return body.template operator()<std::int64_t>();
    case ElementType::uint64:
      return body.template operator()<std::uint64_t>();
    case ElementType::float32:
      return body.template operator()<float>();
    case ElementType::float64:
      return body.template operator()<double>();
    default:
      return KernelCall::refuse(fmt::format("operands of type {}", to_string(element)));
  }
}

/// As with_element, for `float` and `double` alone.
template <class Body>
[[nodiscard]] Expected<Tensors> with_real(ElementType element, Body body) {
  if (element == ElementType::float32) return body.template operator()<float>();
  if (element == ElementType::float64) return body.template operator()<double>();
  return KernelCall::refuse(
      fmt::format("operands of type {}, where real numbers are wanted", to_string(element)));
}

/// As with_element, by width alone: for kernels that move elements and do not compute with them. T
/// is an unsigned integer.
template <class Body>
[[nodiscard]] Expected<Tensors> with_width(ElementType element, Body body) {
  switch (byte_width(element)) {
    case 1:
      return body.template operator()<std::uint8_t>();
    case 2:
      return body.template operator()<std::uint16_t>();
    case 4:
      return body.template operator()<std::uint32_t>();
    case 8:
      return body.template operator()<std::uint64_t>();
    default:
      return KernelCall::refuse(fmt::format("operands of type {}", to_string(element)));
  }
}

}  // namespace quadrant::inline v0
