// How an IR names element types, and how its .bin file stores them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0::openvino_ir {

/// `f32`, as in the attribute `element_type`; `ElementType::opaque` for one that is only carried
/// (f8e4m3, string, u1, ...).
[[nodiscard]] ElementType element_named(std::string_view name) noexcept;
/// The other way; empty for a type that has no name there.
[[nodiscard]] std::string_view name_of(ElementType element) noexcept;
/// `FP32`, as in the attribute `precision` of a port; `UNSPECIFIED` where there is none.
[[nodiscard]] std::string_view precision_of(ElementType element) noexcept;
[[nodiscard]] ElementType element_of_precision(std::string_view precision) noexcept;

/// How elements that are codes of a number format without scales are called, as both attributes
/// have it; empty where OpenVINO has no such elements.
struct CodeName {
  NumberCode code;
  std::string_view name;       ///< `nf4`
  std::string_view precision;  ///< `NF4`
};
[[nodiscard]] const CodeName* find_code_name(const NumberCode& code);
[[nodiscard]] const CodeName* find_code_name(std::string_view name) noexcept;

/// Bytes in the .bin file of `count` elements; those of 4 bits are packed, two in a byte, the first
/// in the lower half. Empty for a type that is only carried, and for more than 2^62.
[[nodiscard]] std::optional<std::uint64_t> stored_bytes_of(ElementType element,
                                                           std::int64_t count) noexcept;

}  // namespace quadrant::inline v0::openvino_ir
