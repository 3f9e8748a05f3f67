#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>

#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"
#include "quadrant/numerics/encoding.hpp"

namespace quadrant {
namespace {

using test::double_infinity;

std::int64_t code(double real, std::int64_t zero_point, const RoundingProfile& profile,
                  double scale = 1) {
  return quantize_value(real, scale, zero_point, 0, 255, profile);
}

TEST_CASE("rounding profiles: ties, by hand") {
  const RoundingProfile onnx = RoundingProfile::onnx();
  const RoundingProfile snpe = RoundingProfile::snpe();
  // 2.5 + 10: even 2 + 10; away from zero 12.5 -> 13.
  CHECK(code(2.5, 10, onnx) == 12);
  CHECK(code(2.5, 10, snpe) == 13);
  CHECK(code(3.5, 10, onnx) == 14);
  CHECK(code(3.5, 10, snpe) == 14);
  // What is below zero: -2.5 + 10 = 7.5 -> 8, though -2.5 itself goes to -3.
  CHECK(code(-2.5, 10, onnx) == 8);
  CHECK(code(-2.5, 10, snpe) == 8);
  CHECK(code(-3.5, 10, onnx) == 6);
  CHECK(code(-3.5, 10, snpe) == 7);
  CHECK(RoundingProfile::mlir() == onnx);

  const RoundingProfile away_before{TieRule::half_away, RoundingOrder::round_then_add};
  CHECK(code(2.5, 10, away_before) == 13);
  CHECK(code(-2.5, 10, away_before) == 7);
  const RoundingProfile even_after{TieRule::half_even, RoundingOrder::add_then_round};
  CHECK(code(2.5, 11, even_after) == 14);  // 13.5
  CHECK(code(2.5, 10, even_after) == 12);  // 12.5
  CHECK(code(-2.5, 11, even_after) == 8);  // 8.5
}

TEST_CASE("rounding profiles: the seed's examples") {
  const RoundingProfile snpe = RoundingProfile::snpe();
  CHECK(code(5, 0, snpe, 10.0 / 255) == 128);     // 127.5
  CHECK(code(-6, 255, snpe, 20.0 / 255) == 179);  // 178.5
  CHECK(code(-20, 255, snpe, 20.0 / 255) == 0);
  // Rounded before the zero point is added, -76.5 gives another code, whichever way ties go.
  CHECK(code(-6, 255,
             {TieRule::half_away, RoundingOrder::round_then_add, QuotientPrecision::float64},
             20.0 / 255) == 178);
}

TEST_CASE("rounding profiles: the precision of the quotient decides near ties") {
  // 0.1F / 0.2F is 0.5 in either precision; 8388609 / 2 has no float32 of its own half.
  const double real = 8388609;  // 2^23 + 1
  RoundingProfile profile{TieRule::half_even, RoundingOrder::round_then_add,
                          QuotientPrecision::float64};
  const auto quantized = [&] {
    return quantize_value(real, 1.0 / 3, 0, 0, std::int64_t{1} << 31, profile);
  };
  const std::int64_t exact = quantized();
  profile.quotient = QuotientPrecision::float32;
  const std::int64_t rounded = quantized();
  CHECK(exact == 25165827);
  CHECK(rounded == static_cast<std::int64_t>(8388609.0F / static_cast<float>(1.0 / 3)));
  CHECK(exact != rounded);
}

TEST_CASE("rounding profiles: what is not a number, or too large for one") {
  for (const RoundingProfile& profile : {RoundingProfile::onnx(), RoundingProfile::snpe()}) {
    CHECK(code(double_infinity, 3, profile) == 255);
    CHECK(code(-double_infinity, 3, profile) == 0);
    CHECK(code(std::numeric_limits<double>::quiet_NaN(), 3, profile) == 3);
    CHECK(code(1e300, 3, profile, 1e-30) == 255);
    CHECK(code(-1e30, 3, profile, 1e-30) == 0);
    CHECK(code(-0.0, 7, profile) == 7);
    CHECK(code(8, 0, profile, -1) == 0);
    CHECK(quantize_value(1e30, 1, 0, -2147483648LL, 2147483647, profile) == 2147483647);
    CHECK(quantize_value(1e30, 1, 2147483647, -2147483648LL, 2147483647, profile) == 2147483647);
  }
}

TEST_CASE("rounding profiles: onnx is quantize_value of floats") {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> exponent(-20, 20);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> half(-600, 600);
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    const float scale = std::exp2(i % 2 == 0 ? std::round(exponent(random)) : exponent(random));
    const float real = i % 3 == 0 ? normal(random) * std::exp2(exponent(random))
                                  : static_cast<float>(half(random)) / 2 * scale;
    const std::int64_t zero_point = i % 256;
    wrong +=
        (quantize_value(static_cast<double>(real), static_cast<double>(scale), zero_point, 0, 255,
                        RoundingProfile::onnx()) != quantize_value(real, scale, zero_point, 0, 255))
            ? 1
            : 0;
  }
  CHECK(wrong == 0);
}

// The definition, in integers: real / scale is `halves` / 2.
std::int64_t of_halves(std::int64_t halves, std::int64_t zero_point,
                       const RoundingProfile& profile) {
  const bool after = profile.order == RoundingOrder::add_then_round;
  const std::int64_t sum = halves + (after ? 2 * zero_point : 0);
  const std::int64_t magnitude = sum < 0 ? -sum : sum;
  std::int64_t rounded = magnitude / 2;
  if (magnitude % 2 == 1 && (profile.ties == TieRule::half_away || rounded % 2 == 1)) ++rounded;
  if (sum < 0) rounded = -rounded;
  return std::min<std::int64_t>(std::max<std::int64_t>(rounded + (after ? 0 : zero_point), 0), 255);
}

TEST_CASE("rounding profiles: every half, at every zero point") {
  int wrong = 0;
  for (const TieRule ties : {TieRule::half_even, TieRule::half_away}) {
    for (const RoundingOrder order :
         {RoundingOrder::round_then_add, RoundingOrder::add_then_round}) {
      for (const QuotientPrecision quotient :
           {QuotientPrecision::float32, QuotientPrecision::float64}) {
        const RoundingProfile profile{ties, order, quotient};
        for (std::int64_t zero_point = 0; zero_point <= 255; ++zero_point) {
          for (std::int64_t halves = -530; halves <= 530; ++halves) {
            const double real = static_cast<double>(halves) / 8;
            wrong +=
                (code(real, zero_point, profile, 0.25) != of_halves(halves, zero_point, profile))
                    ? 1
                    : 0;
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace quadrant
