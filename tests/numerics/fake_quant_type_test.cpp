#include "numerics/fake_quant_type.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/affine.hpp"
#include "numerics/fake_quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"

namespace quadrant {
namespace {

std::string type_text(const std::string& line) {
  const auto graph = parse_graph(
      "graph {}\n%x: tensor<2x2xf16> = input()\n%c: tensor<2xf16> = constant() [-1, 0]\n"
      "%d: tensor<2xf16> = constant() [1, 2]\n%s: tensor<f16> = constant() [3]\n"
      "%z: tensor<f16> = constant() [0]\n%y: tensor<2x2xf16> = " +
      line);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())));
  const auto type = fake_quant_type(graph->ref(graph->find_value("y").node));
  return type ? to_string(**type) : type.error().message;
}

TEST_CASE("fake_quant_type: per tensor and per axis, of attributes and of constants") {
  CHECK(type_text("const_fake_quant(%x) {min = 0.0, max = 3.0}") ==
        "!quant.uniform<u8:f16, 0.011764706>");
  CHECK(type_text("fake_quant(%x, %z, %s) {}") == "!quant.uniform<u8:f16, 0.011764706>");
  CHECK(type_text("const_fake_quant(%x) {min = -127.0, max = 127.0, narrow_range = 1, "
                  "is_signed = 1}") == "!quant.uniform<i8<-127:127>:f16, 1.0>");
  const std::string channels = "!quant.uniform<i8:f16:1, {0.007843138:-1, 0.007843138:-128}>";
  CHECK(type_text("const_fake_quant(%x) {min = [-1.0, 0.0], max = [1.0, 2.0], axis = 1, "
                  "is_signed = 1}") == channels);
  CHECK(type_text("fake_quant(%x, %c, %d) {axis = -1, is_signed = 1}") == channels);
  CHECK(type_text("fake_quant(%x, %x, %s) {}") == "its bounds are computed");
  CHECK(type_text("const_fake_quant(%x) {min = 1.0, max = 0.0}") ==
        "a fake quantization of the range 1 to 0");
}

TEST_CASE("simulated quantization: zero is exact, and rounding loses half a step at most") {
  std::mt19937 random(10);
  for (int i = 0; i < 500; ++i) {
    const double size = std::exp(std::uniform_real_distribution<double>(-8, 8)(random));
    std::uniform_real_distribution<float> in(static_cast<float>(-size), static_cast<float>(size));
    // Ranges with zero inside: others are shifted.
    const FakeQuantRange given{.min = -std::abs(in(random)),
                               .max = std::abs(in(random)),
                               .num_bits = i % 3 == 0 ? 16 : 8,
                               .narrow_range = i % 2 == 0,
                               .is_signed = i % 5 < 2};
    const auto type = fake_quant_type(std::vector{given}, std::nullopt, ElementType::float32);
    REQUIRE(type);
    REQUIRE(verify(**type, {4}));
    const auto nudged = nudged_range(given);
    REQUIRE(nudged);
    const float scale = read_scales((*type)->scales)->front();
    const auto zero_point = static_cast<std::int32_t>(nudged->zero_point);
    const auto first = static_cast<std::int32_t>((*type)->storage_min);
    const auto last = static_cast<std::int32_t>((*type)->storage_max);
    const auto there_and_back = [&](float real) {
      return dequantize_value(quantize_value(real, scale, zero_point, first, last), scale,
                              zero_point);
    };
    // What a convolution is padded with: no bias.
    CHECK(there_and_back(0.0F) == 0.0F);
    const double low = nudged->scale * static_cast<double>(first - zero_point);
    const double high = nudged->scale * static_cast<double>(last - zero_point);
    for (int k = 0; k < 50; ++k) {
      const float real = in(random);
      if (real < low || real > high) continue;
      // Float32's own roundings, of the scale, the quotient and the product.
      const double roundings = std::abs(real) * std::ldexp(1, -22);
      CHECK(std::abs(there_and_back(real) - real) <= nudged->scale / 2 + roundings);
    }
  }
}

}  // namespace
}  // namespace quadrant
