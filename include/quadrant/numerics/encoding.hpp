// What the codes of a quantized value mean, in the terms of a range.
#pragma once

#include <cstdint>
#include <span>

#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/rounding.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Codes 0 to `steps` stand for the reals `min` to `max`, `scale` apart:
///
///   real = scale * (code + offset) = scale * (code - zero_point)
///
/// Zero is one of them. All in double: files hold ranges in decimal, and ties must not depend on
/// how a scale was rounded.
struct Encoding {
  int bits = 8;
  std::int64_t steps = 255;  ///< codes minus one: 2^bits - 1, or one less where symmetric strictly
  double scale = 1;          ///< above 0
  std::int64_t zero_point = 0;  ///< the code of zero, in 0 to `steps`
  double min = 0;               ///< of code 0
  double max = 255;             ///< of code `steps`
  bool symmetric = false;       ///< zero is the middle code, or the first by agreement

  [[nodiscard]] std::int64_t offset() const noexcept { return -zero_point; }

  friend bool operator==(const Encoding&, const Encoding&) = default;
};

/// clamp(round(real / scale + zero_point)), rounded by `profile`.
[[nodiscard]] inline std::int64_t quantize_value(
    double real, const Encoding& encoding,
    const RoundingProfile& profile = RoundingProfile::snpe()) noexcept {
  return quantize_value(real, encoding.scale, encoding.zero_point, 0, encoding.steps, profile);
}

[[nodiscard]] inline double dequantize_value(std::int64_t code, const Encoding& encoding) noexcept {
  return encoding.scale * static_cast<double>(code - encoding.zero_point);
}

/// Whether codes are stored as they are, or with zero moved down by ceil(steps / 2), so that a
/// symmetric encoding has zero point 0.
enum class CodeSign : std::uint8_t {
  unsigned_codes,  ///< 0 to steps
  signed_codes,    ///< 8 bits: -128 to 127, strict -127 to 127
};

/// The type of a tensor of shape `shape` with these encodings, one for each scale that
/// `granularity` gives it, in the order of scales. Its storage is the smallest of 4, 8, 16 and 32
/// bits that holds the codes. Scales are rounded to float32, so that codes by the type and by the
/// encoding can differ at ties.
///
/// `impossible`: a granularity that does not fit the shape, another number of encodings, encodings
/// that differ in their bits or steps, or that are none: a scale that is not above 0 and finite in
/// float32, a zero point outside 0 to steps, other than 2 to 16 bits or, as biases have, 32.
[[nodiscard]] Expected<UniformType> uniform_type(std::span<const Encoding> encodings,
                                                 const Shape& shape, const Granularity& granularity,
                                                 CodeSign sign);

}  // namespace quadrant::inline v0
