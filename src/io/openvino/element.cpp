#include "io/openvino/element.hpp"

#include <algorithm>
#include <array>

namespace quadrant::inline v0::openvino_ir {
namespace {

struct ElementName {
  ElementType element;
  std::string_view name;
  std::string_view precision;
};

constexpr std::array element_names{
    ElementName{ElementType::boolean, "boolean", "BOOL"},
    ElementName{ElementType::int4, "i4", "I4"},
    ElementName{ElementType::uint4, "u4", "U4"},
    ElementName{ElementType::int8, "i8", "I8"},
    ElementName{ElementType::uint8, "u8", "U8"},
    ElementName{ElementType::int16, "i16", "I16"},
    ElementName{ElementType::uint16, "u16", "U16"},
    ElementName{ElementType::int32, "i32", "I32"},
    ElementName{ElementType::uint32, "u32", "U32"},
    ElementName{ElementType::int64, "i64", "I64"},
    ElementName{ElementType::uint64, "u64", "U64"},
    ElementName{ElementType::float16, "f16", "FP16"},
    ElementName{ElementType::bfloat16, "bf16", "BF16"},
    ElementName{ElementType::float32, "f32", "FP32"},
    ElementName{ElementType::float64, "f64", "FP64"},
    ElementName{ElementType::uint2, "u2", "U2"},
    ElementName{ElementType::float4e2m1, "f4e2m1", "F4E2M1"},
    ElementName{ElementType::float8e4m3, "f8e4m3", "F8E4M3"},
    ElementName{ElementType::float8e5m2, "f8e5m2", "F8E5M2"},
    ElementName{ElementType::float8e8m0, "f8e8m0", "F8E8M0"},
};

const std::array code_names{
    CodeName{FixedTable::nf4, "nf4", "NF4"},
    CodeName{FloatCode{ElementType::float4e2m1}, "f4e2m1", "F4E2M1"},
    CodeName{FloatCode{ElementType::float8e4m3}, "f8e4m3", "F8E4M3"},
    CodeName{FloatCode{ElementType::float8e5m2}, "f8e5m2", "F8E5M2"},
    CodeName{FloatCode{ElementType::float8e8m0}, "f8e8m0", "F8E8M0"},
};

}  // namespace

const CodeName* find_code_name(const NumberCode& code) {
  const auto* const found = std::ranges::find(code_names, code, &CodeName::code);
  return found == code_names.end() ? nullptr : found;
}

const CodeName* find_code_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(code_names, name, &CodeName::name);
  return found == code_names.end() ? nullptr : found;
}

ElementType element_named(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(element_names, name, &ElementName::name);
  return found == element_names.end() ? ElementType::opaque : found->element;
}

std::string_view name_of(ElementType element) noexcept {
  const auto* const found = std::ranges::find(element_names, element, &ElementName::element);
  return found == element_names.end() ? std::string_view() : found->name;
}

std::string_view precision_of(ElementType element) noexcept {
  const auto* const found = std::ranges::find(element_names, element, &ElementName::element);
  return found == element_names.end() ? std::string_view("UNSPECIFIED") : found->precision;
}

ElementType element_of_precision(std::string_view precision) noexcept {
  if (precision.empty() || precision == "UNSPECIFIED") return ElementType::undefined;
  const auto* const found = std::ranges::find(element_names, precision, &ElementName::precision);
  return found == element_names.end() ? ElementType::opaque : found->element;
}

std::optional<std::uint64_t> stored_bytes_of(ElementType element, std::int64_t count) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 58U;
  if (count < 0 || count > most || name_of(element).empty() || is_carried(element)) {
    return std::nullopt;
  }
  const auto elements = static_cast<std::uint64_t>(count);
  if (bit_width(element) == 4) return (elements + 1) / 2;
  return elements * static_cast<std::uint64_t>(byte_width(element));
}

}  // namespace quadrant::inline v0::openvino_ir
