#include "numerics/kernels/nearest_levels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "numerics/kernels/targets.hpp"

using namespace quadrant;

TEST_CASE("numbers on grids of their own: the nearest integers, ties to even, ends clamped") {
  constexpr double low = -8;
  constexpr double high = 7;
  std::mt19937 random(1);
  std::uniform_int_distribution<int> draw(-80, 80);
  for (const std::size_t count : {1U, 7U, 8U, 64U, 67U}) {
    std::vector<double> wanted;
    std::vector<float> scales;
    std::vector<float> minima;
    std::vector<float> zero_points;
    for (std::size_t i = 0; i < count; ++i) {
      wanted.push_back(draw(random) / 8.0);  // halves of a code are among them
      scales.push_back(i % 5 == 4 ? 0.0F : 0.25F * (i % 2 == 0 ? 1.0F : -1.0F));
      minima.push_back(static_cast<float>(i % 3));
      zero_points.push_back(static_cast<float>(i % 4));
    }
    test::for_each_target([&] {
      std::vector<std::uint32_t> codes(count, 99);
      std::vector<float> reals(count, 99.0F);
      kernels::nearest_on_grids(
          {wanted.data(), scales.data(), minima.data(), zero_points.data(), count}, low, high,
          codes.data(), reals.data());
      for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        if (scales[i] == 0) {
          CHECK(codes[i] == 99);
          CHECK(reals[i] == 99.0F);
          continue;
        }
        // All of it is exact in double, but for where it is rounded.
        const auto scale = static_cast<double>(scales[i]);
        const double exact = (wanted[i] + static_cast<double>(minima[i])) / scale +
                             static_cast<double>(zero_points[i]);
        const double integer = std::nearbyint(std::fmin(std::fmax(exact, low), high));
        CHECK(static_cast<std::int32_t>(codes[i]) == static_cast<std::int32_t>(integer));
        CHECK(static_cast<double>(reals[i]) ==
              (integer - static_cast<double>(zero_points[i])) * scale -
                  static_cast<double>(minima[i]));
      }
    });
  }
}
