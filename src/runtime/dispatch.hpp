// From an element type to the C++ type that holds it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <type_traits>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

/// The element type that a `T` is for; int8 for int8_t, never the 4-bit type.
template <class T>
inline constexpr ElementType element_of = ElementType::undefined;
template <>
inline constexpr ElementType element_of<bool> = ElementType::boolean;
template <>
inline constexpr ElementType element_of<std::int8_t> = ElementType::int8;
template <>
inline constexpr ElementType element_of<std::uint8_t> = ElementType::uint8;
template <>
inline constexpr ElementType element_of<std::int16_t> = ElementType::int16;
template <>
inline constexpr ElementType element_of<std::uint16_t> = ElementType::uint16;
template <>
inline constexpr ElementType element_of<std::int32_t> = ElementType::int32;
template <>
inline constexpr ElementType element_of<std::uint32_t> = ElementType::uint32;
template <>
inline constexpr ElementType element_of<std::int64_t> = ElementType::int64;
template <>
inline constexpr ElementType element_of<std::uint64_t> = ElementType::uint64;
template <>
inline constexpr ElementType element_of<float> = ElementType::float32;
template <>
inline constexpr ElementType element_of<double> = ElementType::float64;

/// Whether a `T` holds elements of the type: 4-bit integers are held by 8 bits.
template <class T>
constexpr bool holds(ElementType element) {
  if (element == ElementType::int4) element = ElementType::int8;
  if (element == ElementType::uint4) element = ElementType::uint8;
  return element == element_of<T>;
}

/// Calls `body.template operator()<T>()`, T being the one of the types that holds one element:
/// `float`, `double`, an integer of 8 to 64 bits, `bool` for `boolean`. Refuses elements that none
/// of them holds; `what` are their tensors, in the message.
template <class First, class... Others, class Body>
[[nodiscard]] auto with_one_of(ElementType element, Body body,
                               std::string_view what = "operands of type")
    -> decltype(body.template operator()<First>()) {
  if (holds<First>(element)) return body.template operator()<First>();
  if constexpr (sizeof...(Others) > 0) {
    return with_one_of<Others...>(element, body, what);
  } else {
    return KernelCall::refuse(fmt::format("{} {}", what, to_string(element)));
  }
}

/// With all element types but float16 and bfloat16, which kernels are given as float32
/// (HalfFloats::widened).
template <class Body>
[[nodiscard]] Expected<Tensors> with_element(ElementType element, Body body) {
  return with_one_of<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                     std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, bool>(element, body);
}

/// With `float` and `double` alone.
template <class Body>
[[nodiscard]] Expected<Tensors> with_real(ElementType element, Body body) {
  if (element == ElementType::float32) return body.template operator()<float>();
  if (element == ElementType::float64) return body.template operator()<double>();
  return KernelCall::refuse(
      fmt::format("operands of type {}, where float is wanted", to_string(element)));
}

/// By width alone, for kernels that move elements and do not compute with them: T is an unsigned
/// integer. The elements are those of a tensor, which all have a width.
template <class Body>
auto with_width(ElementType element, Body body) {
  switch (byte_width(element)) {
    case 1:
      return body.template operator()<std::uint8_t>();
    case 2:
      return body.template operator()<std::uint16_t>();
    case 4:
      return body.template operator()<std::uint32_t>();
    default:
      QUADRANT_ASSERT(byte_width(element) == 8);
      return body.template operator()<std::uint64_t>();
  }
}

}  // namespace quadrant::inline v0
