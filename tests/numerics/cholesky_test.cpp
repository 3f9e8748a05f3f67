#include "numerics/cholesky.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "numerics/helpers.hpp"

using namespace quadrant;

TEST_CASE("a factor times its transpose is the matrix") {
  std::mt19937 random(1);
  std::normal_distribution<double> draw;
  for (const std::size_t n : {1U, 2U, 63U, 64U, 65U, 150U}) {
    CAPTURE(n);
    std::vector<double> half(n * n);
    std::ranges::generate(half, [&] { return draw(random); });
    std::vector<double> matrix(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < n; ++k) matrix[i * n + j] += half[i * n + k] * half[j * n + k];
      }
      matrix[i * n + i] += 1;
    }
    std::vector<double> factor = matrix;
    SerialExecutor serial;
    factorize(factor, n, 1e-9, serial);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k <= j; ++k) sum += factor[i * n + k] * factor[j * n + k];
        largest = std::max(largest, std::abs(sum - matrix[i * n + j]));
      }
    }
    CHECK(largest < 1e-9 * static_cast<double>(n));
    std::vector<double> again = matrix;
    test::TwoThreads threads;
    factorize(again, n, 1e-9, threads);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) CHECK(again[i * n + j] == factor[i * n + j]);
    }
  }
}

TEST_CASE("what has no inverse gets the least pivot") {
  std::vector<double> matrix{1, 1, 1, 1};
  SerialExecutor serial;
  factorize(matrix, 2, 1e-4, serial);
  CHECK(matrix[0] == 1);
  CHECK(matrix[2] == 1);
  CHECK(matrix[3] == doctest::Approx(1e-2));
}
