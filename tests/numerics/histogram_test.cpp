#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "numerics/helpers.hpp"
#include "quadrant/numerics/statistics.hpp"

namespace quadrant {
namespace {

using test::infinity;
using test::largest;
using test::smallest;

Histogram histogram_of(std::span<const float> values) {
  Histogram histogram;
  histogram.add(values);
  return histogram;
}

std::vector<float> finite(std::vector<float> values) {
  std::erase_if(values, [](float value) { return !std::isfinite(value); });
  return values;
}

// Distributions of all sizes and signs, of which some make bins grow many times.
std::vector<std::vector<float>> binned_examples() {
  std::vector<float> relu = test::random_values(5000, 1);
  for (float& value : relu) value = std::max(value, 0.0F);
  std::vector<float> softmax = test::random_values(5000, 2);
  for (float& value : softmax) value = std::exp(20 * value);
  std::vector<float> negative = softmax;
  for (float& value : negative) value = -value;
  std::vector<float> outlier = test::random_values(5000, 3);
  outlier[4000] = 50;
  std::vector<float> mixed = test::random_values(3000, 4);
  mixed.insert(mixed.end(), {std::nanf(""), infinity, -infinity, infinity, largest, -largest, 0.0F,
                             -0.0F, smallest, -smallest, 0x1p-114F, 0x1p-113F, 1.0F, 2.0F, -2.0F});
  return {{},
          {0.0F},
          {-0.0F, 0.0F},
          {3.0F},
          {-3.0F},
          {smallest},
          {largest},
          {std::nanf("")},
          {infinity, -infinity},
          {1, 1.5},
          {2.0F, 2.0F, 2.0F},
          relu,
          softmax,
          negative,
          outlier,
          mixed};
}

// Counts by definition, one value at a time.
struct BruteForce {
  int exponent = -100;
  std::map<std::size_t, std::uint64_t> positive;
  std::map<std::size_t, std::uint64_t> negative;

  explicit BruteForce(const std::vector<float>& values) {
    const auto reaches = [](float value, int limit) {
      return std::fabs(static_cast<double>(value)) >= std::ldexp(1.0, limit);
    };
    for (const float value : values) {
      while (reaches(value, exponent)) ++exponent;
    }
    const double width = std::ldexp(1.0, exponent - 13);
    for (const float value : values) {
      if (value == 0) continue;
      const double bin = std::floor(std::fabs(static_cast<double>(value)) / width);
      ++(value > 0 ? positive : negative)[static_cast<std::size_t>(bin)];
    }
  }
};

std::map<std::size_t, std::uint64_t> filled(std::span<const std::uint64_t> bins) {
  std::map<std::size_t, std::uint64_t> result;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] != 0) result[i] = bins[i];
  }
  return result;
}

std::uint64_t count_of(const std::vector<float>& values, bool (*is)(float)) {
  return static_cast<std::uint64_t>(std::ranges::count_if(values, is));
}

TEST_CASE("histogram: by hand") {
  const Histogram histogram = histogram_of(std::array{-1.0F, 0.0F, 0.5F, 0.5F, 3.75F});
  CHECK(histogram.exponent() == 2);
  CHECK(histogram.bin_width() == 0x1p-11);
  CHECK(histogram.min() == -1);
  CHECK(histogram.max() == 3.75F);
  CHECK(histogram.finite_count() == 5);
  CHECK(histogram.zero_count() == 1);
  CHECK(filled(histogram.counts().negative) == std::map<std::size_t, std::uint64_t>{{2048, 1}});
  CHECK(filled(histogram.counts().positive) ==
        std::map<std::size_t, std::uint64_t>{{1024, 2}, {7680, 1}});
}

TEST_CASE("histogram: as brute force counts") {
  for (const std::vector<float>& values : binned_examples()) {
    CAPTURE(values.size());
    const Histogram histogram = histogram_of(values);
    const Histogram::Counts counts = histogram.counts();
    const std::vector<float> reals = finite(values);
    const BruteForce expected(reals);
    CHECK(histogram.exponent() == expected.exponent);
    CHECK(filled(counts.positive) == expected.positive);
    CHECK(filled(counts.negative) == expected.negative);
    CHECK(histogram.finite_count() == reals.size());
    CHECK(counts.zeros == count_of(reals, [](float value) { return value == 0; }));
    CHECK(counts.nan == count_of(values, [](float value) { return std::isnan(value); }));
    CHECK(counts.positive_infinity ==
          count_of(values, [](float value) { return value == infinity; }));
    CHECK(counts.negative_infinity ==
          count_of(values, [](float value) { return value == -infinity; }));
    CHECK(histogram.non_finite_count() == values.size() - reals.size());
    CHECK(histogram.min() == (reals.empty() ? 0 : std::ranges::min(reals)));
    CHECK(histogram.max() == (reals.empty() ? 0 : std::ranges::max(reals)));
    CHECK_FALSE(std::signbit(histogram.min() + 0 == 0 ? histogram.min() : 1));
  }
}

TEST_CASE("histogram: neither order nor parts matter") {
  std::mt19937 random(5);
  for (std::vector<float> values : binned_examples()) {
    CAPTURE(values.size());
    const Histogram whole = histogram_of(values);
    for (int round = 0; round < 4; ++round) {
      std::ranges::shuffle(values, random);
      CHECK(histogram_of(values) == whole);

      // Parts, some of them empty, merged in the order of a random tree.
      std::vector<Histogram> parts(1 + random() % 8);
      for (const float& value : values) parts[random() % parts.size()].add({&value, 1});
      while (parts.size() > 1) {
        std::ranges::shuffle(parts, random);
        const Histogram last = parts.back();
        parts.pop_back();
        parts.back().merge(last);
      }
      CHECK(parts[0] == whole);
    }
    std::ranges::sort(values);
    CHECK(histogram_of(values) == whole);
    std::ranges::reverse(values);
    CHECK(histogram_of(values) == whole);
  }
}

TEST_CASE("histogram: growing step by step") {
  // Each is twice the one before: every bin is halved again and again.
  std::vector<float> values;
  for (int exponent = -148; exponent < 128; ++exponent) {
    values.push_back(std::ldexp(1.0F, exponent));
    values.push_back(-std::ldexp(1.5F, exponent));
  }
  Histogram upward;
  for (const float& value : values) upward.add({&value, 1});
  CHECK(upward == histogram_of(values));
  CHECK(filled(upward.counts().positive) == BruteForce(values).positive);
}

TEST_CASE("histogram: merged with itself, it counts twice") {
  for (std::vector<float> values : binned_examples()) {
    Histogram histogram = histogram_of(values);
    const Histogram copy = histogram;
    histogram.merge(copy);
    values.insert(values.end(), values.begin(), values.end());
    CHECK(histogram == histogram_of(values));
  }
}

TEST_CASE("histogram: other values make another histogram") {
  const Histogram histogram = histogram_of(std::array{1.0F, 2.0F});
  CHECK(histogram != histogram_of(std::array{1.0F, 1.0F, 2.0F}));
  CHECK(histogram != histogram_of(std::array{1.0F, std::nextafter(2.0F, 3.0F)}));
  CHECK(histogram != histogram_of(std::array{1.0F, 2.0F, 0.0F}));
  CHECK(histogram != histogram_of(std::array{1.0F, 2.0F, infinity}));
  CHECK(histogram != histogram_of(std::array{1.0F, -2.0F}));
}

TEST_CASE("values: by hand") {
  using Values = std::vector<WeightedValue>;
  CHECK(Histogram().values().empty());
  CHECK(histogram_of(std::array{infinity}).values().empty());
  CHECK(histogram_of(std::array{0.3F}).values() == Values{{static_cast<double>(0.3F), 1}});
  CHECK(histogram_of(std::array{0.0F, 0.0F}).values() == Values{{0, 2}});
  // Bins are 2^-13 wide; 0.5 and 0.5001 share one, and are its extremes.
  CHECK(histogram_of(std::array{0.5F, 0.5001F, 0.50001F}).values() ==
        Values{{0.5, 1}, {0.5 + 0x1p-14, 1}, {static_cast<double>(0.5001F), 1}});
  CHECK(histogram_of(std::array{-1.5F, 0.0F, 0.25F, 0.25F, 50.0F}).values() ==
        Values{{-1.5, 1}, {0, 1}, {0.25 + 0x1p-8, 2}, {50, 1}});
}

TEST_CASE("values: in order, as many, and half a bin away at most") {
  for (const std::vector<float>& all : binned_examples()) {
    CAPTURE(all.size());
    std::vector<float> sorted = finite(all);
    std::ranges::sort(sorted);
    const Histogram histogram = histogram_of(all);
    const std::vector<WeightedValue> values = histogram.values();
    std::vector<double> unfolded;
    for (const WeightedValue& each : values) {
      CHECK(each.count > 0);
      unfolded.insert(unfolded.end(), each.count, each.value);
    }
    REQUIRE(unfolded.size() == sorted.size());
    if (sorted.empty()) continue;
    CHECK(std::ranges::is_sorted(values, std::less{}, &WeightedValue::value));
    CHECK(unfolded.front() == static_cast<double>(sorted.front()));
    CHECK(unfolded.back() == static_cast<double>(sorted.back()));
    double furthest = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      furthest = std::max(furthest, std::fabs(unfolded[i] - static_cast<double>(sorted[i])));
    }
    CHECK(furthest <= histogram.bin_width() / 2);
  }
}

TEST_CASE("counts make the same histogram again") {
  for (const std::vector<float>& values : binned_examples()) {
    CAPTURE(values.size());
    const Histogram histogram = histogram_of(values);
    const Expected<Histogram> again = Histogram::from_counts(histogram.counts());
    REQUIRE(again.has_value());
    CHECK(*again == histogram);
  }
}

TEST_CASE("counts that no values give are refused") {
  const Histogram histogram = histogram_of(std::array{-1.0F, 0.0F, 0.5F, 0.5F, 3.75F});
  const auto refused = [&](auto change) {
    Histogram::Counts counts = histogram.counts();
    change(counts);
    const Expected<Histogram> made = Histogram::from_counts(counts);
    return !made.has_value() && made.error().code == ErrorCode::invalid_model;
  };
  using Counts = Histogram::Counts;
  CHECK_FALSE(refused([](Counts&) {}));
  const float nan = std::nanf("");
  for (const float wrong : {nan, infinity, -infinity, -2.0F, 0.0F, 0.5F, 4.0F}) {
    CAPTURE(wrong);
    CHECK(refused([&](Counts& counts) { counts.min = wrong; }));
    CHECK(refused([&](Counts& counts) { counts.max = wrong; }));
  }
  CHECK(refused([](Counts& counts) { std::swap(counts.min, counts.max); }));
  CHECK(refused([](Counts& counts) { counts.positive.resize(4096); }));
  CHECK(refused([](Counts& counts) { counts.negative = {}; }));
  CHECK(refused([](Counts& counts) { counts.positive = {}; }));
  std::vector<std::uint64_t> bins(Histogram::bins_per_sign);
  bins[7681] = 1;
  CHECK(refused([&](Counts& counts) { counts.positive = bins; }));

  // One value cannot be two extremes, nothing has none.
  bins.assign(bins.size(), 0);
  bins[4096] = 1;
  CHECK(Histogram::from_counts({.min = 1, .max = 1, .positive = bins}).has_value());
  CHECK_FALSE(Histogram::from_counts({.min = 1, .max = 1.0001F, .positive = bins}).has_value());
  bins[4096] = 2;
  CHECK(Histogram::from_counts({.min = 1, .max = 1.0001F, .positive = bins}).has_value());
  CHECK_FALSE(Histogram::from_counts({.min = 1.0001F, .max = 1, .positive = bins}).has_value());
  CHECK_FALSE(Histogram::from_counts({.nan = 3, .min = 1, .max = 1}).has_value());
  CHECK_FALSE(Histogram::from_counts({.zeros = 3, .min = 0, .max = 1}).has_value());
}

TEST_CASE("more values than any data have are refused") {
  constexpr std::uint64_t most = std::uint64_t{1} << 53U;
  CHECK(Histogram::from_counts({.zeros = most}).has_value());
  CHECK_FALSE(Histogram::from_counts({.zeros = most, .nan = 1}).has_value());
  CHECK_FALSE(Histogram::from_counts({.nan = ~std::uint64_t{0}}).has_value());
  std::vector<std::uint64_t> bins(Histogram::bins_per_sign, ~std::uint64_t{0});
  CHECK_FALSE(
      Histogram::from_counts({.min = 0.00001F, .max = 1.999F, .positive = bins}).has_value());
}

TEST_CASE("a histogram takes memory by what it has counted") {
  Histogram histogram;
  CHECK(histogram.memory() == 0);
  for (int i = 0; i < 10; ++i) histogram.add(std::array{0.0F});
  CHECK(histogram.memory() == 0);
  for (const float value : {1.0F, 0.5F, -0.25F}) histogram.add(std::array{value});
  CHECK(histogram.memory() < 4096);  // 131,072 bytes with 64 bits for each bin
  histogram.add(test::random_values(200, 1));
  CHECK(histogram.memory() < 24 * 1024);
  for (unsigned seed = 0; seed < 20; ++seed) histogram.add(test::random_values(50000, seed));
  CHECK(histogram.memory() < 40 * 1024);
}

TEST_CASE("few values and many are counted alike") {
  for (const std::size_t size : {4095U, 4096U, 70000U}) {
    const std::vector<float> values = test::random_values(size, 5);
    Histogram one_by_one;
    for (const float value : values) one_by_one.add(std::array{value});
    CHECK(one_by_one == histogram_of(values));
  }
}

}  // namespace
}  // namespace quadrant
