#include "numerics/clip_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"
#include "numerics/metrics.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using Values = std::vector<float>;

// --- brute force --------------------------------------------------------------------------------

// The least error at scale s, each value going to the nearest of s * lo ... s * hi; and, with the
// codes kept, of the best scale for them in [low, high].
struct Oracle {
  const Values& values;
  double lo;
  double hi;

  [[nodiscard]] double code(float value, double scale) const {
    return std::clamp(std::nearbyint(static_cast<double>(value) / scale), lo, hi);
  }
  [[nodiscard]] double error(double scale) const {
    double sum = 0;
    for (const float value : values) {
      const double difference = static_cast<double>(value) - scale * code(value, scale);
      sum += difference * difference;
    }
    return sum;
  }
  [[nodiscard]] double error_of_piece(double low, double high) const {
    const double middle = (low + high) / 2;
    double a = 0;
    double b = 0;
    for (const float value : values) {
      const double q = code(value, middle);
      a += static_cast<double>(value) * q;
      b += q * q;
    }
    return error(b == 0 ? middle : std::clamp(a / b, low, high));
  }
};

// The least error over 0 < s <= cap: a grid, all breakpoints, and the best scale of each piece
// between them, down to `floor`.
double least_error(const Oracle& oracle, double cap, double floor, int grid) {
  double least = oracle.error(cap);
  for (int i = 1; i < grid; ++i) least = std::min(least, oracle.error(cap * i / grid));
  std::vector<double> breakpoints{cap};
  for (const float value : oracle.values) {
    const double magnitude = std::fabs(static_cast<double>(value));
    const double limit = value < 0 ? -oracle.lo : oracle.hi;
    for (double k = 0; k < limit; ++k) {
      const double at = magnitude / (k + 0.5);
      if (at < cap && at > floor) breakpoints.push_back(at);
    }
  }
  std::ranges::sort(breakpoints);
  double low = floor;
  for (const double high : breakpoints) {
    if (high > low) least = std::min(least, oracle.error_of_piece(low, high));
    low = high;
  }
  return least;
}

double magnitude_above(const Values& values) {
  return std::max(0.0, static_cast<double>(*std::ranges::max_element(values)));
}

double magnitude_below(const Values& values) {
  return std::max(0.0, -static_cast<double>(*std::ranges::min_element(values)));
}

// The definition of Clip::mse in quadrant/numerics/encode.hpp.
double least_error(const Values& values, const ScaleRule& rule, double floor = 0, int grid = 300) {
  const double above = magnitude_above(values);
  const double below = magnitude_below(values);
  const auto steps = static_cast<double>(rule.storage_max - rule.storage_min);
  const double reach = steps < 256 ? 2 : 1;
  const auto least_of = [&](double lo, double hi, double containing) {
    return least_error({values, lo, hi}, reach * containing, floor * containing, grid);
  };
  if (rule.symmetry == Symmetry::asymmetric) {
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t z = rule.storage_min; z <= rule.storage_max; ++z) {
      least = std::min(least, least_of(static_cast<double>(rule.storage_min - z),
                                       static_cast<double>(rule.storage_max - z),
                                       (above + below) / std::max(steps - 1, 1.0)));
    }
    return least;
  }
  std::int64_t z = 0;
  if (rule.storage == ElementType::uint4) z = 8;
  if (rule.storage == ElementType::uint8) z = 128;
  const auto lo = static_cast<double>(rule.storage_min - z);
  const auto hi = static_cast<double>(rule.storage_max - z);
  const double least = least_of(lo, hi, std::max(above / hi, below / -lo));
  if (rule.symmetry != Symmetry::signed_scale || hi == -lo) return least;
  return std::min(least, least_of(-hi, -lo, std::max(above / -lo, below / hi)));
}

double error_of(const Values& values, const GroupParameters& found, const ScaleRule& rule) {
  double sum = 0;
  for (const float value : values) {
    const std::int64_t code =
        quantize_value(value, found.scale, found.zero_point, rule.storage_min, rule.storage_max);
    const double difference =
        static_cast<double>(value) -
        static_cast<double>(found.scale) * static_cast<double>(code - found.zero_point);
    sum += difference * difference;
  }
  return sum;
}

double power_of(const Values& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// --- groups -------------------------------------------------------------------------------------

ScaleRule rule_of(ElementType storage, std::int64_t min, std::int64_t max, Symmetry symmetry) {
  return {storage, min, max, symmetry, Clip::mse};
}

std::vector<ScaleRule> small_rules() {
  std::vector<ScaleRule> result;
  for (const Symmetry symmetry :
       {Symmetry::symmetric, Symmetry::signed_scale, Symmetry::asymmetric}) {
    for (const auto& [min, max] : std::array<std::array<std::int64_t, 2>, 6>{
             {{-8, 7}, {-7, 7}, {-4, 3}, {-2, 1}, {-1, 1}, {-3, 11}}}) {
      result.push_back(rule_of(ElementType::int8, min, max, symmetry));
    }
    result.push_back(rule_of(ElementType::uint4, 0, 15, symmetry));
    result.push_back(rule_of(ElementType::uint4, 1, 15, symmetry));
    result.push_back(rule_of(ElementType::uint4, 5, 11, symmetry));
  }
  result.push_back(rule_of(ElementType::uint4, 0, 1, Symmetry::asymmetric));
  result.push_back(rule_of(ElementType::uint4, 0, 2, Symmetry::asymmetric));
  result.push_back(rule_of(ElementType::uint4, 0, 3, Symmetry::asymmetric));
  return result;
}

// Groups of `count` values that differ in what is difficult about them.
using Generator = std::function<float(std::mt19937&, std::size_t)>;
std::vector<Generator> group_generators() {
  const auto normal = [](std::mt19937& random) {
    return std::normal_distribution<float>()(random);
  };
  const auto integer = [](std::mt19937& random, int from, int to) {
    return static_cast<float>(std::uniform_int_distribution(from, to)(random));
  };
  return {
      [=](std::mt19937& random, std::size_t) { return normal(random); },
      [=](std::mt19937& random, std::size_t) { return std::fabs(normal(random)); },
      [=](std::mt19937& random, std::size_t) { return -std::fabs(normal(random)) - 3; },
      [=](std::mt19937& random, std::size_t) { return normal(random) + 2; },
      [=](std::mt19937& random, std::size_t) { return std::pow(normal(random), 5.0F); },
      [=](std::mt19937& random, std::size_t i) { return i == 0 ? 100.0F : normal(random); },
      [=](std::mt19937& random, std::size_t i) { return i == 0 ? 1e30F : normal(random) * 1e-30F; },
      [=](std::mt19937& random, std::size_t) { return normal(random) * 1e37F; },
      [=](std::mt19937& random, std::size_t) { return normal(random) * 1e-36F; },
      [=](std::mt19937& random, std::size_t) { return integer(random, -4, 4); },
      [=](std::mt19937& random, std::size_t) { return integer(random, -20, 20) / 2; },  // ties
      [=](std::mt19937& random, std::size_t) { return integer(random, 0, 1) * normal(random); },
      [=](std::mt19937&, std::size_t) { return 0.3F; },
      [=](std::mt19937&, std::size_t i) { return i % 2 == 0 ? 0.7F : -0.7F; },
      [=](std::mt19937&, std::size_t i) { return static_cast<float>(i); },
      [=](std::mt19937&, std::size_t i) { return i == 1 ? -0.1F : 0.0F; },
      [=](std::mt19937& random, std::size_t) {
        return std::exp2(std::uniform_real_distribution<float>(-8, 8)(random));
      },
  };
}

template <class Body>
void for_each_small_group(std::initializer_list<std::size_t> sizes, Body body) {
  std::mt19937 random(17);
  test::Turns turns;
  int which = 0;
  for (const Generator& generator : group_generators()) {
    ++which;
    CAPTURE(which);
    for (const std::size_t size : sizes) {
      CAPTURE(size);
      Values values(size);
      for (std::size_t i = 0; i < size; ++i) values[i] = generator(random, i);
      if (power_of(values) == 0) continue;
      for (const ScaleRule& rule : small_rules()) {
        if (!turns.next()) continue;
        CAPTURE(rule.storage_min);
        CAPTURE(rule.storage_max);
        CAPTURE(static_cast<int>(rule.symmetry));
        body(values, rule);
      }
    }
  }
}

// The scale is rounded to float32, by 2^-24 of it at most. At the end of the domain the error need
// not be flat: it changes by up to 2 |sum (w - s q) s q| of that, which is at most the product of
// the two vectors' lengths.
double allowed(double least, const Values& values) {
  const double power = power_of(values);
  return least * (1 + 1e-6) + 0x1p-23 * std::sqrt(least * power) + 1e-12 * power;
}

TEST_CASE("mse: as good as brute force") {
  for_each_small_group({1, 2, 3, 5, 11, 40}, [](const Values& values, const ScaleRule& rule) {
    const GroupParameters found = ClipSearch(rule).best(values);
    const double least = least_error(values, rule, 0, 100);
    CHECK(error_of(values, found, rule) <= allowed(least, values));
  });
}

TEST_CASE("mse: as good as brute force, in more values than codes") {
  std::mt19937 random(4);
  for (const std::size_t size : {40U, 120U}) {
    for (const ScaleRule& rule : {rule_of(ElementType::int4, -8, 7, Symmetry::symmetric),
                                  rule_of(ElementType::int4, -8, 7, Symmetry::signed_scale),
                                  rule_of(ElementType::uint4, 0, 15, Symmetry::asymmetric),
                                  rule_of(ElementType::int8, -127, 127, Symmetry::symmetric),
                                  rule_of(ElementType::int8, -128, 127, Symmetry::signed_scale)}) {
      Values values = test::random_values(size, static_cast<unsigned>(size));
      values[3] *= 3;
      const GroupParameters found = ClipSearch(rule).best(values);
      // Half of the least scale that clips nothing is far beyond the best one.
      const double least = least_error(values, rule, 0.5, 50);
      CHECK(error_of(values, found, rule) <= allowed(least, values));
    }
  }
}

TEST_CASE("mse: never worse than absmax or minmax") {
  for_each_small_group({2, 7, 31, 64}, [](const Values& values, const ScaleRule& rule) {
    const double found = error_of(values, ClipSearch(rule).best(values), rule);
    const ValueRange range{static_cast<float>(-magnitude_below(values)),
                           static_cast<float>(magnitude_above(values))};
    for (const Clip clip : {Clip::absmax, Clip::minmax}) {
      const double other = error_of(values, unsearched_parameters(rule, clip, range), rule);
      CHECK(found <= allowed(other, values));
    }
  });
}

TEST_CASE("mse: wide codes") {
  const Values values = test::random_values(300, 8);
  for (const Symmetry symmetry :
       {Symmetry::symmetric, Symmetry::signed_scale, Symmetry::asymmetric}) {
    for (const auto& [storage, min, max] :
         {std::tuple{ElementType::uint8, 0, 255}, std::tuple{ElementType::int8, -128, 127},
          std::tuple{ElementType::int16, -32768, 32767}}) {
      const ScaleRule rule = rule_of(storage, min, max, symmetry);
      const double found = error_of(values, ClipSearch(rule).best(values), rule);
      const ValueRange range{static_cast<float>(-magnitude_below(values)),
                             static_cast<float>(magnitude_above(values))};
      for (const Clip clip : {Clip::absmax, Clip::minmax}) {
        CHECK(found <= error_of(values, unsearched_parameters(rule, clip, range), rule));
      }
    }
  }
}

TEST_CASE("mse: by hand") {
  // 0.9 + 0.1: codes 1 and 0 of scale 0.9 leave 0.01. Minmax, on -1..1: 0.9, the same; with a
  // second 0.7 it is (0.9 + 0.7) / 2.
  const ScaleRule ternary = rule_of(ElementType::int8, -1, 1, Symmetry::symmetric);
  CHECK(ClipSearch(ternary).best(Values{0.9F, 0.1F}).scale == doctest::Approx(0.9));
  CHECK(ClipSearch(ternary).best(Values{0.9F, 0.7F}).scale == doctest::Approx(0.8));
  CHECK(ClipSearch(ternary).best(Values{0.9F, -0.7F, 0.1F}).scale == doctest::Approx(0.8));
  // The least is beyond 1, the scale that clips nothing: codes 2, 1, 1, 1, 1 at 11.6 / 8 leave
  // 0.02; 3, 2, 2, 2, 2 at 20.2 / 25 leave 0.52.
  const ScaleRule seven = rule_of(ElementType::int8, -3, 3, Symmetry::symmetric);
  CHECK(ClipSearch(seven).best(Values{3, 1.4F, 1.4F, -1.4F, 1.4F}).scale ==
        doctest::Approx(11.6 / 8));
  // Exact scales are found: all codes integers.
  const ScaleRule nibbles = rule_of(ElementType::int4, -8, 7, Symmetry::signed_scale);
  CHECK(ClipSearch(nibbles).best(Values{8, 3, -5}).scale == -1);
  CHECK(ClipSearch(nibbles).best(Values{-8, 3, 5}).scale == 1);
  const ScaleRule unsigned_nibbles = rule_of(ElementType::uint4, 0, 15, Symmetry::asymmetric);
  const GroupParameters found = ClipSearch(unsigned_nibbles).best(Values{-4, 11, 3, 7});
  CHECK(found.scale == 1);
  CHECK(found.zero_point == 4);
}

TEST_CASE("mse: a search carries nothing over to the next group") {
  const ScaleRule rule = rule_of(ElementType::uint4, 0, 15, Symmetry::asymmetric);
  ClipSearch search(rule);
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Values values = test::random_values(1 + (seed * 7) % 40, seed);
    const GroupParameters again = search.best(values);
    const GroupParameters fresh = ClipSearch(rule).best(values);
    CHECK(again.scale == fresh.scale);
    CHECK(again.zero_point == fresh.zero_point);
  }
}

// --- tensors ------------------------------------------------------------------------------------

std::shared_ptr<const UniformType> found_type(const Constant& weights,
                                              const Granularity& granularity,
                                              const ScaleRule& rule) {
  const auto scan = scan_parameters(weights, granularity, rule).value();
  REQUIRE(!scan.non_finite);
  UniformType type;
  type.storage = rule.storage;
  type.granularity = granularity;
  type.storage_min = rule.storage_min;
  type.storage_max = rule.storage_max;
  type.scales = scan.scales;
  type.zero_points = scan.zero_points;
  return std::make_shared<const UniformType>(type);
}

TEST_CASE("mse: each group of a tensor by itself, wherever its elements lie") {
  for (const Shape& shape :
       {Shape{6, 10}, Shape{5, 3, 4}, Shape{2, 17000}, Shape{17000, 2}, Shape{1, 1}, Shape{3, 0}}) {
    const auto count = static_cast<std::size_t>(shape.element_count().value());
    const Values values = test::random_values(count, 6);
    const Constant weights = test::float_constant(shape, values);
    for (const Granularity& granularity : test::granularities_of(shape)) {
      for (const ScaleRule& rule : {rule_of(ElementType::int4, -8, 7, Symmetry::signed_scale),
                                    rule_of(ElementType::int8, -2, 1, Symmetry::asymmetric)}) {
        if (rule.symmetry == Symmetry::asymmetric && count > 1000) continue;  // slow
        const auto groups = test::groups_of(shape, granularity);
        const auto type = found_type(weights, granularity, rule);
        const auto scales = test::contents<float>(type->scales);
        std::vector<Values> members(scales.size());
        for (std::size_t i = 0; i < count; ++i) members[groups[i]].push_back(values[i]);
        int wrong = 0;
        ClipSearch search(rule);
        for (std::size_t group = 0; group < scales.size(); ++group) {
          wrong += search.best(members[group]).scale != scales[group] ? 1 : 0;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("weights of a normal distribution keep the signal-to-noise ratio that they can") {
  Values values = test::random_values(std::size_t{1} << 18, 2);
  for (float& value : values) value *= 0.02F;
  const Constant weights = test::float_constant({64, 4096}, values);
  const auto decibels = [&](const Granularity& granularity, const ScaleRule& rule) {
    return weight_sqnr_db(weights, found_type(weights, granularity, rule)).value();
  };
  const Granularity blocks = Granularity::per_block(1, 32);
  CHECK(decibels(Granularity::per_axis(0), {}) >= 41.2);
  // 4.5 bits a weight: scales are float16.
  const auto four_bits = [&](Symmetry symmetry) {
    ScaleRule rule = rule_of(ElementType::int4, -8, 7, symmetry);
    rule.scale = ElementType::float16;
    return decibels(blocks, rule);
  };
  const double symmetric = four_bits(Symmetry::symmetric);
  const double with_signs = four_bits(Symmetry::signed_scale);
  MESSAGE("int4 blocks of 32: ", symmetric, " dB, with signed scales ", with_signs, " dB");
  CHECK(symmetric >= 21.2);
  CHECK(with_signs >= 21.7);
}

TEST_CASE("weights of a normal distribution, with zero points") {
  Values values = test::random_values(std::size_t{1} << 16, 3);
  for (float& value : values) value *= 0.02F;
  const Constant weights = test::float_constant({16, 4096}, values);
  ScaleRule rule = rule_of(ElementType::uint4, 0, 15, Symmetry::asymmetric);
  rule.scale = ElementType::float16;  // 4.625 bits a weight
  const double asymmetric =
      weight_sqnr_db(weights, found_type(weights, Granularity::per_block(1, 32), rule)).value();
  MESSAGE("uint4 blocks of 32: ", asymmetric, " dB");
  CHECK(asymmetric >= 22.2);
}

}  // namespace
}  // namespace quadrant
