#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "quadrant/numerics/statistics.hpp"

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
  CHECK(sums.nan == 1);         // the first: of the last but one only the approximation is
  CHECK(sums.signal == 4);
  CHECK(sums.noise == 0);
}

TEST_CASE("the worse of two") {
  const Agreement exact = of({1, 2}, {1, 2});
  const Agreement near = of({1, 2}, {1, 2.5F});
  const Agreement far = of({1, 2}, {1, 4});
  const Agreement one = of({1, 2}, {1, inf});
  const Agreement both = of({1, 2}, {inf, not_a_number});
  const Agreement silent = of({0, 0}, {0, 1});
  CHECK(of({inf, not_a_number}, {inf, not_a_number}).sqnr_db() == exact.sqnr_db());
  const std::array order{both, one, silent, far, near, exact};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      CHECK(worse_than(order[i], order[j]) == (i < j));
    }
  }
  // Two that are alike in what is not finite differ by the rest.
  CHECK(worse_than(of({1, 2, 3}, {1, 4, inf}), of({1, 2, 3}, {1, 2, inf})));
}

TEST_CASE("squares of doubles that overflow are the worst that is finite") {
  const std::array signal{1e300};
  const std::array approximation{-1e300};
  Agreement sums;
  sums.add(std::span<const double>(signal), std::span<const double>(approximation));
  CHECK(std::isnan(sums.sqnr_db()));
  CHECK(worse_than(sums, of({1, 2}, {1, 4})));
  CHECK(!worse_than(sums, sums));
  CHECK(sums.is_possible());
}

TEST_CASE("sums that no values have") {
  const Agreement good = of({3, 4, inf, 1}, {3, 3.5F, 2, -1});
  CHECK(good.is_possible());
  CHECK(Agreement{}.is_possible());
  CHECK(of({1e-20F, 0}, {1e-22F, 1e-30F}).is_possible());
  const auto changed = [&](auto member, auto value) {
    Agreement bad = good;
    bad.*member = value;
    return bad.is_possible();
  };
  CHECK(!changed(&Agreement::elements, 2U));
  CHECK(!changed(&Agreement::equal, 4U));
  CHECK(!changed(&Agreement::non_finite, ~std::uint64_t{0}));
  CHECK(!changed(&Agreement::nan, 3U));
  CHECK(!changed(&Agreement::signal, 1e308));
  CHECK(!changed(&Agreement::approximation, -1.0));
  CHECK(!changed(&Agreement::product, 0.0));
  CHECK(!changed(&Agreement::noise, 0.0));
  CHECK(!changed(&Agreement::largest_error, 3.0));
  CHECK(!changed(&Agreement::largest_error, 0.25));
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
