#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "numerics/helpers.hpp"
#include "quadrant/numerics/encoding.hpp"

namespace quadrant {
namespace {

using test::infinity;

TEST_CASE("range_of: the extremes, wherever they are") {
  for (const std::size_t count : {1U, 2U, 7U, 64U, 1001U}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::vector<float> values = test::random_values(count, seed);
      if (seed % 3 == 1)
        std::ranges::transform(values, values.begin(), [](float x) { return x - 9; });
      if (seed % 3 == 2)
        std::ranges::transform(values, values.begin(), [](float x) { return x + 9; });
      const FloatRange range = range_of(values);
      CHECK(range == FloatRange{std::ranges::min(values), std::ranges::max(values)});
      CHECK(range.is_finite());
      CHECK(range.largest_magnitude() == std::max(-range.min, range.max));
    }
  }
}

TEST_CASE("range_of: zeros have no sign") {
  for (const auto& values :
       {std::array{-0.0F, -0.0F}, std::array{0.0F, -0.0F}, std::array{-0.0F, 0.0F}}) {
    CHECK(range_of(values) == FloatRange{0, 0});
    CHECK_FALSE(std::signbit(range_of(values).min));
    CHECK_FALSE(std::signbit(range_of(values).max));
  }
}

TEST_CASE("range_of: finite when all values are") {
  constexpr float largest = std::numeric_limits<float>::max();
  CHECK(range_of(std::array{-largest, largest}).is_finite());
  const float nan = std::nanf("");
  for (const float bad : {nan, -nan, infinity, -infinity, std::nanf("123")}) {
    for (std::size_t place = 0; place < 20; ++place) {
      std::vector<float> values = test::random_values(20, 1);
      values[place] = bad;
      CHECK_FALSE(range_of(values).is_finite());
    }
  }
}

TEST_CASE("united: holds both") {
  CHECK(united({-1, 2}, {0, 3}) == FloatRange{-1, 3});
  CHECK(united({5, 6}, {-2, -1}) == FloatRange{-2, 6});
}

}  // namespace
}  // namespace quadrant
