// Encodings of ranges: the vectors of SNPE's documentation and of its quantizer.
#include "numerics/range_encoding.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant {
namespace {

using Reals = std::vector<double>;
using Codes = std::vector<std::int64_t>;

EncodingRule rule_of(EncodingSymmetry symmetry, int bits = 8) {
  EncodingRule rule = EncodingRule::snpe();
  rule.symmetry = symmetry;
  rule.bits = bits;
  return rule;
}

Encoding of_data(const Reals& data, const EncodingRule& rule) {
  const auto [min, max] = std::ranges::minmax(data);
  return find_encoding(min, max, rule).value();
}

Codes codes_of(const Reals& data, const Encoding& encoding) {
  Codes codes;
  for (const double real : data) codes.push_back(quantize_value(real, encoding));
  return codes;
}

// A number as it is printed, with that many digits.
doctest::Approx printed(double value) { return doctest::Approx(value).epsilon(2e-6); }

TEST_CASE("default encoding: ends, step and codes of the reference vectors") {
  struct Row {
    Reals data;
    double min;
    double max;
    double scale;
    std::int64_t zero_point;
    Codes codes;
  };
  // Where ends or steps are not part of a vector, they are (code - zero point) * step by hand.
  const std::vector<Row> rows{
      {{-1.8, -1, 0, .5}, -1.803922, .496078, .00901961, 200, {0, 89, 200, 255}},
      {{5, 10}, 0, 10, .0392157, 0, {128, 255}},
      {{-20, -6}, -20, 0, .0784314, 255, {0, 179}},
      {{-5.1, 5.1}, -5.12, 5.08, .04, 128, {0, 255}},
      {{0, 0}, 0, .01, 3.92157e-5, 0, {0, 0}},
      {{5, 5}, 0, 5.01, 5.01 / 255, 0, {254, 254}},
      {{-1, 3}, -1.00392, 2.99608, .0156863, 64, {0, 255}},
      {{-3, 1}, -2.99608, 1.00392, .0156863, 191, {0, 255}},
      {{-6, 0, -3}, -6, 0, 6.0 / 255, 255, {0, 255, 128}},
      {{.1, .2, .7}, 0, .7, .00274510, 0, {36, 73, 255}},
      {{-128, 127, -.5, .5}, -128, 127, 1, 128, {0, 255, 128, 129}},
      {{-2.1006477, 1.70055947, .3},
       -141 * 3.80120717 / 255,
       114 * 3.80120717 / 255,
       3.80120717 / 255,
       141,
       {0, 255, 161}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.data[0]);
    const Encoding encoding = of_data(row.data, EncodingRule::snpe());
    CHECK(encoding.bits == 8);
    CHECK(encoding.steps == 255);
    CHECK(encoding.min == printed(row.min));
    CHECK(encoding.max == printed(row.max));
    CHECK(encoding.scale == printed(row.scale));
    CHECK(encoding.zero_point == row.zero_point);
    CHECK(encoding.offset() == -row.zero_point);
    CHECK(!encoding.symmetric);
    CHECK(codes_of(row.data, encoding) == row.codes);
  }
}

TEST_CASE("default encoding: 16 and 4 bits") {
  const Reals data{-1.8, -1, 0, .5};
  const Encoding wide = of_data(data, rule_of(EncodingSymmetry::asymmetric, 16));
  CHECK(wide.scale == doctest::Approx(3.50957504e-5).epsilon(1e-9));
  CHECK(wide.zero_point == 51288);
  CHECK(codes_of(data, wide) == Codes{0, 22795, 51288, 65535});
  const Encoding narrow = of_data(data, rule_of(EncodingSymmetry::asymmetric, 4));
  CHECK(narrow.scale == printed(.1533333));
  CHECK(narrow.zero_point == 12);
  CHECK(codes_of(data, narrow) == Codes{0, 5, 12, 15});
}

TEST_CASE("default encoding: dequantized") {
  const Encoding encoding = of_data({-1.8, -1, 0, .5}, EncodingRule::snpe());
  const Reals expected{-1.8039, -1.0011, 0, .4961};
  const Codes codes{0, 89, 200, 255};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    CHECK(std::fabs(dequantize_value(codes[i], encoding) - expected[i]) <
          1e-4);  // cut to four digits
  }
  CHECK(dequantize_value(200, encoding) == 0);
}

// 10.2 / 255 = 0.04: before the shift, zero lies between the codes 127 and 128, which stand for
// -0.02 and 0.02; after it, at 128.
TEST_CASE("default encoding: the shift that makes zero exact") {
  const double step = (5.1 - -5.1) / 255;
  CHECK(-5.1 + 127 * step == doctest::Approx(-.02));
  CHECK(-5.1 + 128 * step == doctest::Approx(.02));
  const Encoding encoding = of_data({-5.1, 5.1}, EncodingRule::snpe());
  CHECK(encoding.min == doctest::Approx(-5.1 - .02));
  CHECK(encoding.max == doctest::Approx(5.1 - .02));
  CHECK(quantize_value(0, encoding) == 128);
  CHECK(dequantize_value(128, encoding) == 0);
}

TEST_CASE("minimum range: before zero, as the documentation says, or after it") {
  EncodingRule rule = EncodingRule::snpe();
  CHECK(of_data({5, 5}, rule).max == doctest::Approx(5.01));
  CHECK(codes_of({5, 5}, of_data({5, 5}, rule)) == Codes{254, 254});
  rule.minimum_range_order = MinimumRangeOrder::after_zero;
  CHECK(of_data({5, 5}, rule).max == doctest::Approx(5));
  CHECK(codes_of({5, 5}, of_data({5, 5}, rule)) == Codes{255, 255});
  for (const MinimumRangeOrder order :
       {MinimumRangeOrder::before_zero, MinimumRangeOrder::after_zero}) {
    rule.minimum_range_order = order;
    CHECK(of_data({0, 0}, rule).max == doctest::Approx(.01));
    CHECK(of_data({-.002, .001}, rule).scale == doctest::Approx(.01 / 255));
    CHECK(of_data({-.002, .001}, rule).zero_point == 51);  // a fifth of 255
    CHECK(of_data({-5, -5}, rule).min == doctest::Approx(-5));
    CHECK(of_data({-5, -5}, rule).max == 0);
  }
  CHECK(of_data({0, 0}, EncodingRule::qairt()).max == doctest::Approx(.0001));
  CHECK(of_data({-.001, .001}, EncodingRule::qairt()).scale == doctest::Approx(.002 / 255));
}

TEST_CASE("onnx: no minimum range; half to even") {
  const Encoding none = of_data({0, 0}, EncodingRule::onnx());
  CHECK(none.scale == 1);
  CHECK(none.zero_point == 0);
  CHECK(of_data({-1e-6, 1e-6}, EncodingRule::onnx()).scale == doctest::Approx(2e-6 / 255));
  // -lo n / (hi - lo) = 2 * 15 / 12 = 2.5: to 2, or away from zero to 3.
  EncodingRule rule = EncodingRule::onnx();
  rule.bits = 4;
  CHECK(of_data({-2, 10}, rule).zero_point == 2);
  CHECK(of_data({-2, 10}, rule_of(EncodingSymmetry::asymmetric, 4)).zero_point == 3);
}

TEST_CASE("symmetric encodings") {
  const Reals data{-1.8, .5};
  const Encoding symmetric = of_data(data, rule_of(EncodingSymmetry::symmetric));
  CHECK(symmetric.scale == printed(.01417323));  // 1.8 / 127
  CHECK(symmetric.offset() == -128);
  CHECK(symmetric.steps == 255);
  CHECK(symmetric.max == doctest::Approx(1.8));
  CHECK(symmetric.min == doctest::Approx(-1.8 * 128 / 127));
  CHECK(symmetric.symmetric);

  const Encoding strict = of_data(data, rule_of(EncodingSymmetry::symmetric_strict));
  CHECK(strict.scale == printed(.01417323));
  CHECK(strict.offset() == -127);
  CHECK(strict.steps == 254);
  CHECK(strict.min == doctest::Approx(-1.8));
  CHECK(strict.max == doctest::Approx(1.8));
  CHECK(codes_of({-1.8, 0, 1.8}, strict) == Codes{0, 127, 254});

  // Above zero only: all 255 steps, 2 / 255. Below it: as symmetric.
  const EncodingRule without_sign = rule_of(EncodingSymmetry::symmetric_unsigned);
  const Encoding above = of_data({.5, 2}, without_sign);
  CHECK(above.scale == printed(.00784314));
  CHECK(above.zero_point == 0);
  CHECK(above.symmetric);
  CHECK(of_data(data, without_sign) == symmetric);

  const Encoding narrow = of_data(data, rule_of(EncodingSymmetry::symmetric, 4));
  CHECK(narrow.scale == doctest::Approx(1.8 / 7));
  CHECK(narrow.zero_point == 8);
  const Encoding wide = of_data(data, rule_of(EncodingSymmetry::symmetric, 16));
  CHECK(wide.scale == doctest::Approx(1.8 / 32767));
  CHECK(wide.zero_point == 32768);

  CHECK(of_data({0, 0}, rule_of(EncodingSymmetry::symmetric)).scale == doctest::Approx(.01 / 127));
  EncodingRule onnx = EncodingRule::onnx();
  onnx.symmetry = EncodingSymmetry::symmetric;
  CHECK(of_data({0, 0}, onnx).scale == 1);
  CHECK(of_data({0, 0}, onnx).zero_point == 128);
}

TEST_CASE("adjusted weights: nothing is clipped, zero is exact") {
  EncodingRule rule = EncodingRule::snpe();
  rule.method = EncodingMethod::adjusted_weights;
  const Encoding encoding = of_data({-1.8, .5}, rule);
  CHECK(encoding.zero_point == 199);
  CHECK(encoding.scale == printed(.00904523));
  CHECK(encoding.min == doctest::Approx(-1.8));
  CHECK(encoding.max == printed(.506533));
  CHECK(of_data({0, 0}, rule).max == doctest::Approx(.01));
  CHECK(of_data({5, 10}, rule).max == doctest::Approx(10));
  CHECK(of_data({-20, -6}, rule).zero_point == 255);

  // The least scale there is: no zero point has a smaller one.
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 2000; ++i) {
    rule.bits = i % 2 == 0 ? 8 : 4;
    const double steps = rule.bits == 8 ? 255 : 15;
    const double lo = -std::pow(uniform(random), 4) * 3;
    const double hi = std::pow(uniform(random), 4) * 3 + .1;
    const Encoding found = of_data({lo, hi}, rule);
    CHECK(found.min <= lo + 1e-12);
    CHECK(found.max >= hi - 1e-12);
    double least = std::numeric_limits<double>::infinity();
    for (double z = 1; z < steps; ++z) least = std::min(least, std::max(-lo / z, hi / (steps - z)));
    CHECK(found.scale == doctest::Approx(least).epsilon(1e-12));
  }
}

// Divided by the rounded step, one amplitude in seven gives 127.499... and 127.
TEST_CASE("symmetric data has zero point 128, whatever its amplitude") {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> mantissa(1, 2);
  int others = 0;
  int by_the_step = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto amplitude = static_cast<double>(std::ldexp(mantissa(random), i % 40 - 4));
    for (const EncodingRule& rule : {EncodingRule::snpe(), EncodingRule::onnx()}) {
      others += encoding_of({-amplitude, amplitude}, rule).zero_point == 128 ? 0 : 1;
    }
    by_the_step += std::round(amplitude / (2 * amplitude / 255)) == 128 ? 0 : 1;
  }
  CHECK(others == 0);
  CHECK(by_the_step > 200000 / 10);
}

TEST_CASE("every range is covered up to half a step, zero is exact, ends are those of the codes") {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 20000; ++i) {
    EncodingRule rule = i % 2 == 0 ? EncodingRule::snpe() : EncodingRule::onnx();
    rule.bits = 2 + i % 15;
    rule.symmetry = static_cast<EncodingSymmetry>(i / 2 % 4);
    const double size = std::exp2(normal(random) * 20);
    const auto [min, max] = std::minmax({normal(random) * size, normal(random) * size});
    const Encoding encoding = find_encoding(min, max, rule).value();
    CAPTURE(min);
    CAPTURE(max);
    CAPTURE(rule.bits);
    const double half = encoding.scale * .500001;
    CHECK(encoding.min <= min + half);
    CHECK(encoding.max >= max - half);
    CHECK(encoding.zero_point >= 0);
    CHECK(encoding.zero_point <= encoding.steps);
    CHECK(dequantize_value(0, encoding) == doctest::Approx(encoding.min));
    CHECK(dequantize_value(encoding.steps, encoding) == doctest::Approx(encoding.max));
    CHECK(quantize_value(0, encoding) == encoding.zero_point);
    CHECK(encoding.max - encoding.min >= rule.minimum_range * .999999);
  }
}

TEST_CASE("a range may be wider than float32 says") {
  for (const EncodingRule& rule : {EncodingRule::onnx(), EncodingRule::snpe()}) {
    const Encoding encoding = find_encoding(-3e38F, 3e38F, rule).value();
    CHECK(encoding.scale == doctest::Approx(6e38 / 255));
    CHECK(encoding.zero_point == 128);
  }
}

TEST_CASE("the ends of an encoding give it back") {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 20000; ++i) {
    EncodingRule rule = i % 2 == 0 ? EncodingRule::snpe() : EncodingRule::onnx();
    rule.bits = 2 + i % 15;
    rule.symmetry = static_cast<EncodingSymmetry>(i / 2 % 4);
    const auto [min, max] = std::minmax({normal(random), normal(random)});
    const Encoding encoding = find_encoding(min, max, rule).value();
    const Encoding again = encoding_from_ends(encoding.min, encoding.max, rule).value();
    CHECK(again.zero_point == encoding.zero_point);
    CHECK(again.scale == doctest::Approx(encoding.scale).epsilon(1e-12));
    CHECK(again.steps == encoding.steps);
  }
}

TEST_CASE("prescribed ends: offset and scale are computed, by no minimum range") {
  const Encoding vendor = encoding_from_ends(-2.1006477, 1.70055947, EncodingRule::snpe()).value();
  CHECK(vendor.zero_point == 141);
  CHECK(vendor.scale == doctest::Approx(3.80120717 / 255));
  CHECK(encoding_from_ends(0, .001, EncodingRule::snpe())->scale == doctest::Approx(.001 / 255));
  const EncodingRule symmetric = rule_of(EncodingSymmetry::symmetric);
  CHECK(encoding_from_ends(-1.28, 1.27, symmetric)->scale == doctest::Approx(.01));
  CHECK(encoding_from_ends(-1.27, 1.27, symmetric)->scale == doctest::Approx(.01));
  CHECK(encoding_from_ends(-1.28, 0, symmetric)->scale == doctest::Approx(.01));
  CHECK(encoding_from_ends(0, 0, symmetric)->scale == 1);
}

TEST_CASE("twice the range is twice the encoding; mirrored data mirrors it") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 5000; ++i) {
    EncodingRule rule = EncodingRule::onnx();
    rule.method = i % 3 == 0 ? EncodingMethod::adjusted_weights : EncodingMethod::minmax;
    const auto [min, max] = std::minmax({normal(random), normal(random)});
    const Encoding encoding = find_encoding(min, max, rule).value();
    const Encoding twice = find_encoding(2 * min, 2 * max, rule).value();
    CHECK(twice.scale == 2 * encoding.scale);
    CHECK(twice.zero_point == encoding.zero_point);
    const Encoding mirrored = find_encoding(-max, -min, rule).value();
    CHECK(mirrored.scale == doctest::Approx(encoding.scale).epsilon(1e-12));
    CHECK(mirrored.zero_point == 255 - encoding.zero_point);
  }
}

TEST_CASE("the ends of float32 and what is too small for it") {
  const double most = std::numeric_limits<float>::max();
  for (int bits = 2; bits <= 16; ++bits) {
    for (const EncodingSymmetry symmetry :
         {EncodingSymmetry::asymmetric, EncodingSymmetry::symmetric,
          EncodingSymmetry::symmetric_strict, EncodingSymmetry::symmetric_unsigned}) {
      for (const auto& [min, max] : std::vector<std::pair<double, double>>{
               {-most, most}, {0, most}, {-most, 0}, {-most, 1}, {-1e300, 1e300}}) {
        for (const EncodingMethod method :
             {EncodingMethod::minmax, EncodingMethod::adjusted_weights}) {
          EncodingRule rule = rule_of(symmetry, bits);
          rule.method = method;
          for (const Encoding& encoding : {find_encoding(min, max, rule).value(),
                                           encoding_from_ends(min, max, rule).value()}) {
            const auto scale = static_cast<float>(encoding.scale);
            CHECK(std::isfinite(scale * static_cast<float>(encoding.zero_point)));
            CHECK(std::isfinite(scale * static_cast<float>(encoding.steps - encoding.zero_point)));
          }
        }
      }
    }
  }
  CHECK(find_encoding(0, 1e-37, EncodingRule::onnx())->scale == 1);  // 1e-37 / 255 is subnormal
  CHECK(find_encoding(-1e-44, 1e-44, EncodingRule::onnx())->zero_point == 0);
}

TEST_CASE("ranges and rules that cannot be") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [min, max] : std::vector<std::pair<double, double>>{
           {1, 0}, {nan, 1}, {0, nan}, {-infinity, 0}, {0, infinity}}) {
    for (const auto& found : {find_encoding(min, max, EncodingRule::snpe()),
                              encoding_from_ends(min, max, EncodingRule::snpe())}) {
      REQUIRE(!found);
      CHECK(found.error().code == ErrorCode::impossible);
      CHECK(found.error().message.find("finite and in order") != std::string::npos);
    }
  }
  const auto message = [](EncodingRule rule) {
    const auto found = find_encoding(0, 1, rule);
    return found ? "" : found.error().message;
  };
  CHECK(message({.bits = 1}).find("1 bits: choose 2 to 16") != std::string::npos);
  CHECK(message({.bits = 17}).find("17 bits") != std::string::npos);
  CHECK(message({.minimum_range = -1}).find("minimum range of -1") != std::string::npos);
  CHECK(message({.minimum_range = nan}).find("minimum range") != std::string::npos);
  CHECK(message({.minimum_range = infinity}).find("minimum range") != std::string::npos);
  CHECK(message({.gamma = .5}).find("gamma of 0.5: choose 1 to 100") != std::string::npos);
  CHECK(message({.gamma = nan}).find("gamma") != std::string::npos);
  CHECK(message({.percentile = 50}).find("percentile of 50") != std::string::npos);
  CHECK(message({.percentile = 100.5}).find("percentile") != std::string::npos);
  CHECK(message({}).empty());
}

}  // namespace
}  // namespace quadrant
