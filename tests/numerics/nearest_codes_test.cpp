#include "numerics/nearest_codes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "ir/small_float.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"

using namespace quadrant;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> decoded(const Constant& codes, const Quantization& type) {
  const auto read = dequantized(codes, type).value().read();
  REQUIRE(read);
  const auto values = read->as<float>();
  return {values.begin(), values.end()};
}

// What the bits of an element would be if `value` stood for itself: the number that is nearest to
// it, ties to the even one, by the width of the numbers around it.
float rounded(const SmallFloat& type, float value) {
  const double largest = widen_magnitude(type, type.finite - 1);
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent = std::max(std::ilogb(magnitude), 1 - type.bias);
  const double step = std::ldexp(1.0, exponent - type.mantissa);
  const double near = std::min(std::nearbyint(magnitude / step) * step, largest);
  return static_cast<float>(std::copysign(near, value));
}

}  // namespace

TEST_CASE("no other code is nearer, in every format") {
  const Shape shape{6, 96};
  const std::size_t count = std::size_t{6} * 96;
  const auto scaled_by = noise(count, 1);
  const std::vector<float> values = noise(count, 2);
  const Constant real = Constant::from_vector(ElementType::float32, shape, values);
  for (const NamedFormat& named : named_formats()) {
    CAPTURE(named.name);
    const auto format = parse_number_format(named.text, {0, 1});
    REQUIRE(format);
    const auto scales =
        encode_constant(Constant::from_vector(ElementType::float32, shape, scaled_by), *format);
    REQUIRE(scales);
    if (scales->quantization.other() == nullptr || bit_width(format->code) > 8) continue;
    const Constant codes = quantized(real, scales->quantization).value();
    CHECK(codes.element() == storage_element(*format));
    std::vector<float> least(count, infinity);
    const int patterns = 1 << bit_width(format->code);
    const auto* const integer = std::get_if<IntegerCode>(&format->code);
    for (int code = 0; code < patterns; ++code) {
      const int value =
          integer != nullptr && integer->is_signed && 2 * code >= patterns ? code - patterns : code;
      if (integer != nullptr && (value < integer->min || value > integer->max)) continue;
      const std::vector<std::byte> all(count, static_cast<std::byte>(code));
      const auto reals =
          decoded(Constant::from_bytes(codes.element(), shape, all), scales->quantization);
      for (std::size_t i = 0; i < count; ++i) {
        const float distance = std::fabs(reals[i] - values[i]);
        least[i] = std::min(least[i], distance);  // NaN never is
      }
    }
    const auto reals = decoded(codes, scales->quantization);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(std::fabs(reals[i] - values[i]) <= least[i] * (1 + 1e-5F));
    }
  }
}

TEST_CASE("floats are what a cast makes of value / scale") {
  std::mt19937 random(3);
  for (const ElementType element : {ElementType::float8e4m3, ElementType::float8e5m2,
                                    ElementType::float4e2m1, ElementType::float6e3m2}) {
    const SmallFloat type = *small_float(element);
    std::vector<float> values{0.0F, -0.0F, infinity, -infinity, 1e-45F, -1e-45F};
    for (int bits = 0; bits + 1 < type.finite; ++bits) {  // each number, and the ties
      const float low = widen_magnitude(type, bits);
      const float middle = (low + widen_magnitude(type, bits + 1)) / 2;
      for (const float value :
           {low, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, infinity)}) {
        values.insert(values.end(), {value, -value});
      }
    }
    for (int i = 0; i < 2000; ++i) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
      if (std::isnan(values.back())) values.pop_back();
    }
    const Shape shape{static_cast<std::int64_t>(values.size())};
    const float one = 1;
    const ScaledFormat format{
        .format = {.code = FloatCode{element}, .scales = {{{}, FloatScale{}}}},
        .scales = {
            Constant::from_values(ElementType::float32, Shape::scalar(), std::span(&one, 1))}};
    const Constant codes =
        quantized(Constant::from_vector(ElementType::float32, shape, values), format).value();
    const std::vector<float> found = decoded(codes, format);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(values[i]);
      const float wanted = std::isinf(values[i])
                               ? std::copysign(widen_magnitude(type, type.finite - 1), values[i])
                               : rounded(type, values[i]);
      CHECK(std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(wanted));
    }
  }
}

TEST_CASE("what is no number is none where the format has such, else 0") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Constant real = Constant::from_vector(ElementType::float32, {1}, std::vector<float>{nan});
  const auto code_of = [&](std::string_view text) {
    const auto format = parse_number_format(text);
    REQUIRE(format);
    const float two = 2;
    const ScaledFormat scaled{
        *format,
        {Constant::from_values(ElementType::float32, Shape::scalar(), std::span(&two, 1))},
        {},
        {}};
    const auto read = quantized(real, scaled).value().read();
    REQUIRE(read);
    return std::to_integer<int>(read->bytes()[0]);
  };
  CHECK(code_of("f8e4m3 * f32[tensor] : f32") == 0x7F);
  CHECK(code_of("f8e5m2 * f32[tensor] : f32") == 0x7F);
  CHECK(code_of("f4e2m1 * f32[tensor] : f32") == 0);
  CHECK(code_of("nf4 * f32[tensor] : f32") == 7);
}

TEST_CASE("any part can be read") {
  const Shape shape{5, 64};
  const Constant real = Constant::from_vector(ElementType::float32, shape, noise(320, 4));
  for (const std::string_view name : {"fp8-e4m3", "nvfp4", "q4_k", "nf4"}) {
    const auto encoded = encode_constant(real, *parse_number_format(name));
    REQUIRE(encoded);
    const Constant codes = quantized(real, encoded->quantization).value();
    const auto whole = codes.read();
    REQUIRE(whole);
    for (const std::size_t first : {0U, 1U, 63U, 64U, 300U}) {
      std::vector<std::byte> part(20);
      REQUIRE(codes.read(first, std::span(part)));
      CHECK(std::ranges::equal(part, whole->bytes().subspan(first, part.size())));
    }
  }
}
