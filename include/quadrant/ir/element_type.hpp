// The scalar types a tensor can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quadrant::inline v0 {

/// A scalar type. Constants hold one little-endian element after another; 4-bit elements take a
/// whole byte each (packing belongs to the file formats).
enum class ElementType : std::uint8_t {
  undefined,  ///< not known, or not a tensor
  boolean,
  int4,
  uint4,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  // Carried through without being read, as `opaque` ones are: see `is_carried`.
  int2,
  uint2,
  float4e2m1,
  float6e2m3,
  float6e3m2,
  float8e4m3,  ///< finite, with one NaN: MLIR's f8E4M3FN
  float8e4m3fnuz,
  float8e5m2,
  float8e5m2fnuz,
  float8e8m0,  ///< powers of two
  opaque,      ///< another type that this library does not read (strings, complex numbers, ...)
};

/// `f32`, `bf16`, `i8`, `u4`, `i1` for boolean: MLIR's short names; `f8e4m3` and the like as
/// OpenVINO has them.
[[nodiscard]] std::string_view to_string(ElementType type) noexcept;
[[nodiscard]] std::optional<ElementType> parse_element_type(std::string_view text) noexcept;

/// Whether elements of the type are not read: values have it, tensors of files pass through, and
/// there are no constants of it. `opaque` stands for all types without a name of their own.
[[nodiscard]] bool is_carried(ElementType type) noexcept;

/// Bits of information an element holds: 4 for `int4`, 1 for `boolean`; 0 when unknown.
[[nodiscard]] int bit_width(ElementType type) noexcept;
/// Bytes an element takes in a `Constant`: 1 for `int4`; 0 when there are no constants of the type.
[[nodiscard]] int byte_width(ElementType type) noexcept;

/// Bytes that `count` elements take in files, which pack those of less than a byte, but not
/// booleans; 0 for a type of unknown width.
[[nodiscard]] std::uint64_t packed_size(ElementType type, std::uint64_t count) noexcept;

/// Of the types that are read, those of real numbers.
[[nodiscard]] bool is_float(ElementType type) noexcept;
/// Whether values of that type may be real numbers: floats, or not known.
[[nodiscard]] inline bool may_be_real(ElementType type) noexcept {
  return type == ElementType::undefined || is_float(type);
}
/// Of the types that are read, the signed and unsigned integers; false for `boolean`.
[[nodiscard]] bool is_integer(ElementType type) noexcept;

/// Smallest and largest value of an integer type of at most 32 bits.
struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};
[[nodiscard]] std::optional<IntegerRange> integer_range(ElementType type) noexcept;

}  // namespace quadrant::inline v0
