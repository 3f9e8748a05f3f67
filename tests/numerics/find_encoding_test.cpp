// Which values an encoding is of. The methods are tested each beside its own file.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "numerics/helpers.hpp"
#include "numerics/metrics.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using Values = std::vector<float>;

constexpr std::array methods{EncodingMethod::minmax,           EncodingMethod::enhanced,
                             EncodingMethod::adjusted_weights, EncodingMethod::percentile,
                             EncodingMethod::entropy,          EncodingMethod::mse};

EncodingRule rule_of(EncodingMethod method) {
  EncodingRule rule = EncodingRule::snpe();
  rule.method = method;
  rule.percentile = 95;
  rule.gamma = 3;
  return rule;
}

std::vector<WeightedValue> counted(Values values) {
  std::ranges::sort(values);
  std::vector<WeightedValue> result;
  for (const float value : values) result.push_back({static_cast<double>(value), 1});
  return result;
}

TEST_CASE("encodings of values: their range decides where no more is asked for") {
  const Values values{.3F, -1.75F, 0, .5F};
  CHECK(find_encoding(values, EncodingRule::snpe()).value() ==
        find_encoding(-1.75, .5, EncodingRule::snpe()).value());
  const EncodingRule adjusted = rule_of(EncodingMethod::adjusted_weights);
  CHECK(find_encoding(values, adjusted).value() == find_encoding(-1.75, .5, adjusted).value());
}

TEST_CASE("encodings of values: none, one, zeros") {
  for (const EncodingMethod method : methods) {
    const EncodingRule rule = rule_of(method);
    const Encoding none = find_encoding(Values{}, rule).value();
    CHECK(none == find_encoding(0, 0, rule).value());
    CHECK(none.max == doctest::Approx(.01));
    CHECK(find_encoding(Values{0, 0, -0.0F}, rule).value() == none);
    CHECK(find_encoding(std::span<const WeightedValue>(), 0, 0, rule).value() == none);
    const Encoding one = find_encoding(Values{3}, rule).value();
    CHECK(dequantize_value(quantize_value(3, one), one) == doctest::Approx(3).epsilon(.005));
  }
}

TEST_CASE("encodings of values: order is irrelevant, and a histogram of all values is as good") {
  std::mt19937 random(31);
  for (const std::size_t size : {2U, 33U, 4000U}) {
    Values values = test::random_values(size, 32);
    for (float& value : values) value = std::round(value * 64) / 64;  // some twice
    for (const EncodingMethod method : methods) {
      CAPTURE(static_cast<int>(method));
      const EncodingRule rule = rule_of(method);
      const Encoding encoding = find_encoding(values, rule).value();
      std::ranges::shuffle(values, random);
      CHECK(find_encoding(values, rule).value() == encoding);
      const auto all = counted(values);
      const Encoding of_counted =
          find_encoding(all, all.front().value, all.back().value, rule).value();
      CHECK(of_counted.zero_point == encoding.zero_point);
      CHECK(of_counted.scale == doctest::Approx(encoding.scale).epsilon(1e-9));
    }
  }
}

TEST_CASE("encodings of a histogram: the true ends count, not those of its values") {
  const std::vector<WeightedValue> values{{-.5, 10}, {.5, 10}};
  const Encoding encoding = find_encoding(values, -1, 1, EncodingRule::snpe()).value();
  CHECK(encoding == find_encoding(-1, 1, EncodingRule::snpe()).value());
  // The true ends are where the search begins; 1 and -1 themselves have no count.
  const Encoding enhanced = find_encoding(values, -1, 1, rule_of(EncodingMethod::enhanced)).value();
  CHECK(enhanced.scale < encoding.scale);
}

// At 8 bits a step is at least 32 bins wide, at 4 bits 512: what a histogram forgets costs nothing.
TEST_CASE("encodings of a histogram: as good as those of the values themselves") {
  std::mt19937 random(35);
  const std::array<float (*)(float), 4> kinds{
      [](float normal) { return normal; }, [](float normal) { return std::max(normal, 0.0F); },
      [](float normal) { return std::pow(normal, 3.0F); }, [](float normal) { return normal + 3; }};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    Values values(10000);
    for (float& value : values) {
      value = kinds.at(kind)(std::normal_distribution<float>()(random));
    }
    Histogram histogram;
    histogram.add(values);
    for (const EncodingMethod method : methods) {
      // Many thresholds have nearly the same entropy: whichever of them it is says nothing.
      if (method == EncodingMethod::entropy) continue;
      for (const int bits : {4, 8}) {
        CAPTURE(kind);
        CAPTURE(static_cast<int>(method));
        CAPTURE(bits);
        EncodingRule rule = rule_of(method);
        rule.bits = bits;
        const auto decibels = [&](const Encoding& encoding) {
          Values back;
          for (const float value : values) {
            const auto code = quantize_value(static_cast<double>(value), encoding);
            back.push_back(static_cast<float>(dequantize_value(code, encoding)));
          }
          return sqnr_db(values, back);
        };
        const Encoding exact = find_encoding(values, rule).value();
        const Encoding found =
            find_encoding(histogram.values(), static_cast<double>(histogram.min()),
                          static_cast<double>(histogram.max()), rule)
                .value();
        CHECK(std::fabs(decibels(found) - decibels(exact)) < .1);
      }
    }
  }
}

TEST_CASE("encodings of values: NaN and infinity are refused, with their index") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const EncodingMethod method : methods) {
    const auto found = find_encoding(Values{1, 2, nan, infinity}, rule_of(method));
    REQUIRE(!found);
    CHECK(found.error().code == ErrorCode::invalid_model);
    CHECK(found.error().message == "element 2 is nan: there is no encoding for it");
    CHECK(find_encoding(Values{-infinity}, rule_of(method)).error().message.find("0 is -inf") !=
          std::string::npos);
  }
  CHECK(find_encoding(Values{1}, EncodingRule{.bits = 0}).error().code == ErrorCode::impossible);
}

TEST_CASE("encodings of a histogram: what it cannot be") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const EncodingRule rule = rule_of(EncodingMethod::mse);
  const auto message = [&](std::vector<WeightedValue> values, double min, double max) {
    const auto found = find_encoding(values, min, max, rule);
    return found ? "" : found.error().message;
  };
  CHECK(message({{0, 1}, {1, 1}}, 0, 1).empty());
  CHECK(message({{1, 1}, {0, 1}}, 0, 1).find("value 1 of a distribution from 0 to 1 is 0") == 0);
  CHECK(message({{0, 1}, {2, 1}}, 0, 1).find("value 1") == 0);
  CHECK(message({{-1, 1}}, 0, 1).find("value 0") == 0);
  CHECK(message({{nan, 1}}, 0, 1).find("value 0") == 0);
  CHECK(message({{1e100, 1}}, 0, 1e200).find("range of float32") != std::string::npos);
  CHECK(message({{0, 1}}, 1, 0).find("finite and in order") != std::string::npos);
  CHECK(message({{0, 1}}, nan, 0).find("finite and in order") != std::string::npos);
  // Counts may be none, or many.
  CHECK(message({{0, 0}, {1, 0}}, 0, 1).empty());
  CHECK(message({{.3, ~std::uint64_t{0}}, {1, ~std::uint64_t{0}}}, 0, 1).empty());
}

TEST_CASE("encodings of a constant: each group by itself, wherever its elements lie") {
  test::Turns turns;
  for (const Shape& shape : test::shapes()) {
    const auto count = static_cast<std::size_t>(shape.element_count().value());
    const Values values = test::random_values(count, 33);
    const Constant weights = test::float_constant(shape, values);
    for (const Granularity& granularity : test::granularities_of(shape)) {
      if (!turns.next()) continue;
      CAPTURE(to_string(shape));
      CAPTURE(granularity.axis);
      CAPTURE(granularity.block_size);
      const auto groups = test::groups_of(shape, granularity);
      const auto number = parameter_shape(shape, granularity).element_count().value();
      if (count == 0 && granularity.kind == Granularity::Kind::block) continue;
      std::vector<Values> members(static_cast<std::size_t>(number));
      for (std::size_t i = 0; i < count; ++i) members[groups[i]].push_back(values[i]);
      const bool small = count < 1000;
      for (const EncodingMethod method : {EncodingMethod::minmax, EncodingMethod::mse}) {
        if (method == EncodingMethod::mse && !small) continue;
        const EncodingRule rule = rule_of(method);
        const auto found = find_encodings(weights, granularity, rule).value();
        REQUIRE(found.size() == members.size());
        int wrong = 0;
        for (std::size_t i = 0; i < members.size(); ++i) {
          wrong += found[i] == find_encoding(members[i], rule).value() ? 0 : 1;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("encodings of a constant: a type whose errors are what the method promises") {
  Values values = test::random_values(1536, 34);
  values[100] = 30;
  for (const ElementType element :
       {ElementType::float32, ElementType::float16, ElementType::bfloat16, ElementType::float64}) {
    const Constant weights = test::float_constant(element, {64, 24}, values);
    for (const Granularity& granularity :
         {Granularity::per_tensor(), Granularity::per_axis(0), Granularity::per_axis(1),
          Granularity::per_block(1, 8), Granularity::per_block(0, 16)}) {
      for (const int bits : {4, 8, 16}) {
        for (const CodeSign sign : {CodeSign::unsigned_codes, CodeSign::signed_codes}) {
          const auto decibels = [&](EncodingMethod method) {
            EncodingRule rule = rule_of(method);
            rule.bits = bits;
            rule.gamma = 1;
            const auto encodings = find_encodings(weights, granularity, rule).value();
            const auto type = std::make_shared<const UniformType>(
                uniform_type(encodings, {64, 24}, granularity, sign).value());
            return weight_sqnr_db(weights, type).value();
          };
          const double minmax = decibels(EncodingMethod::minmax);
          // A bit is 6 dB; per tensor the outlier takes away 30 / 3.5 of the range.
          CHECK(minmax > 6 * bits - 28);
          CHECK(decibels(EncodingMethod::enhanced) >= minmax - 1e-3);
          CHECK(decibels(EncodingMethod::mse) >= minmax - 1e-3);
          CHECK(decibels(EncodingMethod::adjusted_weights) >= minmax - 1);
        }
      }
    }
  }
}

TEST_CASE("encodings of a constant: what cannot be") {
  Values values(70000, 1);
  values[69999] = std::numeric_limits<float>::quiet_NaN();
  const Constant weights = test::float_constant({70000}, values);
  for (const EncodingMethod method : methods) {
    const auto found = find_encodings(weights, Granularity::per_tensor(), rule_of(method));
    REQUIRE(!found);
    CHECK(found.error().message.find("element 69999 is nan") == 0);
  }
  const auto integers =
      Constant::from_values<std::int8_t>(ElementType::int8, {1}, std::array{std::int8_t{1}});
  CHECK(find_encodings(integers, Granularity::per_tensor(), EncodingRule::snpe())
            .error()
            .message.find("weights of type i8 have no encoding") == 0);
  CHECK(!find_encodings(weights, Granularity::per_axis(1), EncodingRule::snpe()));
  CHECK(!find_encodings(weights, Granularity::per_tensor(), EncodingRule{.bits = 40}));
  const auto broken = test::recording(weights);
  broken->fail_from = 1000;
  const auto deferred = Constant::deferred(ElementType::float32, {70000}, broken);
  CHECK(find_encodings(deferred, Granularity::per_tensor(), EncodingRule::snpe()).error().code ==
        ErrorCode::io);
}

}  // namespace
}  // namespace quadrant
