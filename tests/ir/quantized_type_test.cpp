#include "ir/quantized_type.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "ir/scales.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

std::string printed(const std::string& text) {
  const auto type = parse_quantized_type(text);
  if (!type) return type.error().message;
  const auto back = print_quantized_type(*type);
  return back ? *back : back.error().message;
}

bool refuses(const std::string& text, const std::string& words) {
  const auto type = parse_quantized_type(text);
  if (!type) INFO(type.error().message);
  const bool refused = !type && type.error().message.find(words) != std::string::npos;
  if (!refused) MESSAGE(text, ": ", type ? "accepted" : type.error().message);
  return refused;
}

}  // namespace

TEST_CASE("types are printed as they were read") {
  for (const std::string text :
       {"!quant.uniform<i8:f32, 0.1>", "!quant.uniform<u8:f32, 0.1:128>",
        "!quant.uniform<i8<-127:127>:f32, 0.1:3>", "!quant.uniform<i4:f16, 0.5>",
        "!quant.uniform<u4:bf16, 1.0e-05:8>", "!quant.uniform<i1:f64, 2.0:-1>",
        "!quant.uniform<u31:f32, 1.0e+30>", "!quant.uniform<i32:f32, 0.1>",
        "!quant.uniform<i8:f32:1, {0.1:1, 0.2:2, 0.3:-3}>", "!quant.any<i8<-16:15>>",
        "!quant.any<u3:f32>", "!quant.calibrated<f32<-0.998:1.2321>>",
        "!quant.uniform<i8:f32:{0:1, 1:32}, {{0.1:1, 0.2:2}, {0.3, 0.4}}>",
        "!quant.uniform<i4:f32:{0:2, 1:1, 2:1}, {{{0.1}, {0.2}}, {{0.3}, {0.4:-1}}}>"}) {
    CHECK(printed(text) == text);
  }
}

TEST_CASE("what says nothing is not printed") {
  CHECK(printed("!quant.uniform<i8<-128:127>:f32, 0.5:0>") == "!quant.uniform<i8:f32, 0.5>");
  CHECK(printed(" !quant.uniform< si8 : f32 , 0.5 : 0 > ") == "!quant.uniform<i8:f32, 0.5>");
  CHECK(printed("!quant.uniform<ui8:f32, 1.>") == "!quant.uniform<u8:f32, 1.0>");
}

TEST_CASE("a type says what it holds") {
  const auto read = parse_quantized_type("!quant.uniform<i5<-7:8>:f16:2, {0.1:-7, 3.0}>");
  REQUIRE(read.has_value());
  const auto& type = std::get<UniformType>(*read);
  CHECK(type.storage == ElementType::int8);
  CHECK(type.storage_bits == 5);
  CHECK((type.storage_min == -7 && type.storage_max == 8));
  CHECK(type.expressed == ElementType::float16);
  CHECK(type.granularity == Granularity::per_axis(2));
  CHECK(*read_exact_scales(type.scales) == std::vector<double>{0.1, 3.0});
  CHECK(*read_integers(type.zero_points) == std::vector<std::int64_t>{-7, 0});
}

TEST_CASE("what MLIR refuses is refused, with the place and the remedy") {
  CHECK(refuses("!quant.uniform<i8, 0.1>", "expected ':'"));
  CHECK(refuses("!quant.uniform<i8:f32, 1>", "a point"));
  CHECK(refuses("!quant.uniform<i8:f32, 1e-5>", "a point"));
  CHECK(refuses("!quant.uniform<i33:f32, 0.1>", "1 to 32 bits"));
  CHECK(refuses("!quant.uniform<i64:f32, 0.1>", "1 to 32 bits"));
  CHECK(refuses("!quant.uniform<i0:f32, 0.1>", "1 to 32 bits"));
  CHECK(refuses("!quant.uniform<f8:f32, 0.1>", "1 to 32 bits"));
  CHECK(refuses("!quant.uniform<i8<-129:127>:f32, 0.1>", "inside -128 to 127"));
  CHECK(refuses("!quant.uniform<i8<0:128>:f32, 0.1>", "inside -128 to 127"));
  CHECK(refuses("!quant.uniform<i8<127:-127>:f32, 0.1>", "two and more"));
  CHECK(refuses("!quant.uniform<i8<5:5>:f32, 0.1:5>", "two and more"));
  CHECK(refuses("!quant.uniform<i8<-127,127>:f32, 0.1>", "expected ':'"));
  CHECK(refuses("!quant.uniform<i8:i32, 0.1>", "f16, bf16, f32 or f64"));
  CHECK(refuses("!quant.uniform<i8:f32, 0.0>", "a scale of 0"));
  CHECK(refuses("!quant.uniform<i8:f32, -0.5>", "a scale of -0.5"));
  CHECK(refuses("!quant.uniform<i8:f32, 1.0e-50>", "scales of f32 are from"));
  CHECK(refuses("!quant.uniform<i8:f16, 70000.0>", "65504"));
  CHECK(refuses("!quant.uniform<i8:f32, 0.1:200>", "from -128 to 127"));
  CHECK(refuses("!quant.uniform<i8<-127:127>:f32, 0.1:-128>", "outside -127 to 127"));
  CHECK(refuses("!quant.uniform<i8:f32:-1, {0.1}>", "axis"));
  CHECK(refuses("!quant.uniform<i8:f32:1, {}>", "expected a number"));
  CHECK(refuses("!quant.uniform<i8:f32:1, 0.1>", "expected '{'"));
  CHECK(refuses("!quant.uniform<i8:f32, {0.1}>", "more braces"));
  CHECK(refuses("!quant.uniform<i8:f32:1, {{0.1}}>", "more braces"));
  CHECK(refuses("!quant.uniform<i8:f32, 0.1> x", "the end of the type"));
  CHECK(refuses("!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1, 0.2}, {0.3}}>", "different numbers"));
  CHECK(refuses("!quant.uniform<i8:f32:{0:2, 1:2}, {{0.1}}>", "one axis"));
  CHECK(refuses("!quant.uniform<i8:f32:{1:2}, {{0.1}}>", "one axis"));
  CHECK(refuses("!quant.uniform<i8:f32:{0:1, 0:2}, {{0.1}}>", "twice"));
  CHECK(refuses("!quant.calibrated<f32<0.0:0.0>>", "below the second"));
  CHECK(refuses("!quant.calibrated<f32<1.0:0.5>>", "below the second"));
  CHECK(refuses("!quant.calibrated<f32<-1.0:1>>", "a point"));
  CHECK(refuses("!quant.unknown<i8>", "!quant.uniform<"));
  CHECK(refuses("!quant.uniform<i8:f32, 0.1", "column 27: expected '>'"));
}

TEST_CASE("as the element of a tensor, a type fits its shape") {
  const auto fits = [](const std::string& text, const Shape& shape) {
    return verify_quantized_type(*parse_quantized_type(text), shape).has_value();
  };
  const std::string axis = "!quant.uniform<i8:f32:1, {0.1, 0.2}>";
  CHECK(fits(axis, Shape{3, 2}));
  CHECK(fits(axis, Shape{3, Extent::open()}));
  CHECK_FALSE(fits(axis, Shape{3, 3}));
  CHECK_FALSE(fits(axis, Shape{2}));
  const std::string blocks = "!quant.uniform<i8:f32:{0:2, 1:1}, {{0.1}, {0.2}}>";
  CHECK(fits(blocks, Shape{4, 1}));
  CHECK_FALSE(fits(blocks, Shape{3, 1}));  // they do not divide it
  CHECK_FALSE(fits(blocks, Shape{4, 2}));
  CHECK_FALSE(fits(blocks, Shape{4}));
}

TEST_CASE("random types come back; damaged ones are an error or a type") {
  std::mt19937 random(1);
  const auto pick = [&](auto... values) {
    const std::vector<std::string> all{values...};
    return all[random() % all.size()];
  };
  for (int i = 0; i < test::shortened(20000); ++i) {
    std::string text = "!quant.uniform<";
    text.append(pick("i8", "u4", "i3<-3:3>", "u31", "i32")).append(":");
    text.append(pick("f32", "f16", "f64", "bf16"));
    const std::string scales = pick("0.1", "0.25:1", "1.0e-3:2", "3.0");
    switch (random() % 3) {
      case 0:
        text.append(", ").append(scales).append(">");
        break;
      case 1:
        text.append(":3, {").append(scales).append(", ").append(scales).append("}>");
        break;
      default:
        text.append(":{0:1, 1:").append(pick("1", "2", "32")).append("}, {{").append(scales);
        text.append("}, {").append(scales).append("}}>");
    }
    const std::string once = printed(text);
    REQUIRE_MESSAGE(once.starts_with("!quant"), text, ": ", once);
    CHECK(printed(once) == once);
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = "<>{},:.0i8f-!\0#9"[random() % 16];
    printed(text);
  }
}

TEST_CASE("long lists and deep braces take time in proportion") {
  std::string many = "!quant.uniform<i8:f32:0, {1.0";
  for (int i = 0; i < 200000; ++i) many += ", 1.0";
  CHECK(parse_quantized_type(many + "}>").has_value());
  const std::string deep = "!quant.uniform<i8:f32:{0:1}, " + std::string(1000000, '{');
  CHECK_FALSE(parse_quantized_type(deep).has_value());
}
