#include "numerics/kernels/transpose.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

TEST_CASE("kernels: a transposed matrix has each byte in its place, and no other is written") {
  std::mt19937 random(3);
  for (const std::size_t rows : {0U, 1U, 3U, 15U, 16U, 17U, 33U, 80U, 130U}) {
    for (const std::size_t columns : {0U, 1U, 2U, 15U, 16U, 31U, 48U, 65U}) {
      const std::size_t from_stride = columns + 3;
      const std::size_t to_stride = rows + 5;
      std::vector<std::byte> from(rows * from_stride);
      for (std::byte& byte : from) byte = static_cast<std::byte>(random() & 0xffU);
      std::vector<std::byte> expected(columns * to_stride, std::byte{0xAA});
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
          expected[column * to_stride + row] = from[row * from_stride + column];
        }
      }
      test::for_each_target([&] {
        std::vector<std::byte> to(expected.size(), std::byte{0xAA});
        kernels::transpose_bytes(from.data(), from_stride, rows, columns, to.data(), to_stride);
        CHECK(to == expected);
      });
    }
  }
}

}  // namespace
}  // namespace quadrant
