#include "ir/float16.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

namespace quadrant {
namespace {

// IEEE 754-2019, 3.4: the value of a binary interchange format with `exponent_bits` and
// `fraction_bits`, in double. Not for NaN.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits >> (exponent_bits + fraction_bits)) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = bits & ((1U << fraction_bits) - 1);
  if (exponent == (1 << exponent_bits) - 1) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign *
         std::ldexp(fraction + std::ldexp(1, fraction_bits), exponent - bias - fraction_bits);
}

bool is_nan(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const std::uint32_t fraction = bits & ((1U << fraction_bits) - 1);
  const std::uint32_t exponent = (bits >> fraction_bits) & ((1U << exponent_bits) - 1);
  return fraction != 0 && exponent == (1U << exponent_bits) - 1;
}

struct Format {
  int exponent_bits;
  int fraction_bits;
  float (*widen)(std::uint16_t);
  std::uint16_t (*round)(float);
};
constexpr Format binary16{5, 10, widen_float16, round_to_float16};
constexpr Format brain{8, 7, widen_bfloat16, round_to_bfloat16};

void check_all_codes(const Format& format) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto code = static_cast<std::uint16_t>(bits);
    const float value = format.widen(code);
    if (is_nan(bits, format.exponent_bits, format.fraction_bits)) {
      wrong += (!std::isnan(value) || std::signbit(value) != (bits >= 0x8000) ||
                !std::isnan(format.widen(format.round(value))))
                   ? 1
                   : 0;
      continue;
    }
    const double expected = value_of(bits, format.exponent_bits, format.fraction_bits);
    wrong += (static_cast<double>(value) != expected || std::signbit(value) != (bits >= 0x8000) ||
              format.round(value) != code)
                 ? 1
                 : 0;
  }
  CHECK(wrong == 0);
}

// Between each two neighbours: the midpoint goes to the even one, anything beside it to the nearer.
void check_all_midpoints(const Format& format) {
  const auto infinity =
      static_cast<std::uint32_t>(((1 << format.exponent_bits) - 1) << format.fraction_bits);
  int wrong = 0;
  for (std::uint32_t low = 0; low < infinity; ++low) {
    const double below = value_of(low, format.exponent_bits, format.fraction_bits);
    // As if the exponent went on: 2^(bias + 1) is where infinity starts to be the nearer one.
    const double above = low + 1 == infinity
                             ? std::ldexp(1, 1 << (format.exponent_bits - 1))
                             : value_of(low + 1, format.exponent_bits, format.fraction_bits);
    const auto middle = static_cast<float>((below + above) / 2);
    REQUIRE(static_cast<double>(middle) == (below + above) / 2);  // exact in float32
    const float inf = std::numeric_limits<float>::infinity();
    const std::uint32_t even = low % 2 == 0 ? low : low + 1;
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const float s = sign != 0 ? -1.0F : 1.0F;
      wrong += (format.round(s * middle) != (even | sign)) ? 1 : 0;
      wrong += (format.round(s * std::nextafter(middle, 0.0F)) != (low | sign)) ? 1 : 0;
      wrong += (format.round(s * std::nextafter(middle, inf)) != ((low + 1) | sign)) ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("float16: every code has the value that IEEE 754 gives it") { check_all_codes(binary16); }
TEST_CASE("bfloat16: every code has the value that its format gives it") { check_all_codes(brain); }
TEST_CASE("float16: rounding to nearest, ties to even") { check_all_midpoints(binary16); }
TEST_CASE("bfloat16: rounding to nearest, ties to even") { check_all_midpoints(brain); }

TEST_CASE("float16: beyond the range") {
  CHECK(round_to_float16(65504.0F) == 0x7bff);
  CHECK(round_to_float16(65519.996F) == 0x7bff);
  CHECK(round_to_float16(65520.0F) == 0x7c00);
  CHECK(round_to_float16(-std::numeric_limits<float>::max()) == 0xfc00);
  CHECK(round_to_float16(std::numeric_limits<float>::denorm_min()) == 0);
  CHECK(round_to_float16(-std::numeric_limits<float>::min()) == 0x8000);
  // NaNs whose payload lies in the low bits alone must not become infinite.
  CHECK(std::isnan(widen_float16(round_to_float16(std::bit_cast<float>(0x7f800001U)))));
  CHECK(std::isnan(widen_bfloat16(round_to_bfloat16(std::bit_cast<float>(0xff800001U)))));
  CHECK(std::isnan(widen_bfloat16(round_to_bfloat16(std::bit_cast<float>(0x7fffffffU)))));
}

TEST_CASE("the conversions are constant expressions") {
  static_assert(widen_float16(0x3c00) == 1.0F);
  static_assert(widen_float16(0x0001) == 0x1p-24F);
  static_assert(round_to_float16(0x1p-24F) == 0x0001);
  static_assert(round_to_bfloat16(1.0F) == 0x3f80);
}

}  // namespace
}  // namespace quadrant
