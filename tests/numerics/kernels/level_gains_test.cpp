#include "numerics/kernels/level_gains.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "numerics/code_values.hpp"
#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

TEST_CASE(
    "kernels: levels that are floats gain what the best of all levels does, to the last bit") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const ElementType type : {ElementType::float6e2m3, ElementType::float6e3m2,
                                 ElementType::float8e4m3, ElementType::float8e5m2}) {
    CAPTURE(to_string(type));
    const CodeValues codes(FloatCode{type});
    const kernels::LevelSet levels = codes.levels();
    REQUIRE(levels.mantissa_bits > 0);
    std::vector<float> values{0, -0.0F, 1e-30F, -3e30F};
    for (std::size_t i = 0; i < levels.count; ++i) {
      // The level itself, its neighbours, and what lies between two.
      const auto level = static_cast<float>(levels.values[i]);
      for (const float value : {level, std::nextafter(level, 1e9F), std::nextafter(level, -1e9F)}) {
        values.push_back(value);
      }
      if (i + 1 == levels.count) continue;
      const auto middle = static_cast<float>((levels.values[i] + levels.values[i + 1]) / 2);
      for (const float value :
           {middle, -std::nextafter(middle, 1e9F), std::nextafter(middle, -1e9F)}) {
        values.push_back(value);
      }
    }
    for (int i = 0; i < 200; ++i) values.push_back(normal(random) * std::exp2(normal(random) * 6));
    // One value at a time, so that no sum hides what differs.
    for (const float value : values) {
      std::vector<float> lanes(8);
      std::vector<float> weights(8);
      lanes[3] = value;
      weights[3] = 1;
      for (const double inverse : {1.0, 0.37, 1e-3, 1e5, 1.0 / 3}) {
        const double x2 = std::fabs(static_cast<double>(value)) * (2 * inverse);
        double expected = -std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < levels.count; ++j) {
          const double rest = x2 - levels.values[j];
          expected = std::max(expected, levels.values[j] * rest);
        }
        test::for_each_target([&] {
          const double found =
              kernels::level_gain({lanes.data(), weights.data(), 8, 0}, levels, inverse);
          if (found != expected) FAIL(value, " times ", inverse, ": ", found, ", not ", expected);
        });
      }
    }
  }
}

TEST_CASE("kernels: what is no float from 0 on is not taken for one") {
  CHECK(CodeValues(NumberCode(FixedTable::nf4)).levels().mantissa_bits == 0);
  CHECK(CodeValues(NumberCode(IntegerCode::of(8, true))).levels().mantissa_bits == 0);
  std::vector<float> values;
  for (int i = -20; i <= 20; ++i) values.push_back(static_cast<float>(i));
  CHECK(CodeValues(values).levels().mantissa_bits == 4);  // up to 32 they are
  values[30] += 0.5F;
  values[10] -= 0.5F;
  CHECK(CodeValues(values).levels().mantissa_bits == 0);
}

}  // namespace
}  // namespace quadrant
