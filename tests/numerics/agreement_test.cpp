#include "quadrant/numerics/agreement.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace quadrant;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

Agreement of(const std::vector<float>& signal, const std::vector<float>& approximation) {
  Agreement sums;
  sums.add(std::span<const float>(signal), std::span<const float>(approximation));
  return sums;
}

}  // namespace

TEST_CASE("signal, noise and cosine of a pair of vectors") {
  const Agreement sums = of({3, 4}, {3, 3.5F});
  CHECK(sums.sqnr_db() == doctest::Approx(20));  // 10 log10(25 / 0.25)
  CHECK(sums.cosine() == doctest::Approx(23 / (5 * std::sqrt(21.25))));
  CHECK(sums.largest_error == 0.5);
  CHECK(sums.elements == 2);
  CHECK(sums.equal == 1);
}

TEST_CASE("exact, silent and one-sided pairs") {
  CHECK(of({1, -2}, {1, -2}).sqnr_db() == std::numeric_limits<double>::infinity());
  CHECK(of({0, 0}, {0, 1}).sqnr_db() == -std::numeric_limits<double>::infinity());
  CHECK(of({0, 0}, {0, 0}).cosine() == 1);
  CHECK(of({0, 0}, {0, 1}).cosine() == 0);
  CHECK(of({1, 2}, {-1, -2}).cosine() == doctest::Approx(-1));
  CHECK(of({}, {}).sqnr_db() == std::numeric_limits<double>::infinity());
}

TEST_CASE("what is not finite is counted and does not poison the sums") {
  const Agreement sums =
      of({not_a_number, inf, -inf, 1, 2}, {not_a_number, inf, 3, not_a_number, 2});
  CHECK(sums.equal == 3);       // NaN and NaN, infinity and infinity, 2 and 2
  CHECK(sums.non_finite == 2);  // -infinity and 3, 1 and NaN
  CHECK(sums.signal == 4);
  CHECK(sums.noise == 0);
}

TEST_CASE("merging parts is adding the whole") {
  Agreement parts = of({1, 2}, {1, 3});
  parts.merge(of({-4}, {-2}));
  CHECK(parts == of({1, 2, -4}, {1, 3, -2}));
}

TEST_CASE("doubles are taken as they are") {
  Agreement sums;
  const std::array signal{1e300};
  const std::array approximation{1e300 * (1 + 1e-10)};
  sums.add(std::span<const double>(signal), std::span<const double>(approximation));
  CHECK(sums.equal == 0);
  CHECK(sums.largest_error == doctest::Approx(1e290));
}
