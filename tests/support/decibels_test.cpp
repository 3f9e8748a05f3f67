#include "support/decibels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace quadrant;

TEST_CASE("decibels are those of signal over noise") {
  CHECK(decibels_of(1) == 0);
  CHECK(decibels_of(0.001) == doctest::Approx(30));
  CHECK(decibels_of(100) == doctest::Approx(-20));
  CHECK(decibels_of(0) == std::numeric_limits<double>::infinity());
  CHECK(relative_noise_of(20) == doctest::Approx(0.01));
  CHECK(relative_noise_of(-10) == doctest::Approx(10));
  CHECK(relative_noise_of(std::numeric_limits<double>::infinity()) == 0);
  for (double decibels = -200; decibels <= 200; decibels += 7) {
    CHECK(decibels_of(relative_noise_of(decibels)) == doctest::Approx(decibels));
  }
}
