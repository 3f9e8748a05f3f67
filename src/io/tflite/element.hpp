// TFLite's tensor types and the library's element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/tflite/schema.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::tflite {

/// Empty for a type that TFLite does not have.
[[nodiscard]] std::optional<schema::TensorType> tensor_type_of(ElementType element) noexcept;
/// `ElementType::opaque` for a type that the library does not read (strings, complex numbers).
[[nodiscard]] ElementType element_of(schema::TensorType type) noexcept;

/// What codes of a tensor are: a file has uniform ones alone. Null for plain numbers; `impossible`
/// for another format.
[[nodiscard]] std::shared_ptr<const UniformType> uniform_of(const Quantization& type);

/// Whether several share a byte of a file: those of 4 bits, and of 2, which constants hold as ones
/// of 4. How many bytes that are says `packed_size`.
[[nodiscard]] bool is_packed(ElementType element) noexcept;
/// Elements, a byte each where they are packed, as a file holds them: the first in the lowest bits.
[[nodiscard]] std::vector<std::uint8_t> packed(ElementType element,
                                               std::span<const std::byte> bytes);
/// The opposite: a byte each.
[[nodiscard]] std::vector<std::byte> unpacked(ElementType element, std::uint64_t count,
                                              std::span<const std::byte> bytes);

}  // namespace quadrant::inline v0::tflite
