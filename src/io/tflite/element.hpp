// TFLite's tensor types and the library's element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/tflite/schema.hpp"
#include "quadrant/ir/element_type.hpp"

namespace quadrant::inline v0::tflite {

/// Empty for a type that TFLite does not have.
[[nodiscard]] std::optional<schema::TensorType> tensor_type_of(ElementType element) noexcept;
/// `ElementType::opaque` for a type that the library does not read (strings, complex numbers).
[[nodiscard]] ElementType element_of(schema::TensorType type) noexcept;

/// Bytes of `count` elements in a file, where two of 4 bits share one.
[[nodiscard]] std::uint64_t stored_size(ElementType element, std::uint64_t count) noexcept;
/// Elements as a file holds them: 4-bit ones in pairs, the first in the low half.
[[nodiscard]] std::vector<std::uint8_t> packed(ElementType element,
                                               std::span<const std::byte> bytes);
/// The opposite: a byte each.
[[nodiscard]] std::vector<std::byte> unpacked(ElementType element, std::uint64_t count,
                                              std::span<const std::byte> bytes);

}  // namespace quadrant::inline v0::tflite
