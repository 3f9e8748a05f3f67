#include "numerics/affine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>
#include <vector>

#include "numerics/helpers.hpp"

namespace quadrant {
namespace {

using test::infinity;

// ONNX QuantizeLinear as its specification puts it: saturate(round(x / y_scale) + y_zero_point).
// The quotient is a float32; from there on in long double, which holds all integers of 64 bits.
std::int64_t onnx_quantize(float real, float scale, std::int64_t zero_point, std::int64_t min,
                           std::int64_t max) {
  const float quotient = real / scale;
  long double rounded = std::floor(static_cast<long double>(quotient));
  const long double above = static_cast<long double>(quotient) - rounded;
  if (std::isinf(quotient)) return quotient > 0 ? max : min;
  if (above > 0.5L || (above == 0.5L && std::fmod(rounded, 2.0L) != 0)) rounded += 1;
  const long double code = rounded + static_cast<long double>(zero_point);
  if (code <= static_cast<long double>(min)) return min;
  if (code >= static_cast<long double>(max)) return max;
  return static_cast<std::int64_t>(code);
}

struct Range {
  std::int64_t min;
  std::int64_t max;
};
constexpr std::array ranges{
    Range{-8, 7},           Range{0, 15},     Range{-7, 7},
    Range{-127, 127},       Range{-128, 127}, Range{0, 255},
    Range{-32768, 32767},   Range{0, 65535},  Range{-2147483648LL, 2147483647},
    Range{0, 4294967295LL}, Range{5, 5}};

std::vector<std::int64_t> zero_points(const Range& range) {
  return {range.min, range.max, 0, 1, range.min / 2 + range.max / 2};
}

TEST_CASE("quantize_value: by hand") {
  CHECK(quantize_value(0.5F, 1, 0, -128, 127) == 0);
  CHECK(quantize_value(1.5F, 1, 0, -128, 127) == 2);
  CHECK(quantize_value(2.5F, 1, 0, -128, 127) == 2);
  CHECK(quantize_value(-0.5F, 1, 0, -128, 127) == 0);
  CHECK(quantize_value(-1.5F, 1, 0, -128, 127) == -2);
  CHECK(quantize_value(-2.5F, 1, 10, -128, 127) == 8);
  CHECK(quantize_value(127.5F, 1, 0, -128, 127) == 127);
  CHECK(quantize_value(-128.5F, 1, 0, -128, 127) == -128);
  CHECK(quantize_value(-128.5F, 1, 0, -127, 127) == -127);
  CHECK(quantize_value(infinity, 0.1F, 3, -128, 127) == 127);
  CHECK(quantize_value(-infinity, 0.1F, 3, -128, 127) == -128);
  CHECK(quantize_value(std::numeric_limits<float>::quiet_NaN(), 0.1F, 3, -128, 127) == 3);
  CHECK(quantize_value(1e30F, 1e-30F, 0, -128, 127) == 127);  // the quotient overflows
  CHECK(quantize_value(-0.0F, 1, 7, 0, 255) == 7);
  // 2^31 - 1 is not a float32: clamping there must not let 2^31 through.
  CHECK(quantize_value(1e10F, 1, 0, -2147483648LL, 2147483647) == 2147483647);
  CHECK(quantize_value(-1e10F, 1, 2147483647, -2147483648LL, 2147483647) == -2147483648LL);
}

TEST_CASE("quantize_value is ONNX QuantizeLinear") {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-40, 40);
  std::normal_distribution<float> normal;
  int wrong = 0;
  for (const Range& range : ranges) {
    const auto width = static_cast<float>(range.max - range.min) + 4;
    std::uniform_real_distribution<float> around(-1.5F * width, 1.5F * width);
    for (const std::int64_t zero_point : zero_points(range)) {
      const auto check = [&](float real, float scale) {
        wrong += (quantize_value(real, scale, zero_point, range.min, range.max) !=
                  onnx_quantize(real, scale, zero_point, range.min, range.max))
                     ? 1
                     : 0;
      };
      for (int i = 0; i < 3000; ++i) {
        const float scale = std::exp2(std::round(exponent(random)));
        const float tie = std::floor(around(random)) + 0.5F;
        check(tie * scale, scale);  // exact ties
        check(std::nextafter(tie * scale, infinity), scale);
        check(std::nextafter(tie * scale, -infinity), scale);
        check(around(random) * scale, scale * (1 + std::abs(normal(random))));
        check(normal(random) * std::exp2(exponent(random)), std::exp2(exponent(random)));
      }
      for (const float real : {infinity, -infinity, 0.0F, -0.0F, 1e38F, -1e38F, 1e-45F}) {
        for (const float scale : {1.0F, 1e-38F, 1e-45F, 3e38F}) check(real, scale);
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("quantize_value: every tie of the 16-bit range, and the floats beside it") {
  int wrong = 0;
  for (int i = -70000; i <= 70000; ++i) {
    const float tie = static_cast<float>(i) + 0.5F;
    for (const float real : {tie, std::nextafter(tie, infinity), std::nextafter(tie, -infinity)}) {
      wrong +=
          (quantize_value(real, 1, 0, -32768, 32767) != onnx_quantize(real, 1, 0, -32768, 32767))
              ? 1
              : 0;
      wrong += (quantize_value(real, 1, 65535, 0, 65535) != onnx_quantize(real, 1, 65535, 0, 65535))
                   ? 1
                   : 0;
      wrong += (quantize_value(real, 1, 40000, 0, 65535) != onnx_quantize(real, 1, 40000, 0, 65535))
                   ? 1
                   : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("dequantize_value: by hand") {
  CHECK(dequantize_value(3, 0.5F, 1) == 1.0F);
  CHECK(dequantize_value(-128, 2.0F, 127) == -510.0F);
  CHECK(dequantize_value(0, 0.25F, 65535) == -16383.75F);
  CHECK(dequantize_value(5, 0.1F, 5) == 0.0F);
}

TEST_CASE("quantizing a dequantized code gives it back") {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> exponent(-60, 60);
  int wrong = 0;
  for (const Range& range : ranges) {
    if (range.max > 65535) continue;  // more digits than a float32 has
    for (const std::int64_t zero_point : zero_points(range)) {
      if (zero_point < range.min || zero_point > range.max) continue;
      const float scale = std::exp2(exponent(random));
      for (std::int64_t code = range.min; code <= range.max; ++code) {
        wrong += (quantize_value(dequantize_value(code, scale, zero_point), scale, zero_point,
                                 range.min, range.max) != code)
                     ? 1
                     : 0;
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace quadrant
