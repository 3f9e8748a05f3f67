#include "ir/text_numbers.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "ir/float16.hpp"

namespace quadrant::inline v0::detail {
namespace {

// A float format by its bits.
struct Format {
  int digits;  // hexadecimal, of all bits
  std::uint64_t infinity;
  std::uint64_t plain_nan;
};
constexpr Format f16{4, 0x7c00, plain_nan_f16};
constexpr Format bf16{4, 0x7f80, plain_nan_bf16};
constexpr Format f32{8, 0x7f800000, plain_nan_f32};
constexpr Format f64{16, 0x7ff0000000000000, plain_nan_f64};

Expected<std::uint64_t> nan_bits(const Scanner& scan, const Number& number, const Format& format) {
  if (number.nan_digits == 0) return format.plain_nan;
  const std::uint64_t sign = std::uint64_t{1} << (4U * static_cast<unsigned>(format.digits) - 1U);
  if (number.nan_digits != format.digits || (number.nan_bits & ~sign) <= format.infinity) {
    return scan.error(number.at,
                      fmt::format("expected the {} hexadecimal digits of a NaN", format.digits));
  }
  return number.nan_bits;
}

template <class T>
Expected<T> real(const Scanner& scan, const Number& number, const Format& format) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (number.text == "nan") {
    QUADRANT_TRY(const std::uint64_t bits, nan_bits(scan, number, format));
    return std::bit_cast<T>(static_cast<Bits>(bits));
  }
  T value = 0;
  const char* const begin = number.text.data();
  const char* const end = begin + number.text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) {
    return scan.error(number.at, "this number is too large or too small for its type");
  }
  if (stop != end || error != std::errc()) return scan.error(number.at, "expected a number");
  return value;
}

template <class T>
Expected<T> integer(const Scanner& scan, const Number& number, T min, T max) {
  T value = 0;
  const char* const begin = number.text.data();
  const char* const end = begin + number.text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (!number.is_integer() || stop != end || error != std::errc() || value < min || value > max) {
    return scan.error(number.at, fmt::format("expected an integer from {} to {}", min, max));
  }
  return value;
}

template <class T>
void append(std::vector<std::byte>& out, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
Expected<void> append_integer(const Scanner& scan, const Number& number,
                              std::vector<std::byte>& out, T min = std::numeric_limits<T>::min(),
                              T max = std::numeric_limits<T>::max()) {
  QUADRANT_TRY(const T value, integer<T>(scan, number, min, max));
  append(out, value);
  return {};
}

Expected<void> append_half(const Scanner& scan, const Number& number, std::vector<std::byte>& out,
                           const Format& format, std::uint16_t (*narrow)(float) noexcept) {
  if (number.text == "nan") {
    QUADRANT_TRY(const std::uint64_t bits, nan_bits(scan, number, format));
    append(out, static_cast<std::uint16_t>(bits));
    return {};
  }
  QUADRANT_TRY(const float value, to_float(scan, number));
  const std::uint16_t bits = narrow(value);
  if (!std::isinf(value) && (bits & 0x7fffU) == format.infinity) {
    return scan.error(number.at, "this number is too large for its type");
  }
  append(out, bits);
  return {};
}

}  // namespace

Expected<std::int64_t> to_integer(const Scanner& scan, const Number& number) {
  return integer<std::int64_t>(scan, number, INT64_MIN, INT64_MAX);
}

Expected<float> to_float(const Scanner& scan, const Number& number) {
  return real<float>(scan, number, f32);
}

Expected<double> to_double(const Scanner& scan, const Number& number) {
  return real<double>(scan, number, f64);
}

Expected<void> append_element(const Scanner& scan, ElementType element, const Number& number,
                              std::vector<std::byte>& out) {
  switch (element) {
    case ElementType::boolean:  // any byte: damage is shown, not hidden
    case ElementType::uint8:
      return append_integer<std::uint8_t>(scan, number, out);
    case ElementType::int4:
      return append_integer<std::int8_t>(scan, number, out, -8, 7);
    case ElementType::uint4:
      return append_integer<std::uint8_t>(scan, number, out, 0, 15);
    case ElementType::int8:
      return append_integer<std::int8_t>(scan, number, out);
    case ElementType::int16:
      return append_integer<std::int16_t>(scan, number, out);
    case ElementType::uint16:
      return append_integer<std::uint16_t>(scan, number, out);
    case ElementType::int32:
      return append_integer<std::int32_t>(scan, number, out);
    case ElementType::uint32:
      return append_integer<std::uint32_t>(scan, number, out);
    case ElementType::int64:
      return append_integer<std::int64_t>(scan, number, out);
    case ElementType::uint64:
      return append_integer<std::uint64_t>(scan, number, out);
    case ElementType::float16:
      return append_half(scan, number, out, f16, round_to_float16);
    case ElementType::bfloat16:
      return append_half(scan, number, out, bf16, round_to_bfloat16);
    case ElementType::float32: {
      QUADRANT_TRY(const float value, to_float(scan, number));
      append(out, value);
      return {};
    }
    case ElementType::float64: {
      QUADRANT_TRY(const double value, to_double(scan, number));
      append(out, value);
      return {};
    }
    default:
      break;
  }
  return scan.error(number.at, "constants of this element type have no numbers");
}

}  // namespace quadrant::inline v0::detail
