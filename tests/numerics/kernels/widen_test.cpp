#include "numerics/kernels/widen.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "ir/float16.hpp"
#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

std::vector<std::uint16_t> every_pattern() {
  std::vector<std::uint16_t> patterns(std::size_t{1} << 16);
  std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
  return patterns;
}

TEST_CASE("kernels: all numbers of 16 bits are widened as one of them is") {
  const std::vector<std::uint16_t> patterns = every_pattern();
  test::for_each_target([&] {
    std::vector<float> from_float16(patterns.size());
    std::vector<float> from_bfloat16(patterns.size());
    kernels::widen_float16(std::as_bytes(std::span(patterns)).data(), patterns.size(),
                           from_float16.data());
    kernels::widen_bfloat16(std::as_bytes(std::span(patterns)).data(), patterns.size(),
                            from_bfloat16.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const auto same = [](float a, float b) {
        return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
      };
      if (!same(from_float16[i], widen_float16(patterns[i]))) ++wrong;
      if (!same(from_bfloat16[i], widen_bfloat16(patterns[i]))) ++wrong;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("kernels: any count is widened, from any place, and nothing else is written") {
  // Ones, from the second byte on.
  std::vector<std::byte> halves(141);
  for (std::size_t i = 2; i < halves.size(); i += 2) halves[i] = std::byte{0x3c};
  test::for_each_target([&] {
    for (std::size_t begin = 0; begin < 3; ++begin) {
      for (std::size_t count = 0; count < 66; ++count) {
        std::vector<float> wide(count + 1, 7);
        std::vector<float> expected(count, 1);
        expected.push_back(7);
        kernels::widen_float16(halves.data() + 1 + 2 * begin, count, wide.data());
        CHECK(wide == expected);
      }
    }
  });
}

}  // namespace
}  // namespace quadrant
