#include "numerics/scale_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "shortened.hpp"

namespace quadrant {
namespace {

using WeightedValues = std::vector<WeightedValue>;

constexpr double no_bound = std::numeric_limits<double>::infinity();

// --- brute force --------------------------------------------------------------------------------

struct CodeRange {
  double below = 0;
  double above = 0;
  double gamma = 1;

  [[nodiscard]] double code(double value, double scale) const {
    return std::clamp(std::nearbyint(value / scale), -below, above);
  }
  [[nodiscard]] double weight(const WeightedValue& value, double scale) const {
    const bool clipped = value.value > scale * above || value.value < -scale * below;
    return static_cast<double>(value.count) * (clipped ? gamma : 1);
  }
};

double cost_of(const WeightedValues& values, const CodeRange& codes, double scale) {
  double sum = 0;
  for (const WeightedValue& value : values) {
    const double error = value.value - scale * codes.code(value.value, scale);
    sum += codes.weight(value, scale) * error * error;
  }
  return sum;
}

// The least cost from `least` to `most`. Where a code changes, or a value begins to be clipped, is
// a breakpoint; between two of them the cost is a parabola, whose vertex is known.
double least_cost(const WeightedValues& values, const CodeRange& codes, double least, double most) {
  std::vector<double> breakpoints{least, most};
  for (const WeightedValue& value : values) {
    const double limit = value.value < 0 ? codes.below : codes.above;
    const double magnitude = std::fabs(value.value);
    const auto add = [&](double scale) {
      if (scale > least && scale < most) breakpoints.push_back(scale);
    };
    for (double k = 0; k < limit; ++k) add(magnitude / (k + 0.5));
    if (limit > 0) add(magnitude / limit);
  }
  std::ranges::sort(breakpoints);
  double result = std::min(cost_of(values, codes, least), cost_of(values, codes, most));
  for (std::size_t i = 1; i < breakpoints.size(); ++i) {
    const double middle = (breakpoints[i - 1] + breakpoints[i]) / 2;
    double a = 0;
    double b = 0;
    for (const WeightedValue& value : values) {
      const double q = codes.code(value.value, middle);
      const double weight = codes.weight(value, middle);
      a += weight * value.value * q;
      b += weight * q * q;
    }
    const double best = b == 0 ? middle : std::clamp(a / b, breakpoints[i - 1], breakpoints[i]);
    result = std::min(result, cost_of(values, codes, best));
  }
  return result;
}

double least_cost(const WeightedValues& values, const ScaleDomain& domain) {
  const std::int64_t all = domain.below + domain.above;
  const std::int64_t first = domain.free_zero ? 0 : domain.below;
  const std::int64_t last = domain.free_zero ? all : domain.below;
  double result = std::numeric_limits<double>::infinity();
  for (std::int64_t below = first; below <= last; ++below) {
    const CodeRange codes{static_cast<double>(below), static_cast<double>(all - below),
                          domain.gamma};
    result = std::min(result, least_cost(values, codes, domain.least, domain.most));
  }
  return result;
}

double power_of(const WeightedValues& values) {
  double sum = 0;
  for (const WeightedValue& value : values) {
    sum += value.value * value.value * static_cast<double>(value.count);
  }
  return sum;
}

// --- values -------------------------------------------------------------------------------------

WeightedValues sorted(WeightedValues values) {
  std::ranges::sort(values, {}, &WeightedValue::value);
  return values;
}

using ValueGenerator = std::function<double(std::mt19937&, std::size_t)>;
std::vector<ValueGenerator> value_generators() {
  const auto normal = [](std::mt19937& random) {
    return std::normal_distribution<double>()(random);
  };
  return {
      [=](std::mt19937& random, std::size_t) { return normal(random); },
      [=](std::mt19937& random, std::size_t) { return std::fabs(normal(random)); },
      [=](std::mt19937& random, std::size_t) { return -std::fabs(normal(random)) - 3; },
      [=](std::mt19937& random, std::size_t) { return std::pow(normal(random), 5.0); },
      [=](std::mt19937& random, std::size_t i) { return i == 0 ? 100 : normal(random); },
      [=](std::mt19937& random, std::size_t) { return std::round(normal(random) * 4) / 2; },
      [=](std::mt19937& random, std::size_t) { return normal(random) * 1e30; },
      [=](std::mt19937& random, std::size_t) { return normal(random) * 1e-30; },
      [=](std::mt19937&, std::size_t i) { return i % 2 == 0 ? 0.7 : -0.7; },
  };
}

WeightedValues made(const ValueGenerator& generator, std::size_t size, std::mt19937& random) {
  std::uniform_int_distribution<std::uint64_t> count(1, 5);
  WeightedValues values;
  for (std::size_t i = 0; i < size; ++i) values.push_back({generator(random, i), count(random)});
  return sorted(std::move(values));
}

// As wide as all values.
double containing(const WeightedValues& values, double codes) {
  return (std::max(values.back().value, 0.0) - std::min(values.front().value, 0.0)) / codes;
}

CodeRange codes_of(const FoundScale& found, const ScaleDomain& domain) {
  return {static_cast<double>(found.below),
          static_cast<double>(domain.below + domain.above - found.below), domain.gamma};
}

// The least cost, as scale_search.hpp promises it.
double allowed(double least, double gamma, double power) {
  return least * (gamma == 1 ? 1 : 1 + 1e-7) + 1e-12 * gamma * power;
}

TEST_CASE("scale search: as good as brute force") {
  std::mt19937 random(5);
  for (const ValueGenerator& generator : value_generators()) {
    for (const std::size_t size : {1U, 2U, 5U, 17U, 40U}) {
      const WeightedValues values = made(generator, size, random);
      const double power = power_of(values);
      if (power == 0) continue;
      ScaleSearch search;
      search.load(values);
      for (const auto& [below, above] :
           std::array<std::array<std::int64_t, 2>, 5>{{{1, 1}, {0, 3}, {3, 0}, {4, 3}, {8, 7}}}) {
        for (const bool free_zero : {false, true}) {
          for (const double gamma : {1.0, 1.5, 3.0, 100.0}) {
            ScaleDomain domain{0,         containing(values, static_cast<double>(below + above)),
                               below,     above,
                               free_zero, gamma};
            domain.least = size % 2 == 0 ? domain.most / 3 : 0;
            CAPTURE(size);
            CAPTURE(below);
            CAPTURE(free_zero);
            CAPTURE(gamma);
            const double least = least_cost(values, domain);
            const auto found = search.best(domain, no_bound);
            REQUIRE(found);
            CHECK(found->scale <= domain.most);
            CHECK(found->scale >= domain.least);
            const double cost = cost_of(values, codes_of(*found, domain), found->scale);
            CHECK(cost <= allowed(least, gamma, power));
          }
        }
      }
    }
  }
}

TEST_CASE("scale search: as good as brute force, with many codes") {
  std::mt19937 random(6);
  for (const ValueGenerator& generator : value_generators()) {
    const WeightedValues values = made(generator, 12, random);
    ScaleSearch search;
    search.load(values);
    for (const std::int64_t codes : {127, 1000}) {
      for (const double gamma : {1.0, 3.0}) {
        const double most = containing(values, static_cast<double>(codes));
        const ScaleDomain domain{most / 2, 2 * most, codes, codes, false, gamma};
        const auto found = search.best(domain, no_bound);
        REQUIRE(found);
        CHECK(cost_of(values, codes_of(*found, domain), found->scale) <=
              allowed(least_cost(values, domain), gamma, power_of(values)));
      }
    }
  }
}

// More values than are looked at one by one: the two ways to find sums must agree.
TEST_CASE("scale search: many values, against a grid") {
  std::mt19937 random(7);
  for (const ValueGenerator& generator : value_generators()) {
    const WeightedValues values = made(generator, test::shortened(std::size_t{3000}), random);
    ScaleSearch search;
    search.load(values);
    for (const bool free_zero : {false, true}) {
      for (const double gamma : {1.0, 3.0}) {
        const ScaleDomain domain{0, containing(values, 14), 8, 7, free_zero, gamma};
        const auto found = search.best(domain, no_bound);
        REQUIRE(found);
        const double cost = cost_of(values, codes_of(*found, domain), found->scale);
        for (std::int64_t below = free_zero ? 0 : 8; below <= (free_zero ? 15 : 8); ++below) {
          for (int i = 1; i <= 60; ++i) {
            const double other = cost_of(
                values, {static_cast<double>(below), static_cast<double>(15 - below), gamma},
                domain.most * i / 60);
            CHECK(cost <= allowed(other, gamma, power_of(values)));
          }
        }
      }
    }
  }
}

TEST_CASE("scale search: by hand") {
  ScaleSearch search;
  // Codes 0 to 3 of scale 1, zero point 1; nothing is left to search below the bound.
  search.load(WeightedValues{{-1, 3}, {0, 1}, {2, 1}});
  const ScaleDomain free{0, 1.5, 1, 2, true};
  const auto exact = search.best(free, no_bound);
  REQUIRE(exact);
  CHECK(exact->scale == doctest::Approx(1));
  CHECK(exact->below == 1);
  CHECK(!search.best(free, 0));
  // Of codes -1 to 1, {0.9, 0.7} have the least error in the middle; clipped values that count 3
  // times pull it up: 3 (0.9 - s)^2 + (0.7 - s)^2, s = 3.4 / 4.
  search.load(WeightedValues{{0.7, 1}, {0.9, 1}});
  CHECK(search.best({0, 0.9, 1, 1, false, 1}, no_bound)->scale == doctest::Approx(0.8));
  CHECK(search.best({0, 0.9, 1, 1, false, 3}, no_bound)->scale == doctest::Approx(0.85));
  // Counts do the same as values that are there more often: (0.9 + 3 * 0.7) / 4.
  search.load(WeightedValues{{0.7, 3}, {0.9, 1}});
  CHECK(search.best({0, 0.9, 1, 1, false, 1}, no_bound)->scale == doctest::Approx(0.75));
  // A smallest scale is kept to.
  CHECK(search.best({0.8, 0.9, 1, 1, false, 1}, no_bound)->scale == doctest::Approx(0.8));
  // Nothing to find: no values, or no scales.
  search.load(WeightedValues{});
  CHECK(!search.best({0, 0, 1, 1, false, 1}, no_bound));
  CHECK(!search.best({0.8, 0.7, 1, 1, false, 1}, no_bound));
}

// From 0.3 to 0.6 both codes are 0, and no value is clipped: all scales there cost the same.
TEST_CASE("scale search: a plateau") {
  ScaleSearch search;
  search.load(WeightedValues{{-.1, 1}, {.1, 1}});
  for (const double gamma : {1.0, 3.0, 100.0}) {
    const ScaleDomain domain{.3, .6, 1, 1, false, gamma};
    const auto found = search.best(domain, no_bound);
    REQUIRE(found);
    CHECK(cost_of({{-.1, 1}, {.1, 1}}, codes_of(*found, domain), found->scale) ==
          doctest::Approx(.02));
    CHECK(!search.best(domain, .02));
  }
}

TEST_CASE("scale search: values as floats, in any order, and counted") {
  std::mt19937 random(8);
  std::vector<float> floats{0.5F, 0.5F, -0.25F, 0, 0, 3, -0.0F};
  for (int i = 0; i < 200; ++i) floats.push_back(std::normal_distribution<float>()(random));
  WeightedValues counted;
  for (const float value : floats) counted.push_back({static_cast<double>(value), 1});
  const ScaleDomain domain{0, 0.2, 16, 15, true, 2};
  ScaleSearch search;
  search.load(sorted(counted));
  const auto expected = search.best(domain, no_bound);
  for (int i = 0; i < 3; ++i) {
    std::ranges::shuffle(floats, random);
    search.load(floats);
    const auto found = search.best(domain, no_bound);
    REQUIRE(found);
    CHECK(found->scale == doctest::Approx(expected->scale).epsilon(1e-12));
    CHECK(found->below == expected->below);
  }
}

}  // namespace
}  // namespace quadrant
