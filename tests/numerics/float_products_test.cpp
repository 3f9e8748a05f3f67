#include "numerics/float_products.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace quadrant;

namespace {

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  std::vector<float> made(count);
  std::ranges::generate(made, [&] { return draw(random); });
  return made;
}

}  // namespace

TEST_CASE("long products are as exact as short ones") {
  constexpr std::size_t rows = 3;
  constexpr std::size_t columns = 5;
  for (const std::size_t inner : {0U, 1U, 256U, 100000U}) {
    const std::vector<float> a = drawn(rows * inner, 1);
    const std::vector<float> b = drawn(inner * columns, 2);
    std::vector<double> found(rows * columns, 1.0);
    add_long_product({.a = a.data(),
                      .a_row = inner,
                      .b = b.data(),
                      .b_row = columns,
                      .rows = rows,
                      .inner = inner,
                      .columns = columns},
                     found.data());
    for (std::size_t i = 0; i < found.size(); ++i) {
      double sum = 1;
      double magnitude = 1;
      for (std::size_t k = 0; k < inner; ++k) {
        const double product = static_cast<double>(a[i / columns * inner + k]) *
                               static_cast<double>(b[k * columns + i % columns]);
        sum += product;
        magnitude += product * product;
      }
      CHECK(std::abs(found[i] - sum) < 2e-6 * std::sqrt(magnitude));
    }
  }
}

TEST_CASE("quadratic forms of symmetric matrices, which are not looked at above the diagonal") {
  for (const std::size_t n : {1U, 63U, 64U, 65U, 300U}) {
    for (const std::size_t rows : {1U, 5U, 64U}) {
      const std::vector<float> half = drawn(n * n, 3);
      const std::vector<float> x = drawn(n * rows, 4);
      std::vector<float> matrix(n * n);
      std::vector<double> expected(rows);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          matrix[i * n + j] = half[std::max(i, j) * n + std::min(i, j)];
          for (std::size_t row = 0; row < rows; ++row) {
            expected[row] += static_cast<double>(x[i * rows + row]) *
                             static_cast<double>(matrix[i * n + j]) *
                             static_cast<double>(x[j * rows + row]);
          }
          if (j >= seen_of_row(i, n)) matrix[i * n + j] = std::numeric_limits<float>::quiet_NaN();
        }
      }
      const std::vector<double> found = quadratic_forms(matrix, n, x, rows);
      for (std::size_t row = 0; row < rows; ++row) {
        CHECK(std::abs(found[row] - expected[row]) < 1e-6 * static_cast<double>(n));
      }
    }
  }
}

TEST_CASE("numbers in units of a power of two near the largest are at most 2") {
  for (const double magnitude : {1e-40, 0.75, 1.0, 3e38}) {
    const double unit = power_of_two_near(magnitude);
    CHECK(magnitude / unit >= 1);
    CHECK(magnitude / unit < 2);
    CHECK(std::ldexp(1.0, std::ilogb(unit)) == unit);
  }
  CHECK(power_of_two_near(0) == 1);
}
