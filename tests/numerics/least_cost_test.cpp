// EncodingMethod::enhanced and mse. That the search finds the least cost is tested beside it.
#include "numerics/least_cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "quadrant/numerics/encoding.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using Values = std::vector<float>;

struct Costs {
  double squared_error = 0;
  double clipped = 0;
  double power = 0;

  [[nodiscard]] double total(double gamma) const { return squared_error + (gamma - 1) * clipped; }
  [[nodiscard]] double decibels() const { return 10 * std::log10(power / squared_error); }
};

// Codes of scale `scale`, from -below to above.
Costs costs_of(const Values& values, double scale, double below, double above) {
  Costs costs;
  for (const float value : values) {
    const auto real = static_cast<double>(value);
    const double error = real - scale * std::clamp(std::round(real / scale), -below, above);
    costs.squared_error += error * error;
    if (real < -scale * below || real > scale * above) costs.clipped += error * error;
    costs.power += real * real;
  }
  return costs;
}

Costs costs_of(const Values& values, const Encoding& encoding) {
  return costs_of(values, encoding.scale, static_cast<double>(encoding.zero_point),
                  static_cast<double>(encoding.steps - encoding.zero_point));
}

EncodingRule rule_of(EncodingMethod method, int bits, double gamma = 1) {
  EncodingRule rule = EncodingRule::snpe();
  rule.method = method;
  rule.bits = bits;
  rule.gamma = gamma;
  return rule;
}

// --- the reference data -------------------------------------------------------------------------

// x with P(normal <= x) = p.
double normal_quantile(double p) {
  double low = -10;
  double high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < p ? low : high) = middle;
  }
  return low;
}

double laplace_quantile(double p) { return p < .5 ? std::log(2 * p) : -std::log(2 - 2 * p); }

Values quantiles(std::size_t count, double (*quantile)(double)) {
  Values values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(
        static_cast<float>(quantile((static_cast<double>(i) + .5) / static_cast<double>(count))));
  }
  return values;
}

Values with(Values values, std::initializer_list<float> more) {
  values.insert(values.end(), more);
  return values;
}

struct Reference {
  Values values;
  int bits;
  double minmax;   ///< dB
  double known;    ///< of the known implementation
  double least;    ///< that must be reached
  double optimum;  ///< found by a grid
};

std::vector<Reference> references() {
  Values ramp;
  for (int i = 0; i < 1000; ++i) ramp.push_back(static_cast<float>(i) / 1000 - .3F);
  const Values normal = quantiles(10000, normal_quantile);
  return {{with(ramp, {50}), 8, 28.96, 23.63, 28.9, 28.96},
          {normal, 4, 16.49, 18.81, 19.2, 19.28},
          {with(normal, {20, -20}), 4, 2.95, 10.54, 11.7, 11.79},
          {quantiles(10000, laplace_quantile), 4, 12.20, 15.68, 16.0, 16.04}};
}

double decibels(const Reference& reference, const EncodingRule& rule) {
  return costs_of(reference.values, find_encoding(reference.values, rule).value()).decibels();
}

TEST_CASE("enhanced: the reference data") {
  for (const Reference& reference : references()) {
    CAPTURE(reference.optimum);
    const double minmax = decibels(reference, rule_of(EncodingMethod::minmax, reference.bits));
    CHECK(std::fabs(minmax - reference.minmax) < .01);
    for (const EncodingMethod method : {EncodingMethod::enhanced, EncodingMethod::mse}) {
      const double found = decibels(reference, rule_of(method, reference.bits));
      CHECK(found >= minmax);
      CHECK(found >= reference.known);
      CHECK(found >= reference.least);
      CHECK(found >= reference.optimum - .01);
    }
  }
}

TEST_CASE("enhanced: no scale and zero point of a grid is better") {
  std::vector<Reference> data = references();
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::exponential_distribution<float> exponential;
  for (int i = 0; i < 2; ++i) {
    Values some;
    Values tails;
    for (int k = 0; k < 3000; ++k) {
      some.push_back(normal(random));
      tails.push_back((k % 2 == 0 ? 1.0F : -1.0F) * exponential(random));
    }
    data.push_back({with(some, {20, -20}), 4, 0, 0, 0, 0});
    data.push_back({some, 4, 0, 0, 0, 0});
    data.push_back({tails, 4, 0, 0, 0, 0});
  }
  test::Turns turns;
  for (const Reference& one : data) {
    const double steps = one.bits == 4 ? 15 : 255;
    for (const double gamma : {1.0, 3.0}) {
      if (!turns.next()) continue;
      const EncodingRule rule = rule_of(EncodingMethod::enhanced, one.bits, gamma);
      const double found =
          costs_of(one.values, find_encoding(one.values, rule).value()).total(gamma);
      const auto [min, max] = std::ranges::minmax(one.values);
      const double all = static_cast<double>(max - min) / steps;
      double least = found;
      for (double zero = 0; zero <= steps; zero += one.bits == 4 ? 1 : 16) {
        for (int i = 3; i <= 63; i += 2) {
          least =
              std::min(least, costs_of(one.values, all * i / 60, zero, steps - zero).total(gamma));
        }
      }
      CHECK(found <= least * (1 + 1e-9));
    }
  }
}

// --- any data -----------------------------------------------------------------------------------

using Generator = std::function<float(std::mt19937&, std::size_t)>;
std::vector<Generator> data_generators() {
  const auto normal = [](std::mt19937& random) {
    return std::normal_distribution<float>()(random);
  };
  return {
      [=](std::mt19937& random, std::size_t) { return normal(random); },
      [=](std::mt19937& random, std::size_t) { return std::max(normal(random), 0.0F); },
      [=](std::mt19937& random, std::size_t) { return normal(random) * .01F + 5; },
      [=](std::mt19937& random, std::size_t) { return -std::fabs(normal(random)) - 3; },
      [=](std::mt19937& random, std::size_t) { return std::pow(normal(random), 5.0F); },
      [=](std::mt19937& random, std::size_t i) { return i == 0 ? 100 : normal(random); },
      [=](std::mt19937& random, std::size_t i) { return i < 2 ? 1e30F : normal(random) * 1e-30F; },
      [=](std::mt19937& random, std::size_t) { return std::round(normal(random) * 4) / 2; },
      [=](std::mt19937& random, std::size_t) { return normal(random) * .001F; },
      [=](std::mt19937& random, std::size_t) { return std::cauchy_distribution<float>()(random); },
      [=](std::mt19937& random, std::size_t) {
        return std::lognormal_distribution<float>(0, 2)(random);
      },
      [=](std::mt19937& random, std::size_t) {
        return std::uniform_real_distribution<float>(-1, 1)(random);
      },
      [=](std::mt19937&, std::size_t) { return .3F; },
      [=](std::mt19937&, std::size_t i) { return i % 2 == 0 ? .7F : -.7F; },
      [=](std::mt19937& random, std::size_t) { return normal(random) * 1e-36F; },
      [=](std::mt19937& random, std::size_t) { return normal(random) * 1e37F; },
  };
}

template <class Body>
void for_each_case(std::initializer_list<std::size_t> sizes, Body body) {
  std::mt19937 random(12);
  int which = 0;
  for (const Generator& generator : data_generators()) {
    CAPTURE(++which);
    for (const std::size_t size : sizes) {
      Values values(size);
      for (std::size_t i = 0; i < size; ++i) values[i] = generator(random, i);
      for (const EncodingSymmetry symmetry :
           {EncodingSymmetry::asymmetric, EncodingSymmetry::symmetric,
            EncodingSymmetry::symmetric_strict, EncodingSymmetry::symmetric_unsigned}) {
        for (const int bits : {2, 4, 8, 16}) {
          for (EncodingRule rule :
               {EncodingRule::snpe(), EncodingRule::qairt(), EncodingRule::onnx()}) {
            rule.symmetry = symmetry;
            rule.bits = bits;
            CAPTURE(size);
            CAPTURE(bits);
            CAPTURE(static_cast<int>(symmetry));
            CAPTURE(rule.minimum_range);
            body(values, rule);
          }
        }
      }
    }
  }
}

// The costs of the test are summed in another order than those that were compared.
double nearly(double cost, const Costs& other) { return cost * (1 + 1e-9) + 1e-14 * other.power; }

TEST_CASE("enhanced: never worse than minmax") {
  for_each_case({1, 2, 9, 100}, [](const Values& values, EncodingRule rule) {
    const Encoding minmax = find_encoding(values, rule).value();
    const Costs bound = costs_of(values, minmax);
    rule.method = EncodingMethod::enhanced;
    for (const double gamma : {1.0, 3.0}) {
      rule.gamma = gamma;
      const Encoding found = find_encoding(values, rule).value();
      const Costs costs = costs_of(values, found);
      CHECK(costs.squared_error <= nearly(bound.squared_error, bound));
      CHECK(costs.total(gamma) <= nearly(bound.total(gamma), bound));
      CHECK(found.max - found.min >= rule.minimum_range * .999999);
      CHECK(found.zero_point >= 0);
      CHECK(found.zero_point <= found.steps);
      CHECK(found.steps == minmax.steps);
      if (rule.symmetry == EncodingSymmetry::asymmetric) continue;
      CHECK(found.zero_point == minmax.zero_point);
      CHECK(found.scale <= minmax.scale);
    }
  });
}

TEST_CASE("mse is enhanced with gamma 1") {
  for_each_case({40}, [](const Values& values, EncodingRule rule) {
    rule.gamma = 1;
    rule.method = EncodingMethod::enhanced;
    const Encoding enhanced = find_encoding(values, rule).value();
    rule.gamma = 50;
    rule.method = EncodingMethod::mse;
    CHECK(find_encoding(values, rule).value() == enhanced);
  });
}

TEST_CASE("enhanced: the more gamma, the less is clipped") {
  const Values values = quantiles(2000, laplace_quantile);
  double last =
      costs_of(values, find_encoding(values, rule_of(EncodingMethod::mse, 4)).value()).clipped;
  for (const double gamma : {2.0, 3.0, 10.0, 100.0}) {
    const double clipped =
        costs_of(values, find_encoding(values, rule_of(EncodingMethod::enhanced, 4, gamma)).value())
            .clipped;
    CHECK(clipped < last);
    last = clipped;
  }
}

TEST_CASE("enhanced: twice the data, mirrored data, shuffled data") {
  std::mt19937 random(13);
  for (int bits : {4, 8, 16}) {
    for (const double gamma : {1.0, 3.0}) {
      EncodingRule rule = rule_of(EncodingMethod::enhanced, bits, gamma);
      rule.minimum_range = 0;
      Values values(200);
      for (float& value : values) value = std::exponential_distribution<float>()(random) - .3F;
      const Encoding encoding = find_encoding(values, rule).value();

      Values twice = values;
      for (float& value : twice) value *= 2;
      const Encoding of_twice = find_encoding(twice, rule).value();
      CHECK(of_twice.scale == 2 * encoding.scale);
      CHECK(of_twice.zero_point == encoding.zero_point);

      Values mirrored = values;
      for (float& value : mirrored) value = -value;
      const Encoding of_mirrored = find_encoding(mirrored, rule).value();
      CHECK(of_mirrored.scale == doctest::Approx(encoding.scale).epsilon(1e-9));
      CHECK(of_mirrored.zero_point == encoding.steps - encoding.zero_point);

      Values shuffled = values;
      std::ranges::shuffle(shuffled, random);
      CHECK(find_encoding(shuffled, rule).value() == encoding);
    }
  }
}

TEST_CASE("enhanced: the minimum range is kept") {
  EncodingRule rule = rule_of(EncodingMethod::enhanced, 8);
  rule.minimum_range = 1;
  // minmax spans 0 to 0.1 + 1; the data alone would ask for no more than 0.25.
  const Encoding found = find_encoding(Values{.1F, .2F, .25F}, rule).value();
  CHECK(found.max - found.min >= .999999);
  CHECK(found.max - found.min <= 1.100001);
  // No wider than needed: clipping 10 would be worth it, but 8 must be spanned.
  rule.bits = 2;
  rule.minimum_range = 8;
  Values values(1000, 1);
  values.push_back(10);
  CHECK(find_encoding(values, rule)->scale >= 8.0 / 3 * .999999);
  rule.minimum_range = 0;
  CHECK(find_encoding(values, rule)->scale < 8.0 / 3);
}

TEST_CASE("enhanced: a search carries nothing over to the next group") {
  std::mt19937 random(14);
  LeastCost again;
  const EncodingRule rule = rule_of(EncodingMethod::enhanced, 4, 3);
  for (std::size_t i = 0; i < 30; ++i) {
    std::vector<WeightedValue> values;
    for (std::size_t k = 0; k < 1 + i * 7 % 40; ++k) {
      values.push_back({std::normal_distribution<double>()(random), 1 + k % 3});
    }
    std::ranges::sort(values, {}, &WeightedValue::value);
    const Distribution distribution{values, values.front().value, values.back().value};
    CHECK(again.best(distribution, rule) == LeastCost().best(distribution, rule));
  }
}

}  // namespace
}  // namespace quadrant
