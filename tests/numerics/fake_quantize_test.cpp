#include "numerics/fake_quantize.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

#include "numerics/helpers.hpp"

namespace quadrant {
namespace {

using test::infinity;
using test::nan;

using Bounds = FakeQuantizeBounds<float>;

struct Pair {
  float x;
  float y;
};

void check(const Bounds& bounds, std::int64_t levels, const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    CAPTURE(pair.x);
    CHECK(fake_quantize(pair.x, bounds, levels) == pair.y);
  }
}

struct Case {
  Bounds bounds;
  std::int64_t levels;
  std::vector<float> xs;
};

// Seeded; every kind of range, with values inside, outside and on the ends.
std::vector<Case> random_cases() {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> end(-4, 4);
  constexpr std::array<std::int64_t, 7> all_levels{2, 3, 16, 255, 256, 257, 65536};
  std::vector<Case> cases;
  for (int i = 0; i < 700; ++i) {
    Case next{{end(random), end(random), end(random), end(random)},
              all_levels[static_cast<std::size_t>(i) % all_levels.size()],
              {}};
    if (i % 10 == 0) next.bounds.input_high = next.bounds.input_low;
    for (int k = 0; k < 20; ++k) next.xs.push_back(end(random) * 1.5F);
    next.xs.insert(next.xs.end(),
                   {next.bounds.input_low, next.bounds.input_high, infinity, -infinity, 0, -0.0F});
    cases.push_back(next);
  }
  return cases;
}

// Computed with numpy, in float32; OpenVINO's own evaluation gives the same bits.
TEST_CASE("fake_quantize: by hand") {
  check({0, 4, 0, 4}, 5, {{.5F, 0}, {1.5F, 2}, {2.5F, 2}, {3.5F, 4}, {-1, 0}, {5, 4}});
  check({0, 2.55F, 0, 2.55F}, 256,
        {{.005F, 0},
         {.0050001F, .010000001F},
         {.015F, .020000001F},
         {.025F, .020000001F},
         {1.275F, 1.2800001F},
         {2.545F, 2.54F},
         {3, 2.55F}});
  check({-2, 2, 0, 1}, 5, {{-1.25F, .25F}, {0, .5F}, {.5F, .5F}, {1.99F, 1}});
  check({.5F, .5F, -1, 1}, 2, {{.5F, -1}, {.50001F, 1}});
  check({0, 4, 10, 0}, 5, {{1, 7.5F}, {3, 2.5F}});
  check({4, 0, 0, 4}, 5, {{0, 0}, {1, 3}, {4, 0}, {5, 4}});
  check({-1.28F, 1.27F, -1.28F, 1.27F}, 256,
        {{-1.275F, -1.28F}, {0, 1.1920929e-07F}, {.0151F, .0200001F}});
  check({-1.27F, 1.27F, -1.27F, 1.27F}, 255, {{0, 0}, {.005F, .00999999F}, {-.005F, -.00999999F}});
  check({0, 254, -.47876F, .47876F}, 255,
        {{0, -.47876F}, {1, -.47499025F}, {127, 0}, {254, .47876F}});
}

TEST_CASE("fake_quantize: infinities saturate, and a NaN stays") {
  const Bounds bounds{0, 4, 1, 3};
  check(bounds, 5, {{-infinity, 1}, {infinity, 3}, {-0.0F, 1}});
  CHECK(std::isnan(fake_quantize(nan, bounds, 5)));
  CHECK(std::isnan(fake_quantize_level(nan, bounds, 5)));
  CHECK(std::isnan(fake_quantize(nan, {1, 1, 1, 3}, 5)));
}

TEST_CASE("fake_quantize: in double, where float32 has no zero") {
  const FakeQuantizeBounds<double> bounds{-1.28, 1.27, -1.28, 1.27};
  CHECK(std::abs(fake_quantize(0.0, bounds, 256)) < 1e-15);
  CHECK(fake_quantize(-1.276, bounds, 256) == doctest::Approx(-1.28));
}

TEST_CASE("fake_quantize: there are as many values as levels, and the ends are among them") {
  for (const Case& c : random_cases()) {
    const auto last = static_cast<float>(c.levels - 1);
    for (const float x : c.xs) {
      CAPTURE(x);
      const float level = fake_quantize_level(x, c.bounds, c.levels);
      const float y = fake_quantize(x, c.bounds, c.levels);
      CHECK((level >= 0 && level <= last && level == std::floor(level)));
      // Within rounding of the value that the level stands for.
      const float span = c.bounds.output_high - c.bounds.output_low;
      CHECK(y == doctest::Approx(level / last * span + c.bounds.output_low).epsilon(1e-5));
      if (c.levels == 2 && c.bounds.input_low <= c.bounds.input_high) {
        CHECK((y == c.bounds.output_low || y == span + c.bounds.output_low ||
               y == c.bounds.output_high));
      }
      if (c.bounds.input_low == c.bounds.input_high) {
        CHECK(y == (x <= c.bounds.input_low ? c.bounds.output_low : c.bounds.output_high));
      }
    }
  }
}

TEST_CASE("fake_quantize: larger values get larger levels, or smaller ones in a reversed range") {
  for (const Case& c : random_cases()) {
    std::vector<float> xs = c.xs;
    std::ranges::sort(xs);
    const float low = std::min(c.bounds.input_low, c.bounds.input_high);
    const float high = std::max(c.bounds.input_low, c.bounds.input_high);
    const bool reversed = c.bounds.input_low > c.bounds.input_high;
    float previous = reversed ? infinity : -infinity;
    for (const float x : xs) {
      if (x <= low || x > high) continue;
      const float level = fake_quantize_level(x, c.bounds, c.levels);
      CHECK((reversed ? level <= previous : level >= previous));
      previous = level;
    }
  }
}

TEST_CASE("fake_quantize: all negated, what comes out is negated") {
  // Between the ends: of these, the lower one goes with what lies outside, the upper one does not.
  for (const Case& c : random_cases()) {
    const Bounds negated{-c.bounds.input_low, -c.bounds.input_high, -c.bounds.output_low,
                         -c.bounds.output_high};
    const float low = std::min(c.bounds.input_low, c.bounds.input_high);
    const float high = std::max(c.bounds.input_low, c.bounds.input_high);
    for (const float x : c.xs) {
      if (x <= low || x >= high) continue;
      CHECK(fake_quantize(-x, negated, c.levels) == -fake_quantize(x, c.bounds, c.levels));
    }
  }
}

TEST_CASE("fake_quantize: scaled by powers of two, the bits are the same") {
  for (const Case& c : random_cases()) {
    const Bounds scaled{c.bounds.input_low * 8, c.bounds.input_high * 8, c.bounds.output_low / 4,
                        c.bounds.output_high / 4};
    for (const float x : c.xs) {
      CHECK(fake_quantize(x * 8, scaled, c.levels) == fake_quantize(x, c.bounds, c.levels) / 4);
    }
  }
}

TEST_CASE("nudged_range: what mlir-opt-15 makes of const_fake_quant") {
  struct Example {
    FakeQuantRange given;
    NudgedRange wanted;
  };
  constexpr auto u8 = ElementType::uint8;
  constexpr auto i8 = ElementType::int8;
  const std::vector<Example> examples{
      {{0, 1, 8, false, false}, {u8, 0, 255, 0.0039215686274509803, 0}},
      {{0, 1, 8, true, false}, {u8, 1, 255, 0.003937007874015748, 1}},
      {{-1, 1, 8, false, false}, {u8, 0, 255, 0.0078431372549019607, 128}},
      {{-1, 1, 8, true, true}, {i8, -127, 127, 0.007874015748031496, 0}},
      {{-1, 1, 8, false, true}, {i8, -128, 127, 0.0078431372549019607, -1}},
      {{-0.9, 2.1, 8, false, true}, {i8, -128, 127, 0.011764705882352941, -52}},
      {{-0.9F, 2.1F, 8, false, true}, {i8, -128, 127, 0.011764705414865531, -51}},
      {{0.5, 2, 8, false, false}, {u8, 0, 255, 0.0058823529411764705, 0}},
      {{-2, -0.5, 8, false, false}, {u8, 0, 255, 0.0058823529411764705, 255}},
      {{0, 0, 8, true, true}, {i8, -127, 127, 1, -127}},
      {{-1, 1, 16, true, true}, {ElementType::int16, -32767, 32767, 3.0518509475997192e-05, 0}},
      {{-1, 1, 4, false, true}, {i8, -128, 127, 0.0078431372549019607, -1}},
  };
  for (const Example& example : examples) {
    CAPTURE(example.given.min);
    CAPTURE(example.given.num_bits);
    const auto range = nudged_range(example.given);
    REQUIRE(range);
    CHECK(range->storage == example.wanted.storage);
    CHECK(range->storage_min == example.wanted.storage_min);
    CHECK(range->storage_max == example.wanted.storage_max);
    CHECK(range->scale == example.wanted.scale);
    CHECK(range->zero_point == example.wanted.zero_point);
  }
}

TEST_CASE("nudged_range: what is refused") {
  CHECK(!nudged_range({1, -1}));
  CHECK(!nudged_range({0, 1, 33}));
  CHECK(!nudged_range({0, 1, 0}));
  CHECK(!nudged_range({0, static_cast<double>(infinity)}));
  CHECK(!nudged_range({static_cast<double>(nan), 1}));
  CHECK(nudged_range({0, 1, 32, false, true}));
}

TEST_CASE("nudged_range: its bounds are those of a fake_quantize with zero among the levels") {
  for (const FakeQuantRange& given :
       {FakeQuantRange{-1, 1}, FakeQuantRange{-0.9, 2.1, 8, true, true}, FakeQuantRange{0.5, 2}}) {
    const auto range = nudged_range(given);
    REQUIRE(range);
    const auto bounds = range->bounds<double>();
    CHECK(std::abs(fake_quantize(0.0, bounds, range->levels())) < 1e-15);
    for (std::int64_t code = range->storage_min; code <= range->storage_max; ++code) {
      const double real = range->scale * static_cast<double>(code - range->zero_point);
      CHECK(fake_quantize_level(real, bounds, range->levels()) ==
            static_cast<double>(code - range->storage_min));
    }
  }
}

}  // namespace
}  // namespace quadrant
