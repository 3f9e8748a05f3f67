#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"

using namespace quadrant;

namespace {

NumberFormat format_of(std::string_view text) {
  const auto format = parse_number_format(text);
  REQUIRE_MESSAGE(format, to_string(format.error()));
  return *format;
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::sin(static_cast<float>(i)) * (1 + static_cast<float>(i % 7));
  }
  return values;
}

Constant matrix(std::int64_t rows, std::int64_t columns) {
  return Constant::from_vector(ElementType::float32, {rows, columns},
                               ramp(static_cast<std::size_t>(rows * columns)));
}

std::vector<float> decoded(const EncodedConstant& encoded) {
  const auto real = dequantized(encoded.codes, encoded.quantization);
  REQUIRE_MESSAGE(real, to_string(real.error()));
  const auto bytes = real->read();
  REQUIRE(bytes);
  const auto values = bytes->as<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("the error is that of what a dequantize gives, in every format") {
  const Constant real = matrix(6, 96);
  const std::vector<float> values = ramp(std::size_t{6} * 96);
  for (const NamedFormat& named : named_formats()) {
    CAPTURE(named.name);
    const NumberFormat format = format_of(named.name);
    const auto encoded = encode_constant(real, format);
    REQUIRE_MESSAGE(encoded, to_string(encoded.error()));
    CHECK(encoded->codes.element() == storage_element(format));
    CHECK(encoded->quantization.storage() == encoded->codes.element());
    CHECK(static_cast<bool>(encoded->quantization.uniform()) == is_uniform(format));
    if (is_uniform(format)) {
      CHECK(verify(*encoded->quantization.uniform(), real.shape()));
    } else {
      CHECK(verify(*encoded->quantization.other(), real.shape()));
    }
    CHECK(squared_error(values, decoded(*encoded)) ==
          doctest::Approx(encoded->error).epsilon(1e-6));
    const auto again = with_contents(format, contents_of(scaled_format(encoded->quantization)));
    CHECK(Quantization(again) == encoded->quantization);
  }
}

TEST_CASE("any part of the reals can be read") {
  const auto encoded = encode_constant(matrix(7, 33), format_of("q4_k"));
  REQUIRE(encoded);
  const std::vector<float> whole = decoded(*encoded);
  const Constant real = *dequantized(encoded->codes, encoded->quantization);
  for (const std::size_t first : std::initializer_list<std::size_t>{0, 1, 31, 33, 200}) {
    std::vector<float> part(29);
    REQUIRE(real.read(first * sizeof(float), std::as_writable_bytes(std::span(part))));
    CHECK(std::ranges::equal(part, std::span(whole).subspan(first, 29)));
  }
}

TEST_CASE("groups of zeros have a scale that a uniform type may have") {
  std::vector<float> values(64, 0.0F);
  values[40] = 3;
  const Constant real = Constant::from_vector(ElementType::float32, {2, 32}, values);
  for (const std::string_view text : {"int4", "uint4", "int8", "uint8", "nf4", "mxfp4", "q4_k"}) {
    CAPTURE(text);
    const auto encoded = encode_constant(real, format_of(text));
    REQUIRE_MESSAGE(encoded, to_string(encoded.error()));
    if (encoded->quantization.uniform()) {
      CHECK(verify(*encoded->quantization.uniform(), real.shape()));
    }
    const std::vector<float> found = decoded(*encoded);
    CHECK(std::all_of(found.begin(), found.begin() + 32, [](float value) { return value == 0; }));
    CHECK(found[40] == doctest::Approx(3).epsilon(0.2));
  }
}

TEST_CASE("what is no number, and integers, are refused with their place") {
  std::vector<float> values(32, 1.0F);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  const auto nan = encode_constant(Constant::from_vector(ElementType::float32, {1, 32}, values),
                                   format_of("nf4"));
  REQUIRE_FALSE(nan);
  CHECK(nan.error().message.find("element 7") != std::string::npos);
  const Constant integers =
      Constant::from_vector(ElementType::int8, {1, 32}, std::vector<std::int8_t>(32));
  REQUIRE_FALSE(encode_constant(integers, format_of("nf4")));
}

TEST_CASE("a table ends at the largest number of its type") {
  std::vector<float> values = ramp(64);
  values[3] = 70000;
  const Constant real = Constant::from_vector(ElementType::float32, {1, 64}, values);
  const auto encoded = encode_constant(real, format_of("codebook:16"));
  REQUIRE_MESSAGE(encoded, to_string(encoded.error()));
  CHECK(verify(*encoded->quantization.other(), real.shape()));
  CHECK(decoded(*encoded)[3] == 65504);
}

TEST_CASE("halves are encoded as the numbers that they are") {
  const std::vector<float> exact{0.5F, -1, 2, 0.25F, 1, 1.5F, -0.75F, 0};
  const Constant halves = make_scales(ElementType::float16, {1, 8}, exact);
  const Constant singles = Constant::from_vector(ElementType::float32, {1, 8}, exact);
  const auto a = encode_constant(halves, format_of("mxfp4"));
  const auto b = encode_constant(singles, format_of("mxfp4"));
  REQUIRE(a);
  REQUIRE(b);
  CHECK(decoded(*a) == decoded(*b));
}

TEST_CASE("a constant without elements has codes, and as many scales as it has groups") {
  for (const std::string_view text : {"int4", "nf4", "mxfp4", "nvfp4", "q4_k", "codebook:16",
                                      "codebook:16:channel", "fp8-e4m3", "uint4"}) {
    CAPTURE(text);
    const Constant empty =
        Constant::from_vector(ElementType::float32, {0, 64}, std::vector<float>{});
    const auto encoded = encode_constant(empty, format_of(text));
    if (!encoded) continue;  // a table of nothing is none
    CHECK(encoded->codes.element_count() == 0);
    const auto real = dequantized(encoded->codes, encoded->quantization);
    REQUIRE_MESSAGE(real, to_string(real.error()));
    CHECK(real->element_count() == 0);
  }
}

TEST_CASE("a format for a whole tensor gives its largest code to the largest number") {
  struct Case {
    const char* format;
    float largest;
    float scale;
  };
  // e8m0 is floor(log2(6)) - 2 for the codes of e2m1: OCP Microscaling 1.0, 6.3.
  for (const auto& [text, largest, scale] : {Case{"f8e4m3 * f32[tensor] : f32", 896, 2},
                                             {"f8e5m2 * f32[tensor] : f32", 28672, .5F},
                                             {"i8<-127:127> * f32[tensor] : f32", 254, 2},
                                             {"f4e2m1 * f8e8m0[tensor] : f32", 6, 1}}) {
    CAPTURE(text);
    const auto made = scaled_for(format_of(text), largest);
    REQUIRE_MESSAGE(made, to_string(made.error()));
    const auto scales = scaled_format(*made).scales[0].read();
    REQUIRE(scales);
    CHECK(scales->as<float>()[0] == scale);
    // Of zeros alone there is no scale that says more than another; it must be one.
    const auto zeros = scaled_for(format_of(text), 0);
    const auto ones = scaled_for(format_of(text), 1);
    REQUIRE((zeros && ones));
    CHECK(zeros->storage() == ones->storage());
    CHECK(scaled_format(*zeros).scales[0].read()->as<float>()[0] ==
          scaled_format(*ones).scales[0].read()->as<float>()[0]);
  }
}

TEST_CASE("a scale that the type does not have is refused, not cut") {
  const auto refused = [](const char* text, float largest) {
    CAPTURE(text);
    const auto made = scaled_for(format_of(text), largest);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().code == ErrorCode::impossible);
    return made.error().message;
  };
  // The last float16 is 65504, the last e4m3 448: times the last code, and a little more.
  constexpr float last = 65504 * 127.0F;
  const char* const half = "i8<-127:127> * f16[tensor] : f32";
  CHECK(scaled_for(format_of(half), last).has_value());
  CHECK(refused(half, last * 1.001F).find("larger") != std::string::npos);
  refused(half, last * 1000);
  CHECK(scaled_for(format_of("f8e4m3 * f8e4m3[tensor] : f32"), 448 * 448).has_value());
  refused("f8e4m3 * f8e4m3[tensor] : f32", 448 * 450);
  // 7.9 is clipped to 6 by OCP Microscaling's own rule.
  CHECK(scaled_for(format_of("f4e2m1 * f8e8m0[tensor] : f32"), 7.9F).has_value());
  const char* const single = "f8e4m3 * f32[tensor] : f32";
  CHECK(scaled_for(format_of(single), std::numeric_limits<float>::max()).has_value());
  CHECK(refused(single, std::numeric_limits<float>::infinity()).find("inf") != std::string::npos);
  refused(single, std::numeric_limits<float>::quiet_NaN());
  for (const char* const parts :
       {"f4e2m1 * f8e8m0[block=32] : f32", "i8 * f32[channel] : f32", "nvfp4", "f8e4m3 : f32"}) {
    CHECK(refused(parts, 1).find("whole tensor") != std::string::npos);
  }
}

namespace {

// Of a matrix of 6 rows, whose columns lie apart: w[c, r] of 16 inputs c.
SecondMoments some_moments(std::int64_t columns = 16) {
  WeightMatrices layout{{0}, {0, 1, 2, 3, 4, 5}, {}};
  for (std::int64_t i = 0; i < columns; ++i) layout.columns.push_back(i * 6);
  const auto count = static_cast<std::size_t>(columns);
  SecondMoments moments(std::move(layout), std::vector<double>(count, 0.5));
  std::mt19937 random(3);
  std::vector<double> x(count * 40);
  for (double& number : x) number = static_cast<double>(random() % 41) - 20;
  REQUIRE(moments.add(0, x));
  return moments;
}

}  // namespace

TEST_CASE("rows that are rounded to the nearest become what they were") {
  const Constant real = matrix(16, 6);
  for (const char* text : {"i4<-7:7> * f32[axis=1] : f32", "i8 * f32[axis=0 block=4] : f32"}) {
    CAPTURE(text);
    auto encoded = encode_constant(real, format_of(text), {.search = false});
    REQUIRE_MESSAGE(encoded, to_string(encoded.error()));
    const std::vector<float> before = decoded(*encoded);
    std::size_t rows = 0;
    const auto done = round_rows(real, some_moments(), 0.01, *encoded, [&](const RowToRound& row) {
      ++rows;
      CHECK(row.factor.size() == 16 * 16);
      for (std::size_t i = 0; i < row.real.size(); ++i) {
        row.codes[i] = std::clamp(std::nearbyint(row.real[i] / row.step[i]), row.least, row.most);
      }
    });
    REQUIRE_MESSAGE(done, to_string(done.error()));
    CHECK(rows == 6);
    CHECK(decoded(*encoded) == before);
  }
}

TEST_CASE("what a rounder came to is the mean of what its errors add to results") {
  // Two inputs of one sum, four times.
  const std::vector<double> x{1, 2, -1, 0, 2, 1, 0, 3};
  SecondMoments moments({{0}, {0}, {0, 1}}, {1, 1});
  REQUIRE(moments.add(0, x));
  const Constant real =
      Constant::from_vector(ElementType::float32, {2, 1}, std::vector<float>{1.25F, 3.5F});
  auto encoded =
      encode_constant(real, format_of("i8<-127:127> * f32[tensor] : f32"), {.search = false});
  REQUIRE(encoded);
  CHECK_FALSE(encoded->rounded.has_value());
  const double step = 3.5F / 127.0;
  const double before = std::nearbyint(1.25 / step) * step - 1.25;
  REQUIRE(round_rows(real, moments, 0.01, *encoded, [&](const RowToRound& row) {
    row.codes[0] = 40;
    row.codes[1] = 120;
  }));
  const auto of = [&](double first, double second) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); i += 2) {
      sum += std::pow(x[i] * first + x[i + 1] * second, 2);
    }
    return sum / 4;
  };
  REQUIRE(encoded->rounded.has_value());
  CHECK(encoded->rounded->rows == 1);
  CHECK(encoded->rounded->nearest == doctest::Approx(of(before, 0)).epsilon(1e-4));
  CHECK(encoded->rounded->error ==
        doctest::Approx(of(40 * step - 1.25, 120 * step - 3.5)).epsilon(1e-4));
}

TEST_CASE("what a rounder may not make, and what has no rows, is refused") {
  const Constant real = matrix(16, 6);
  auto encoded = encode_constant(real, format_of("i4<-7:7> * f32[axis=1] : f32"));
  REQUIRE(encoded);
  const std::vector<float> before = decoded(*encoded);
  for (const double code : {8.0, -8.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(code);
    CHECK_FALSE(round_rows(real, some_moments(), 0.01, *encoded,
                           [&](const RowToRound& row) { row.codes[3] = code; }));
    CHECK(decoded(*encoded) == before);
  }
  const auto leave = [](const RowToRound&) {};
  CHECK_FALSE(round_rows(real, some_moments(15), 0.01, *encoded, leave));
  CHECK_FALSE(round_rows(real, some_moments(17), 0.01, *encoded, leave));
  auto table = encode_constant(real, format_of("nf4"));
  REQUIRE(table);
  CHECK_FALSE(round_rows(real, some_moments(), 0.01, *table, leave));
}
