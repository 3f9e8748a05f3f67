#include "numerics/kernels/extremes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

using kernels::NumberRows;

struct ExpectedReach {
  std::vector<float> above;
  std::vector<float> below;
};

ExpectedReach expected_reach(const std::vector<float>& numbers, const NumberRows& rows,
                             bool of_columns) {
  const std::size_t groups = of_columns ? rows.length : rows.count;
  ExpectedReach expected{std::vector<float>(groups, 0), std::vector<float>(groups, 0)};
  for (std::size_t row = 0; row < rows.count; ++row) {
    for (std::size_t i = 0; i < rows.length; ++i) {
      const std::size_t group = of_columns ? i : row;
      const float number = numbers[row * rows.stride + i];
      expected.above[group] = std::max(expected.above[group], number);
      expected.below[group] = std::max(expected.below[group], -number);
    }
  }
  return expected;
}

TEST_CASE("kernels: reach of rows and of columns, for all targets, lengths and strides") {
  std::mt19937 random(1);
  std::normal_distribution<float> distribution(0.5F, 2.0F);
  for (const std::size_t length : {1U, 3U, 4U, 9U, 15U, 16U, 17U, 63U, 64U, 65U, 200U}) {
    for (const std::size_t count : {1U, 3U, 4U, 7U, 8U, 9U, 37U}) {
      CAPTURE(length);
      CAPTURE(count);
      const NumberRows rows{count, length, length + random() % 3};
      std::vector<float> numbers(rows.count * rows.stride);
      for (float& number : numbers) number = distribution(random);
      numbers[0] = -0.0F;
      // Between rows: nobody's.
      for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t i = length; i < rows.stride; ++i) numbers[row * rows.stride + i] = 1e30F;
      }
      const ExpectedReach by_row = expected_reach(numbers, rows, false);
      const ExpectedReach by_column = expected_reach(numbers, rows, true);
      std::vector<float> magnitudes(count);
      std::ranges::transform(by_row.above, by_row.below, magnitudes.begin(),
                             [](float a, float b) { return std::max(a, b); });
      test::for_each_target([&] {
        ExpectedReach found{std::vector<float>(count, -1), std::vector<float>(count, -1)};
        kernels::reach_of_rows(numbers.data(), rows, {found.above.data(), found.below.data()});
        CHECK(found.above == by_row.above);
        CHECK(found.below == by_row.below);
        std::vector<float> found_magnitudes(count, -1);
        kernels::magnitudes_of_rows(numbers.data(), rows, found_magnitudes.data());
        CHECK(found_magnitudes == magnitudes);
        ExpectedReach columns{std::vector<float>(length, 0), std::vector<float>(length, 0)};
        kernels::reach_of_columns(numbers.data(), rows,
                                  {columns.above.data(), columns.below.data()});
        CHECK(columns.above == by_column.above);
        CHECK(columns.below == by_column.below);
      });
    }
  }
}

TEST_CASE("kernels: what is not finite shows in the reach, wherever it is") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::size_t length : {1U, 5U, 16U, 33U, 130U}) {
    const NumberRows rows{5, length, length};
    for (const float bad : {nan, -nan, infinity, -infinity}) {
      for (std::size_t place = 0; place < 5 * length; ++place) {
        std::vector<float> numbers(5 * length, 1.0F);
        numbers[place] = bad;
        test::for_each_target([&] {
          std::vector<float> above(std::max<std::size_t>(length, 5), 0);
          std::vector<float> below = above;
          std::vector<float> magnitudes = above;
          kernels::reach_of_rows(numbers.data(), rows, {above.data(), below.data()});
          kernels::magnitudes_of_rows(numbers.data(), rows, magnitudes.data());
          for (std::size_t row = 0; row < 5; ++row) {
            const bool is_finite = row != place / length;
            if ((std::isfinite(above[row]) && std::isfinite(below[row])) != is_finite ||
                std::isfinite(magnitudes[row]) != is_finite) {
              FAIL("rows: ", bad, " at ", place);
            }
          }
          std::ranges::fill(above, 0.0F);
          std::ranges::fill(below, 0.0F);
          kernels::reach_of_columns(numbers.data(), rows, {above.data(), below.data()});
          for (std::size_t i = 0; i < length; ++i) {
            if ((std::isfinite(above[i]) && std::isfinite(below[i])) != (i != place % length)) {
              FAIL("columns: ", bad, " at ", place);
            }
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace quadrant
