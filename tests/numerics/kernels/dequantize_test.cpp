#include "numerics/kernels/dequantize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "numerics/affine.hpp"
#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

using kernels::Rows;

template <class Code>
void check_numbers(std::size_t count, std::size_t length, std::mt19937& random) {
  const Rows rows{count, length, length + random() % 3, length + random() % 3};
  const std::size_t groups = std::max(count, length);
  std::vector<float> scales(groups);
  std::vector<std::int32_t> zero_points(groups);
  for (float& scale : scales) scale = static_cast<float>(random() % 1000) * 0.013F - 6;
  for (std::int32_t& zero_point : zero_points)
    zero_point = static_cast<std::int32_t>(random() % 128);
  std::vector<Code> codes(count * rows.code_stride);
  for (Code& code : codes) code = static_cast<Code>(random());
  for (const bool are_columns : {false, true}) {
    for (const bool has_zero_points : {false, true}) {
      std::vector<float> expected(count * rows.real_stride, 42);
      for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t i = 0; i < length; ++i) {
          const std::size_t group = are_columns ? i : row;
          expected[row * rows.real_stride + i] =
              dequantize_value(int{codes[row * rows.code_stride + i]}, scales[group],
                               has_zero_points ? zero_points[group] : 5);
        }
      }
      test::for_each_target([&] {
        std::vector<float> real(count * rows.real_stride, 42);
        const kernels::Affine by{.scales = scales.data(),
                                 .zero_points = has_zero_points ? zero_points.data() : nullptr,
                                 .zero_point = 5};
        if (are_columns) {
          kernels::dequantize_columns(codes.data(), real.data(), rows, by);
        } else {
          kernels::dequantize_rows(codes.data(), real.data(), rows, by);
        }
        const bool equal = real == expected;
        CHECK(equal);
      });
    }
  }
}

TEST_CASE("kernels: real numbers are those of dequantize_value, for all targets") {
  std::mt19937 random(1);
  for (const std::size_t length : {1U, 3U, 9U, 15U, 16U, 17U, 40U}) {
    for (const std::size_t count : {1U, 2U, 7U}) {
      check_numbers<std::int8_t>(count, length, random);
      check_numbers<std::uint8_t>(count, length, random);
      check_numbers<std::int16_t>(count, length, random);
      check_numbers<std::uint16_t>(count, length, random);
    }
  }
}

}  // namespace
}  // namespace quadrant
