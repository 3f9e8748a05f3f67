#include "transforms/expected_relu.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace quadrant;

namespace {

// The integral of max(x, 0) under the normal density, by the trapezoidal rule.
double integrate(double mean, double deviation) {
  constexpr int steps = 400'000;
  constexpr double reach = 12;
  const double width = 2 * reach * deviation / steps;
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double z = -reach + 2 * reach * i / steps;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    sum += std::max(mean + deviation * z, 0.0) * density;
  }
  return sum * width / deviation;
}

}  // namespace

TEST_CASE("the published value") {
  CHECK(expected_relu(0.5, 1) == doctest::Approx(0.697797).epsilon(1e-6));
  CHECK(expected_relu(0, 1) == doctest::Approx(1 / std::sqrt(2 * std::numbers::pi)));
}

TEST_CASE("the integral") {
  for (const double mean : {-7.0, -2.0, -0.3, 0.0, 0.5, 3.0, 8.0}) {
    for (const double deviation : {0.01, 0.7, 1.0, 4.0}) {
      CAPTURE(mean);
      CAPTURE(deviation);
      CHECK(std::abs(expected_relu(mean, deviation) - integrate(mean, deviation)) < 1e-8);
    }
  }
}

TEST_CASE("ends") {
  CHECK(expected_relu(2, 0) == 2);
  CHECK(expected_relu(-2, 0) == 0);
  CHECK(expected_relu(-1e6, 1) == 0);
  CHECK(expected_relu(1e6, 1) == 1e6);
  CHECK(expected_relu(1e-30, 1e-300) == doctest::Approx(1e-30));
}
