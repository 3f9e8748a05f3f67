#include "numerics/kernels/extremes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ir/float16.hpp"
#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

using kernels::NumberRows;

struct ExpectedReach {
  std::vector<float> above;
  std::vector<float> below;
};

template <class Number>
ExpectedReach expected_reach(const std::vector<Number>& numbers, const NumberRows& rows,
                             bool of_columns) {
  const std::size_t groups = of_columns ? rows.length : rows.count;
  ExpectedReach expected{std::vector<float>(groups, 0), std::vector<float>(groups, 0)};
  for (std::size_t row = 0; row < rows.count; ++row) {
    for (std::size_t i = 0; i < rows.length; ++i) {
      const std::size_t group = of_columns ? i : row;
      const float number = kernels::to_float(numbers[row * rows.stride + i]);
      expected.above[group] = std::max(expected.above[group], number);
      expected.below[group] = std::max(expected.below[group], -number);
    }
  }
  return expected;
}

std::vector<kernels::Float16> as_halves(const std::vector<float>& numbers) {
  std::vector<kernels::Float16> halves(numbers.size());
  std::ranges::transform(numbers, halves.begin(), [](float number) {
    return std::bit_cast<kernels::Float16>(round_to_float16(number));
  });
  return halves;
}

template <class Number>
void check_reach(const std::vector<Number>& numbers, const NumberRows& rows) {
  const ExpectedReach by_row = expected_reach(numbers, rows, false);
  const ExpectedReach by_column = expected_reach(numbers, rows, true);
  std::vector<float> magnitudes(rows.count);
  std::ranges::transform(by_row.above, by_row.below, magnitudes.begin(),
                         [](float a, float b) { return std::max(a, b); });
  test::for_each_target([&] {
    ExpectedReach found{std::vector<float>(rows.count, -1), std::vector<float>(rows.count, -1)};
    kernels::reach_of_rows(numbers.data(), rows, {found.above.data(), found.below.data()});
    CHECK(found.above == by_row.above);
    CHECK(found.below == by_row.below);
    std::vector<float> found_magnitudes(rows.count, -1);
    kernels::magnitudes_of_rows(numbers.data(), rows, found_magnitudes.data());
    CHECK(found_magnitudes == magnitudes);
    ExpectedReach columns{std::vector<float>(rows.length, 0), std::vector<float>(rows.length, 0)};
    kernels::reach_of_columns(numbers.data(), rows, {columns.above.data(), columns.below.data()});
    CHECK(columns.above == by_column.above);
    CHECK(columns.below == by_column.below);
  });
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
      check_reach(numbers, rows);
      check_reach(as_halves(numbers), rows);
    }
  }
}

template <class Number>
void check_not_finite(const std::vector<Number>& numbers, const NumberRows& rows,
                      std::size_t place) {
  test::for_each_target([&] {
    std::vector<float> above(std::max(rows.length, rows.count), 0);
    std::vector<float> below = above;
    std::vector<float> magnitudes = above;
    kernels::reach_of_rows(numbers.data(), rows, {above.data(), below.data()});
    kernels::magnitudes_of_rows(numbers.data(), rows, magnitudes.data());
    for (std::size_t row = 0; row < rows.count; ++row) {
      const bool is_finite = row != place / rows.length;
      if ((std::isfinite(above[row]) && std::isfinite(below[row])) != is_finite ||
          std::isfinite(magnitudes[row]) != is_finite) {
        FAIL("rows: at ", place);
      }
    }
    std::ranges::fill(above, 0.0F);
    std::ranges::fill(below, 0.0F);
    kernels::reach_of_columns(numbers.data(), rows, {above.data(), below.data()});
    for (std::size_t i = 0; i < rows.length; ++i) {
      if ((std::isfinite(above[i]) && std::isfinite(below[i])) != (i != place % rows.length)) {
        FAIL("columns: at ", place);
      }
    }
  });
}

TEST_CASE("kernels: what is not finite shows in the reach, wherever it is") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::size_t length : {1U, 5U, 16U, 33U, 130U}) {
    const NumberRows rows{5, length, length};
    for (const float bad : {nan, -nan, infinity, -infinity}) {
      CAPTURE(bad);
      for (std::size_t place = 0; place < 5 * length; ++place) {
        std::vector<float> numbers(5 * length, 1.0F);
        numbers[place] = bad;
        check_not_finite(numbers, rows, place);
        check_not_finite(as_halves(numbers), rows, place);
      }
    }
  }
}

}  // namespace
}  // namespace quadrant
