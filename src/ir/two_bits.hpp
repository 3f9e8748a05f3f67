// Codes that 2 bits hold: constants have them as ones of 4, files may have elements of them.
#pragma once

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

/// The elements of 2 bits that hold all codes of the type; `undefined` where some need more.
[[nodiscard]] inline ElementType two_bit_element(const UniformType& type) noexcept {
  constexpr int bits = 2;
  const bool is_signed = has_signed_codes(type);
  const IntegerRange all = code_range(bits, is_signed);
  const bool fits = type.storage == storage_element(bits, is_signed) &&
                    type.storage_min >= all.min && type.storage_max <= all.max;
  if (!fits) return ElementType::undefined;
  return is_signed ? ElementType::int2 : ElementType::uint2;
}

/// What a file that was read has the elements of a constant as, by its type: of 2 bits where codes
/// are declared so.
[[nodiscard]] inline ElementType declared_element(const TensorType& type) noexcept {
  const auto& codes = type.uniform();
  return codes && declared_bits(*codes) == 2 ? two_bit_element(*codes) : type.element;
}

}  // namespace quadrant::inline v0
