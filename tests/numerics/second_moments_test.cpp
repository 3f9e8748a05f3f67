#include "quadrant/numerics/second_moments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace quadrant;

namespace {

// Two matrices of 3 rows and 70 columns, more than are summed at a time.
WeightMatrices layout() {
  WeightMatrices made{{0, 210}, {0, 70, 140}, {}};
  for (std::int64_t i = 0; i < 70; ++i) made.columns.push_back(i);
  return made;
}

std::vector<double> integers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(-32767, 32767);
  std::vector<double> made(count);
  std::ranges::generate(made, [&] { return draw(random); });
  return made;
}

SecondMoments empty() { return {layout(), std::vector<double>(140, 0.25)}; }

}  // namespace

TEST_CASE("sums are exact, whatever comes first") {
  const std::vector<double> x = integers(std::size_t{5000} * 70, 1);
  SecondMoments all = empty();
  REQUIRE(all.add(1, x));
  CHECK(all.count(0) == 0);
  CHECK(all.count(1) == 5000);

  SecondMoments parts = empty();
  const auto tail = std::span(x).subspan(std::size_t{70} * 123);
  REQUIRE(parts.add(1, tail));
  REQUIRE(parts.add(1, std::span(x).first(std::size_t{70} * 123)));
  CHECK(parts.mean(1) == all.mean(1));

  const std::vector<double> mean = all.mean(1);
  for (const auto& [i, j] :
       {std::pair<std::size_t, std::size_t>{0, 0}, {69, 3}, {3, 69}, {64, 63}}) {
    std::int64_t sum = 0;
    for (std::size_t row = 0; row < 5000; ++row) {
      sum +=
          static_cast<std::int64_t>(x[row * 70 + i]) * static_cast<std::int64_t>(x[row * 70 + j]);
    }
    CHECK(mean[i * 70 + j] == static_cast<double>(sum) * 0.0625 / 5000);
  }
  CHECK(std::ranges::all_of(all.mean(0), [](double number) { return number == 0; }));
}

TEST_CASE("the diagonal lies where the weight has what it is multiplied with") {
  SecondMoments moments = empty();
  std::vector<double> x(70);
  x[5] = 8;
  REQUIRE(moments.add(1, x));
  const std::vector<float> diagonal = moments.relative_diagonal(420);
  CHECK(diagonal[210 + 70 + 5] == 140);
  CHECK(diagonal[5] == 0);  // of the first matrix
  CHECK(std::ranges::count(diagonal, 140.0F) == 3);
}

TEST_CASE("numbers far beyond float's squares are as good as others") {
  for (const double step : {1e30, 1e-30}) {
    SecondMoments moments(layout(), std::vector<double>(140, step));
    REQUIRE(moments.add(0, std::vector<double>(70, 3)));
    CHECK(moments.relative_diagonal(420)[0] == 2);
  }
}

TEST_CASE("rows that are not whole, and matrices that are not there, are refused") {
  SecondMoments moments = empty();
  CHECK_FALSE(moments.add(0, std::vector<double>(69)));
  CHECK_FALSE(moments.add(2, std::vector<double>(70)));
  SecondMoments none({{0}, {0}, {}}, {});
  CHECK_FALSE(none.add(0, std::vector<double>(1)));
  CHECK(none.add(0, {}));
}
