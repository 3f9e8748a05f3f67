#include "quadrant/ir/number_format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <unordered_set>

#include "ir/scales.hpp"
#include "ir/small_float.hpp"

namespace quadrant {
namespace {

NumberFormat parsed(std::string_view text) { return parse_number_format(text).value(); }

double bits_of(std::string_view text) { return bits_per_weight(parsed(text), {4096, 4096}); }

TEST_CASE("every name and every text reads back as what it was, and no two are the same") {
  std::set<std::string> texts;
  std::unordered_set<std::size_t> hashes;
  for (const NamedFormat& row : named_formats()) {
    CAPTURE(row.name);
    const auto format = parse_number_format(row.name, {.channel = 2, .block = 5});
    REQUIRE(format);
    CHECK(verify(*format));
    CHECK(parse_number_format(row.text, {.channel = 2, .block = 5}) == format);
    CHECK(parsed(to_string(*format)) == *format);
    CHECK(texts.insert(to_string(*format)).second);
    CHECK(hashes.insert(format->hash()).second);
  }
  for (const char* text :
       {"codebook:16", "codebook:256:channel", "codebook:5:group",
        "table<16 x f16>[tensor] * f32[tensor] * +-f8e4m3[axis=1 block=16] : f32",
        "i4<-7:7> * bf16[axis=0] * i6<-31:31>[axis=1 block=8] : bf16",
        "(u3<1:6> - z) * f16[axis=3 block=7] : f16", "i16 * f64[tensor] : f64", "f6e3m2 : f32",
        "f6e2m3 * f8e8m0[axis=1 block=32] : f32", "f8e5m2 : f16",
        "u4 * f16[axis=1 block=32] - +-f16[axis=1 block=32] : f32"}) {
    CAPTURE(text);
    CHECK(parsed(to_string(parsed(text))) == parsed(text));
    CHECK(parsed(to_string(parsed(text))).hash() == parsed(text).hash());
  }
  CHECK(to_string(parsed("nvfp4")) == "f4e2m1 * f32[tensor] * f8e4m3[axis=1 block=16] : f32");
  CHECK(parsed("int4") != parsed("uint4"));
  CHECK((parsed("int4") < parsed("uint4")) != (parsed("uint4") < parsed("int4")));
}

TEST_CASE("bits are those that the formats' authors give") {
  CHECK(bits_of("q4_k") == 4.5);     // llama.cpp: 144 bytes for 256
  CHECK(bits_of("q5_k") == 5.5);     // 176
  CHECK(bits_of("q6_k") == 6.5625);  // 210
  CHECK(bits_of("iq4nl") == 4.5);    // 18 for 32
  CHECK(bits_of("mxfp4") == 4.25);
  CHECK(bits_of("mxfp8") == 8.25);
  CHECK(bits_of("nvfp4") == 4.5 + 32.0 / (4096.0 * 4096.0));
  CHECK(bits_of("nf4") == 4.5);
  CHECK(bits_of("int4") == 4.5);
  CHECK(bits_of("uint4") == 4.625);
  CHECK(bits_of("lpbq4") == 4 + 4.0 / 64 + 32.0 / 4096);
  CHECK(bits_of("codebook:16") == 4 + 16.0 * 16 / (4096.0 * 4096.0));
  CHECK(bits_of("codebook:9:channel") == 4 + 9.0 * 16 / 4096);
  CHECK(bits_of("codebook:16:group") == 4.25);
  CHECK(bits_per_weight(parsed("q4_k"), {2, 100}) == 4 + 2 * (32.0 + 4 * 12) / 200);
  CHECK(bits_per_weight(parsed("q4_k"), {0, 256}) == 0);
}

TEST_CASE("what is no format is refused with where") {
  for (const char* text : {"",
                           "int9",
                           "i4",
                           "i4 * f32 : f32",
                           "i4 * f32[tensor]",
                           "i4 * u6[tensor] : f32",
                           "i4<7:-8> * f32[tensor] : f32",
                           "i4<-9:7> * f32[tensor] : f32",
                           "f4e2m1 - f32[tensor] : f32",
                           "table<3 x f16>[tensor] : f32",
                           "table<257 x f16>[tensor] : f32",
                           "table<16 x i8>[tensor] : f32",
                           "(nf4 - z) * f32[tensor] : f32",
                           "(u4 - z) : f32",
                           "f8e8m0 * f32[tensor] : f32",
                           "i4 * +-f8e8m0[tensor] : f32",
                           "i4 * i8[tensor] : f32",
                           "i4 * f32[axis=1 block=0] : f32",
                           "i4 * f32[axis=0] * u4[axis=0 block=2] : f32",
                           "i4 * f32[axis=1 block=48] * u4[axis=1 block=32] : f32",
                           "i4 * f32[axis=1 block=32] * u4[tensor] : f32",
                           "u4 * f16[axis=1 block=32] - f16[axis=1 block=64] : f32",
                           "i4 * f32[tensor] * u4<0:16>[axis=0] : f32",
                           "table<16 x f16>[axis=1 block=4] * f16[axis=1 block=8] : f32",
                           "i4 * f32[tensor] : i8",
                           "i4 * f32[tensor] : f32 x",
                           "codebook:16:row",
                           "(u8 - z) * f32[tensor] - f32[tensor] : f32",
                           "codebook:",
                           "codebook:999999999999999999999"}) {
    CAPTURE(text);
    const auto format = parse_number_format(text);
    REQUIRE_FALSE(format);
    CHECK(format.error().code == ErrorCode::usage);
    CHECK_FALSE(format.error().message.empty());
  }
  CHECK_FALSE(verify(parsed("int4"), {32}));
  CHECK(verify(parsed("int4"), {32, 32}));
  CHECK_FALSE(verify(parsed("codebook:16:channel"), Shape(std::vector<std::int64_t>{})));
}

TEST_CASE("a uniform type survives") {
  for (const ElementType element :
       {ElementType::float32, ElementType::float16, ElementType::float64}) {
    for (const bool has_zeros : {false, true}) {
      UniformType type;
      type.storage = ElementType::uint4;
      type.storage_bits = 3;
      type.storage_min = 1;
      type.storage_max = 6;
      type.granularity = Granularity::per_block(0, 2);
      type.expressed = ElementType::float16;
      type.scales = make_exact_scales(element, {1, 2}, {0.5, -2});
      if (has_zeros) {
        type.zero_points = make_zero_points(type.storage, {1, 2}, std::vector<std::int64_t>{2, 5});
      }
      const ScaledFormat quantization = ScaledFormat::of(type);
      CHECK(verify(quantization.format, {2, 2}));
      REQUIRE(quantization.uniform());
      CHECK(*quantization.uniform() == type);
      CHECK(ScaledFormat::of(*quantization.uniform()) == quantization);
    }
  }
  CHECK_FALSE(is_uniform(parsed("lpbq4")));
  CHECK_FALSE(is_uniform(parsed("q4_k")));
  CHECK_FALSE(is_uniform(parsed("nf4")));
  CHECK_FALSE(is_uniform(parsed("i4 * bf16[tensor] : f32")));
  CHECK(is_uniform(parsed("uint8")));
}

// Formulas of the specifications, and their tables: E4M3 ends at 448, E5M2 at 57344, E3M2 at 28,
// E2M3 at 7.5; E2M1 has 0, 0.5, 1, 1.5, 2, 3, 4, 6.
TEST_CASE("small floats are those of OCP") {
  for (const ElementType type :
       {ElementType::float4e2m1, ElementType::float6e2m3, ElementType::float6e3m2,
        ElementType::float8e4m3, ElementType::float8e5m2, ElementType::float8e8m0}) {
    const SmallFloat layout = small_float(type).value();
    for (int bits = 0; bits < 1 << bit_width(type); ++bits) {
      const float value = widen_small_float(layout, bits);
      if (std::isnan(value)) continue;
      const auto again = small_float_bits(layout, value);
      REQUIRE(again);
      CHECK(widen_small_float(layout, *again) == value);
      CHECK((*again == bits || value == 0));
    }
    CHECK_FALSE(small_float_bits(layout, 1.0625F * 3));
    CHECK_FALSE(small_float_bits(layout, std::numeric_limits<float>::infinity()));
    CHECK_FALSE(small_float_bits(layout, std::numeric_limits<float>::quiet_NaN()));
  }
  CHECK_FALSE(small_float_bits(small_float(ElementType::float8e8m0).value(), -1));
  const auto largest = [](ElementType type) {
    const SmallFloat layout = small_float(type).value();
    return widen_magnitude(layout, layout.finite - 1);
  };
  CHECK(largest(ElementType::float8e4m3) == 448);
  CHECK(largest(ElementType::float8e5m2) == 57344);
  CHECK(largest(ElementType::float6e3m2) == 28);
  CHECK(largest(ElementType::float6e2m3) == 7.5F);
  CHECK(largest(ElementType::float4e2m1) == 6);
  CHECK(largest(ElementType::float8e8m0) == 0x1p127F);
  const float of_four_bits[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  const SmallFloat e2m1 = small_float(ElementType::float4e2m1).value();
  for (int i = 0; i < 8; ++i) {
    CHECK(widen_small_float(e2m1, i) == of_four_bits[i]);
    CHECK(widen_small_float(e2m1, i + 8) == -of_four_bits[i]);
  }
  CHECK(std::signbit(widen_small_float(e2m1, 8)));
  const SmallFloat e4m3 = small_float(ElementType::float8e4m3).value();
  CHECK(widen_small_float(e4m3, 1) == 0x1p-9F);
  CHECK(widen_small_float(e4m3, 0x38) == 1);
  CHECK(widen_small_float(e4m3, 0xB9) == -1.125F);
  CHECK(std::isnan(widen_small_float(e4m3, 0x7F)));
  CHECK(std::isnan(widen_small_float(e4m3, 0xFF)));
  CHECK(std::isnan(widen_small_float(small_float(ElementType::float8e5m2).value(), 0x7C)));
  CHECK(widen_small_float(small_float(ElementType::float8e5m2).value(), 1) == 0x1p-16F);
  CHECK(widen_small_float(small_float(ElementType::float8e8m0).value(), 0) == 0x1p-127F);
  CHECK(std::isnan(widen_small_float(small_float(ElementType::float8e8m0).value(), 255)));
  CHECK_FALSE(small_float(ElementType::float16));
}

}  // namespace
}  // namespace quadrant
