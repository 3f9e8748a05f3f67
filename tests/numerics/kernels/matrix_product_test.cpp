#include "numerics/kernels/matrix_product.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

TEST_CASE("kernels: products of matrices are one product after the other, on all targets") {
  std::mt19937 random(1);
  std::normal_distribution<double> draw;
  const auto drawn = [&](std::size_t count) {
    std::vector<double> made(count);
    std::ranges::generate(made, [&] { return draw(random); });
    return made;
  };
  for (const std::size_t rows : {1U, 3U, 4U, 9U}) {
    for (const std::size_t inner : {0U, 1U, 127U, 128U, 129U}) {
      for (const std::size_t columns : {0U, 1U, 7U, 16U, 17U, 40U}) {
        const std::vector<double> a = drawn(rows * (inner + 2));
        const std::vector<double> b = drawn(std::max<std::size_t>(inner, 1) * (columns + 3));
        const std::vector<double> start = drawn(rows * (columns + 1));
        std::vector<double> expected = start;
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t k = 0; k < inner; ++k) {
            for (std::size_t c = 0; c < columns; ++c) {
              expected[r * (columns + 1) + c] += a[r * (inner + 2) + k] * b[k * (columns + 3) + c];
            }
          }
        }
        test::for_each_target([&] {
          std::vector<double> found = start;
          kernels::add_product({.a = a.data(),
                                .a_row = inner + 2,
                                .b = b.data(),
                                .b_row = columns + 3,
                                .out = found.data(),
                                .out_row = columns + 1,
                                .rows = rows,
                                .inner = inner,
                                .columns = columns});
          CHECK(found == expected);
        });
      }
    }
  }
}

TEST_CASE("kernels: the same of floats") {
  constexpr std::size_t rows = 6;
  std::mt19937 random(2);
  std::normal_distribution<float> draw;
  const auto drawn = [&](std::size_t count) {
    std::vector<float> made(count);
    std::ranges::generate(made, [&] { return draw(random); });
    return made;
  };
  for (const std::size_t inner : {1U, 129U}) {
    for (const std::size_t columns : {1U, 15U, 16U, 33U, 64U, 70U}) {
      const std::vector<float> a = drawn(rows * inner);
      const std::vector<float> b = drawn(inner * columns);
      std::vector<float> expected(rows * columns);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        for (std::size_t k = 0; k < inner; ++k) {
          expected[i] += a[i / columns * inner + k] * b[k * columns + i % columns];
        }
      }
      test::for_each_target([&] {
        std::vector<float> found(rows * columns);
        kernels::add_product({.a = a.data(),
                              .a_row = inner,
                              .b = b.data(),
                              .b_row = columns,
                              .out = found.data(),
                              .out_row = columns,
                              .rows = rows,
                              .inner = inner,
                              .columns = columns});
        CHECK(found == expected);
      });
    }
  }
}

}  // namespace
}  // namespace quadrant
