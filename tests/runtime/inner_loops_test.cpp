// The loops for this processor and those for every processor, against sums as they are written
// down.
#include "runtime/inner_loops.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

using namespace quadrant;

namespace {

// Small whole numbers: every sum of their products is exact, whatever its order.
template <class T>
std::vector<T> whole_numbers(std::int64_t count) {
  static std::mt19937 random(1);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = static_cast<T>(static_cast<int>(random() % 17) - 8);
  return numbers;
}

// A matrix whose rows in memory have a gap behind them.
template <class T>
struct Matrix {
  MatrixView<const T> view;
  std::vector<T> elements;

  Matrix(std::int64_t rows, std::int64_t columns, bool transposed)
      : view{nullptr, rows, columns, (transposed ? rows : columns) + 3, transposed},
        elements(whole_numbers<T>((transposed ? columns : rows) * view.stride)) {
    view.data = elements.data();
  }
  [[nodiscard]] T at(std::int64_t row, std::int64_t column) const {
    return view.data[view.transposed ? column * view.stride + row : row * view.stride + column];
  }
};

template <class T>
void check_product(const InnerLoops<T>& loops, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns) {
  CAPTURE(rows);
  CAPTURE(depth);
  CAPTURE(columns);
  for (const int transposed : {0, 1, 2, 3}) {
    CAPTURE(transposed);
    const Matrix<T> a(rows, depth, transposed % 2 == 1);
    const Matrix<T> b(depth, columns, transposed / 2 == 1);
    const std::int64_t stride = columns + 2;
    const std::vector<T> before = whole_numbers<T>(rows * stride);
    std::vector<T> after = before;
    loops.add_product(a.view, b.view, T{2}, {after.data(), rows, columns, stride, false});

    std::vector<T> wanted = before;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        T sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) sum += a.at(i, k) * b.at(k, j);
        wanted[static_cast<std::size_t>(i * stride + j)] += 2 * sum;
      }
    }
    CHECK(after == wanted);  // also what lies between the rows
  }
}

template <class T>
void check_products(const InnerLoops<T>& loops) {
  for (const std::int64_t size : {1, 2, 5, 8, 17}) {
    check_product(loops, size, 3, 4);
    check_product(loops, 3, size, 4);
    check_product(loops, 3, 4, size);
  }
  check_product(loops, 1, 70, 90);  // a row
  check_product(loops, 90, 70, 1);  // a column
  check_product(loops, 70, 600, 130);
}

template <class T>
void check_weighted_sum(const InnerLoops<T>& loops) {
  const std::vector<T> source = whole_numbers<T>(1000);
  const std::vector<std::int64_t> offsets{0, 17, 600, 3};
  const std::vector<T> weights{1, 2, -3, 100};
  for (const std::int64_t length : {1, 63, 64, 65, 200}) {
    CAPTURE(length);
    std::vector<T> out(256, T{7});
    loops.weighted_sum(source.data(), offsets.data(), weights.data(), 4, length, out.data());
    for (std::int64_t i = 0; i < length; ++i) {
      CAPTURE(i);
      T sum = 0;
      for (std::size_t t = 0; t < weights.size(); ++t) {
        sum += weights[t] * source[static_cast<std::size_t>(offsets[t] + i)];
      }
      REQUIRE(out[static_cast<std::size_t>(i)] == sum);
    }
    const std::int64_t multiple = (length + 63) / 64 * 64;
    for (std::int64_t i = multiple; i < 256; ++i) REQUIRE(out[static_cast<std::size_t>(i)] == 7);
  }
}

template <class T>
void check_sigmoid(const InnerLoops<T>& loops, double tolerance) {
  std::vector<T> x;
  for (int i = -1000; i <= 1000; ++i) x.push_back(static_cast<T>(i) / 10);
  x.push_back(std::numeric_limits<T>::infinity());
  x.push_back(-std::numeric_limits<T>::infinity());
  for (int i = 0; i < 9; ++i) x.push_back(std::numeric_limits<T>::quiet_NaN());
  std::vector<T> y(x.size());
  loops.sigmoid(x.data(), static_cast<std::int64_t>(x.size()), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    const long double wanted = 1 / (1 + std::exp(-static_cast<long double>(x[i])));
    if (std::isnan(x[i])) {
      CHECK(std::isnan(y[i]));
    } else {
      CHECK(std::abs(y[i] - wanted) <= tolerance * wanted + std::numeric_limits<float>::min());
    }
  }
}

}  // namespace

TEST_CASE("products of matrices") {
  SUBCASE("float, any processor") { check_products(baseline::float_loops); }
  SUBCASE("double, any processor") { check_products(baseline::double_loops); }
  SUBCASE("float, this processor") { check_products(inner_loops<float>()); }
  SUBCASE("double, this processor") { check_products(inner_loops<double>()); }
}

TEST_CASE("weighted sums of shifted elements") {
  SUBCASE("float, any processor") { check_weighted_sum(baseline::float_loops); }
  SUBCASE("double, any processor") { check_weighted_sum(baseline::double_loops); }
  SUBCASE("float, this processor") { check_weighted_sum(inner_loops<float>()); }
  SUBCASE("double, this processor") { check_weighted_sum(inner_loops<double>()); }
}

TEST_CASE("sigmoids") {
  SUBCASE("float, any processor") { check_sigmoid(baseline::float_loops, 5e-7); }
  SUBCASE("double, any processor") { check_sigmoid(baseline::double_loops, 1e-15); }
  SUBCASE("float, this processor") { check_sigmoid(inner_loops<float>(), 5e-7); }
  SUBCASE("double, this processor") { check_sigmoid(inner_loops<double>(), 1e-15); }
}
