#include "numerics/percentile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant {
namespace {

RealRange range_of(const std::vector<WeightedValue>& values, double percentile) {
  return percentile_range({values, values.front().value, values.back().value}, percentile);
}

TEST_CASE("percentile: by hand") {
  std::vector<WeightedValue> values;
  for (int i = 1; i <= 1000; ++i) values.push_back({static_cast<double>(i), 1});
  // A tenth of a percent of 1000 is one value at each end.
  CHECK(range_of(values, 99.9).min == 2);
  CHECK(range_of(values, 99.9).max == 999);
  CHECK(range_of(values, 99.95).max == 1000);  // half a value is none
  CHECK(range_of(values, 99).min == 11);
  CHECK(range_of(values, 99).max == 990);
  CHECK(range_of(values, 50.1).min == 500);
  CHECK(range_of(values, 50.1).max == 501);
  CHECK(range_of(values, 100).min == 1);
  // What is there more often is left out more often.
  CHECK(range_of({{0, 9}, {1, 90}, {7, 1}}, 95).min == 0);
  CHECK(range_of({{0, 9}, {1, 90}, {7, 1}}, 95).max == 1);
  CHECK(range_of({{0, 9}, {1, 90}, {7, 1}}, 91).min == 1);
  // Little is left, but something.
  CHECK(range_of({{3, 1}}, 50.0000001).min == 3);
  CHECK(range_of({{3, 1}, {4, 1}}, 50.0000000001).min <=
        range_of({{3, 1}, {4, 1}}, 50.0000000001).max);
}

TEST_CASE("percentile: nothing left out gives the true ends, which a histogram may not have") {
  const std::vector<WeightedValue> values{{0, 10}, {1, 10}};
  CHECK(percentile_range({values, -.5, 1.5}, 99).min == -.5);
  CHECK(percentile_range({values, -.5, 1.5}, 99).max == 1.5);
  CHECK(percentile_range({values, -.5, 1.5}, 60).max == 1);
  const std::vector<WeightedValue> none{{0, 0}, {1, 0}};
  CHECK(percentile_range({none, -.5, 1.5}, 60).max == 1.5);
}

TEST_CASE("percentile: against sorting") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<std::size_t> size(1, 3000);
  for (int i = 0; i < 300; ++i) {
    std::vector<float> values(size(random));
    for (float& value : values) value = std::round(normal(random) * 50) / 16;
    EncodingRule rule = EncodingRule::onnx();
    rule.method = EncodingMethod::percentile;
    // Percentiles that are exact, so that the ranks are as well: of 1024ths.
    const std::size_t kept = 520 + static_cast<std::size_t>(i) % 505;
    rule.percentile = static_cast<double>(kept) * 100 / 1024;
    const Encoding found = find_encoding(values, rule).value();
    std::ranges::sort(values);
    const std::size_t left_out = values.size() * (1024 - kept) / 1024;
    const Encoding expected =
        find_encoding(static_cast<double>(values[left_out]),
                      static_cast<double>(values[values.size() - 1 - left_out]),
                      EncodingRule::onnx())
            .value();
    CHECK(found == expected);
  }
}

TEST_CASE("percentile: mirrored data") {
  std::mt19937 random(2);
  std::vector<float> values(1001);
  for (float& value : values) value = std::exponential_distribution<float>()(random) - .5F;
  EncodingRule rule = EncodingRule::onnx();
  rule.method = EncodingMethod::percentile;
  rule.percentile = 98;
  const Encoding encoding = find_encoding(values, rule).value();
  for (float& value : values) value = -value;
  const Encoding mirrored = find_encoding(values, rule).value();
  CHECK(mirrored.scale == doctest::Approx(encoding.scale));
  CHECK(mirrored.zero_point == 255 - encoding.zero_point);
}

}  // namespace
}  // namespace quadrant
