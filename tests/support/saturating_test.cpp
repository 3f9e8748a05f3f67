#include "support/saturating.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace quadrant {
namespace {

// All pairs of counts of a type that is small enough, against sums and products in a wider one.
template <class T>
void check_all_pairs() {
  constexpr int most = std::numeric_limits<T>::max();
  int wrong = 0;
  for (int a = 0; a <= most; ++a) {
    for (int b = 0; b <= most; ++b) {
      const auto x = static_cast<T>(a);
      const auto y = static_cast<T>(b);
      wrong += saturating_add(x, y) != std::min(a + b, most);
      wrong += saturating_multiply(x, y) != std::min(a * b, most);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Sums and products are exact up to the largest number, and stay there") {
  check_all_pairs<std::uint8_t>();
  check_all_pairs<std::int8_t>();
}

TEST_CASE("Wide types saturate at their own largest number") {
  constexpr std::int64_t half = std::int64_t{1} << 62U;
  CHECK(saturating_multiply(half, 2) == INT64_MAX);
  CHECK(saturating_add(half, half) == INT64_MAX);
  CHECK(saturating_multiply(std::uint64_t{1} << 62U, 2) == std::uint64_t{1} << 63U);
  CHECK(saturating_multiply(std::uint64_t{1} << 62U, 4) == UINT64_MAX);
  CHECK(saturating_add(UINT64_MAX, 1) == UINT64_MAX);
}

}  // namespace
}  // namespace quadrant
