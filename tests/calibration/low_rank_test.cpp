// Factors of least error, against singular values that are found by rotating columns.
#include "calibration/low_rank.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model_text.hpp"
#include "tensor_values.hpp"

namespace quadrant::test {
namespace {

using Matrix = std::vector<double>;  // row by row

Matrix random_matrix(std::size_t rows, std::size_t columns, unsigned seed) {
  const auto numbers = normal_numbers(static_cast<std::int64_t>(rows * columns), seed);
  return {numbers.begin(), numbers.end()};
}

// A lower triangle, in which the last `missing` columns are zeros.
Matrix random_triangle(std::size_t n, unsigned seed, std::size_t missing = 0) {
  Matrix made = random_matrix(n, n, seed);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (j > i || j + missing >= n) made[i * n + j] = 0;
    }
  }
  return made;
}

// A^T B, of matrices with `rows` rows.
Matrix product(const Matrix& a, const Matrix& b, std::size_t rows) {
  const std::size_t n = a.size() / rows;
  const std::size_t m = b.size() / rows;
  Matrix made(n * m);
  for (std::size_t k = 0; k < rows; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) made[i * m + j] += a[k * n + i] * b[k * m + j];
    }
  }
  return made;
}

Matrix transposed(const Matrix& a, std::size_t rows) {
  const std::size_t columns = a.size() / rows;
  Matrix made(a.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) made[j * rows + i] = a[i * columns + j];
  }
  return made;
}

Matrix differences(const Matrix& a, const Matrix& b) {
  Matrix made;
  for (std::size_t i = 0; i < a.size(); ++i) made.push_back(a[i] - b[i]);
  return made;
}

// The largest first: Hestenes' one-sided rotations, until all columns are orthogonal.
std::vector<double> squared_singular_values(Matrix a, std::size_t rows) {
  const std::size_t n = a.size() / rows;
  const auto dot = [&](std::size_t p, std::size_t q) {
    double sum = 0;
    for (std::size_t k = 0; k < rows; ++k) sum += a[k * n + p] * a[k * n + q];
    return sum;
  };
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        const double angle = 0.5 * std::atan2(2 * dot(p, q), dot(p, p) - dot(q, q));
        for (std::size_t k = 0; k < rows; ++k) {
          const double x = a[k * n + p];
          const double y = a[k * n + q];
          a[k * n + p] = std::cos(angle) * x + std::sin(angle) * y;
          a[k * n + q] = std::cos(angle) * y - std::sin(angle) * x;
        }
      }
    }
  }
  std::vector<double> squares;
  for (std::size_t p = 0; p < n; ++p) squares.push_back(dot(p, p));
  std::ranges::sort(squares, std::greater<>());
  return squares;
}

}  // namespace

TEST_CASE("what is left is what the left-out singular values are, squared") {
  for (const auto& [rows, columns] : {std::pair{9, 5}, std::pair{5, 9}, std::pair{7, 7}}) {
    const auto m = static_cast<std::size_t>(rows);
    const auto n = static_cast<std::size_t>(columns);
    const Matrix matrix = random_matrix(m, n, 1);
    for (const bool is_weighted : {false, true}) {
      const Matrix root = is_weighted ? random_triangle(m, 2) : Matrix();
      const Matrix across = transposed(root, m);
      const Matrix moments = is_weighted ? product(across, across, m) : Matrix();
      const Matrix seen = is_weighted ? product(root, matrix, m) : matrix;
      const std::vector<double> squares = squared_singular_values(seen, m);
      for (std::size_t rank = 1; rank <= std::min(m, n); ++rank) {
        double left_out = 0;
        for (std::size_t i = rank; i < squares.size(); ++i) left_out += squares[i];
        const LowRankFactors found = value_of(low_rank_factors(matrix, n, root, rank));
        CHECK(found.rank == rank);
        CHECK(found.left.size() == m * rank);
        CHECK(found.right.size() == rank * n);
        const Matrix rest = differences(matrix, product_of(found));
        CHECK(weighted_squares(rest, n, moments) ==
              doctest::Approx(left_out).epsilon(1e-9).scale(squares[0]));
      }
    }
  }
}

TEST_CASE("what is outside of blocks may be left out") {
  constexpr std::size_t rows = 7;
  constexpr std::size_t columns = 9;
  const Matrix matrix = random_matrix(rows, columns, 11);
  for (const std::size_t block : {1U, 3U, 7U}) {
    Matrix root = random_triangle(rows, 12);
    Matrix narrow(rows * block);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < rows; ++j) {
        if (i / block != j / block) root[i * rows + j] = 0;
        if (i / block == j / block) narrow[i * block + j % block] = root[i * rows + j];
      }
    }
    const Matrix across = transposed(root, rows);
    const Matrix moments = product(across, across, rows);
    Matrix narrow_moments(rows * block);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t first = i - i % block;
      for (std::size_t j = first; j < std::min(first + block, rows); ++j) {
        narrow_moments[i * block + j - first] = moments[i * rows + j];
      }
    }
    const LowRankFactors wide = value_of(low_rank_factors(matrix, columns, root, 2));
    const LowRankFactors found = value_of(low_rank_factors(matrix, columns, narrow, 2));
    Matrix rest = matrix;
    subtract_product(rest, found);
    const Matrix wanted = differences(matrix, product_of(wide));
    for (std::size_t i = 0; i < rest.size(); ++i) {
      CHECK(rest[i] == doctest::Approx(wanted[i]).epsilon(1e-9).scale(1));
    }
    CHECK(weighted_squares(rest, columns, narrow_moments) ==
          doctest::Approx(weighted_squares(rest, columns, moments)));
  }
}

TEST_CASE("of full rank nothing is left, whatever the moments are") {
  for (const auto& [rows, columns] : {std::pair{8, 5}, std::pair{5, 8}}) {
    const auto m = static_cast<std::size_t>(rows);
    const auto n = static_cast<std::size_t>(columns);
    const Matrix matrix = random_matrix(m, n, 3);
    const LowRankFactors found =
        value_of(low_rank_factors(matrix, n, random_triangle(m, 4), std::min(m, n) + 3));
    CHECK(found.rank == std::min(m, n));
    for (const double each : differences(matrix, product_of(found))) {
      CHECK(std::fabs(each) < 1e-9);
    }
  }
}

TEST_CASE("moments that know few inputs: no worse for others, and exact for those") {
  constexpr std::size_t rows = 10;
  constexpr std::size_t columns = 12;
  constexpr std::size_t known = 3;
  const Matrix matrix = random_matrix(rows, columns, 5);
  const Matrix root = random_triangle(rows, 6, rows - known);
  const Matrix across = transposed(root, rows);
  const Matrix moments = product(across, across, rows);
  for (std::size_t rank = 1; rank <= known; ++rank) {
    const LowRankFactors found = value_of(low_rank_factors(matrix, columns, root, rank));
    const Matrix rest = differences(matrix, product_of(found));
    CHECK(weighted_squares(rest, columns, {}) < weighted_squares(matrix, columns, {}));
    CHECK(weighted_squares(rest, columns, moments) < weighted_squares(matrix, columns, moments));
    if (rank == known) CHECK(weighted_squares(rest, columns, moments) < 1e-12);
  }
}

TEST_CASE("a term's vectors have the same length, and zeros stay zeros") {
  const Matrix matrix = random_matrix(6, 4, 7);
  const LowRankFactors found = value_of(low_rank_factors(matrix, 4, {}, 3));
  for (std::size_t i = 0; i < 3; ++i) {
    double left = 0;
    double right = 0;
    for (std::size_t row = 0; row < 6; ++row) left += std::pow(found.left[row * 3 + i], 2);
    for (std::size_t column = 0; column < 4; ++column) {
      right += std::pow(found.right[i * 4 + column], 2);
    }
    CHECK(left == doctest::Approx(right));
  }
  const LowRankFactors none = value_of(low_rank_factors(Matrix(24), 4, {}, 2));
  CHECK(std::ranges::all_of(product_of(none), [](double each) { return each == 0; }));
  Matrix infinite = matrix;
  infinite[3] = INFINITY;
  CHECK_FALSE(low_rank_factors(infinite, 4, {}, 2));
}

}  // namespace quadrant::test
