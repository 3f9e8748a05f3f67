#include "numerics/kernels/quantize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "ir/float16.hpp"
#include "numerics/affine.hpp"
#include "numerics/kernels/targets.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using kernels::Affine;
using kernels::Rows;

// Any bits at all: NaN, infinities, subnormal numbers.
std::vector<float> any_numbers(std::size_t count, std::mt19937& random) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return numbers;
}

// Those that are finite as float16, and ones.
std::vector<kernels::Float16> finite_halves(const std::vector<float>& numbers) {
  std::vector<kernels::Float16> halves(numbers.size());
  std::ranges::transform(numbers, halves.begin(), [](float number) {
    const bool is_finite = std::abs(number) <= largest_float16;
    return std::bit_cast<kernels::Float16>(round_to_float16(is_finite ? number : 1.0F));
  });
  return halves;
}

// Near multiples of half a scale, where codes meet.
void make_close(float& number, float scale, std::mt19937& random) {
  const float halves = static_cast<float>(random() % 1024) - 512;
  number = halves / 2 * scale;
  for (auto steps = static_cast<int>(random() % 4); steps > 0; --steps) {
    number = std::nextafter(number, random() % 2 == 0 ? 1e38F : -1e38F);
  }
}

float any_scale(std::mt19937& random) {
  for (;;) {
    const auto bits = static_cast<std::uint32_t>(random());
    // Half of them ordinary ones.
    const float scale = random() % 2 == 0
                            ? std::bit_cast<float>(bits)
                            : std::bit_cast<float>((bits & 0x807fffffU) | 0x3c000000U);
    if (std::isfinite(scale) && scale != 0) return scale;
  }
}

template <class Code>
void check_codes(bool are_columns, std::size_t count, std::size_t length, std::mt19937& random) {
  constexpr std::int64_t all = std::int64_t{1} << (8 * sizeof(Code));
  const std::int64_t lowest = std::is_signed_v<Code> ? -all / 2 : 0;
  const std::int64_t highest = lowest + all - 1;
  const std::size_t gap = random() % 3;
  const std::size_t stride = length + gap;
  const std::size_t groups = are_columns ? length : count;
  const auto group_of = [&](std::size_t row, std::size_t i) { return are_columns ? i : row; };
  std::vector<float> scales(groups);
  std::vector<std::int32_t> zero_points(groups);
  for (float& scale : scales) scale = any_scale(random);
  const auto range = static_cast<std::uint32_t>(highest - lowest);  // inside the codes in use
  for (std::int32_t& zero_point : zero_points) {
    zero_point =
        static_cast<std::int32_t>(lowest + 1 + static_cast<std::int64_t>(random() % range));
  }
  std::vector<float> real = any_numbers(count * stride, random);
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t i = 0; i < length; ++i) {
      float& number = real[row * stride + i];
      if (random() % 4 != 0) make_close(number, scales[group_of(row, i)], random);
    }
  }
  const bool has_zero_points = random() % 2 == 0;
  const Affine by{.scales = scales.data(),
                  .zero_points = has_zero_points ? zero_points.data() : nullptr,
                  .zero_point = zero_points.empty() ? 0 : zero_points[0],
                  .min = static_cast<std::int32_t>(lowest + 1),
                  .max = static_cast<std::int32_t>(highest)};
  const Rows rows{count, length, stride, stride, random() % 100};

  // The one-element function is what is documented; what lies between rows is left alone.
  const auto check_numbers = [&](const auto& numbers) {
    std::vector<Code> expected(count * stride, Code{42});
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t group = group_of(row, i);
        const std::int32_t zero_point = has_zero_points ? zero_points[group] : by.zero_point;
        const float number = kernels::to_float(numbers[row * stride + i]);
        expected[row * stride + i] =
            static_cast<Code>(quantize_value(number, scales[group], zero_point, by.min, by.max));
      }
    }
    test::for_each_target([&] {
      std::vector<Code> codes(count * stride, Code{42});
      if (are_columns) {
        kernels::quantize_columns(numbers.data(), codes.data(), rows, by);
      } else {
        kernels::quantize_rows(numbers.data(), codes.data(), rows, by);
      }
      const bool equal = codes == expected;
      CHECK(equal);
    });
  };
  check_numbers(real);
  check_numbers(finite_halves(real));
}

TEST_CASE("kernels: codes are those of quantize_value, for all targets, lengths, types and bits") {
  std::mt19937 random(1);
  for (const bool are_columns : {false, true}) {
    CAPTURE(are_columns);
    for (const std::size_t length :
         {1U, 2U, 3U, 7U, 9U, 15U, 16U, 17U, 25U, 31U, 32U, 100U, 600U}) {
      for (const std::size_t count : {1U, 2U, 5U, 40U}) {
        CAPTURE(length);
        CAPTURE(count);
        check_codes<std::int8_t>(are_columns, count, length, random);
        check_codes<std::uint8_t>(are_columns, count, length, random);
        check_codes<std::int16_t>(are_columns, count, length, random);
        check_codes<std::uint16_t>(are_columns, count, length, random);
      }
    }
  }
}

// Where two codes of a byte meet, all numbers within 3 units in the last place; of the 2^23
// mantissas that scales have, every 997th.
TEST_CASE("kernels: quotients round as division does, next to every tie of 8 bits") {
  constexpr int ties = 255;
  constexpr int beside = 3;
  test::Turns turns;
  std::vector<float> real;
  std::vector<std::uint8_t> expected;
  std::vector<std::uint8_t> codes;
  for (std::uint32_t mantissa = 0; mantissa < (1U << 23U); mantissa += 997) {
    if (!turns.next()) continue;
    const auto scale = std::bit_cast<float>(0x3f800000U + mantissa);
    real.clear();
    expected.clear();
    for (int tie = 0; tie < ties; ++tie) {
      const auto bits = std::bit_cast<std::int32_t>(scale * (static_cast<float>(tie) + 0.5F));
      for (int step = -beside; step <= beside; ++step) {
        real.push_back(std::bit_cast<float>(bits + step));
        expected.push_back(
            static_cast<std::uint8_t>(std::nearbyint(std::fmin(real.back() / scale, 255.0F))));
      }
    }
    codes.resize(real.size());
    kernels::quantize_rows(real.data(), codes.data(), Rows::packed(1, real.size()),
                           {.scales = &scale, .min = 0, .max = 255});
    if (codes != expected) FAIL("other codes at scale ", scale);
  }
}

}  // namespace
}  // namespace quadrant
