#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "quadrant/report/summary.hpp"

using namespace quadrant;

namespace {

std::uint64_t total(const ValueHistogram::Bins& bins) {
  return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("each bin counts its own values") {
  // i + 0.5 for i in 0..63, i + 1 of each, with 0 and 64 to set the range.
  std::vector<float> values{0, 64};
  for (int i = 0; i < 64; ++i)
    values.insert(values.end(), static_cast<std::size_t>(i) + 1, static_cast<float>(i) + 0.5F);
  const ValueHistogram histogram = count_values(values, std::nullopt);
  CHECK(histogram.low == 0);
  CHECK(histogram.high == 64);
  CHECK_FALSE(histogram.after.has_value());
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(histogram.before[i] == i + 1 + (i == 0 || i == 63 ? 1 : 0));
  }
}

TEST_CASE("both sides share the range, and lose no value") {
  const std::vector<float> before{-1, 0.25F, 0.5F};
  const std::vector<float> after{-2, 0, 3};
  const ValueHistogram histogram = count_values(before, after);
  CHECK(histogram.low == -2);
  CHECK(histogram.high == 3);
  CHECK(total(histogram.before) == 3);
  CHECK(total(*histogram.after) == 3);
  CHECK((*histogram.after)[0] == 1);
  CHECK((*histogram.after)[63] == 1);
}

TEST_CASE("what is not finite is counted apart") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{std::nanf(""), infinity, -infinity, 2};
  const ValueHistogram histogram = count_values(values, std::nullopt);
  CHECK(histogram.non_finite == 3);
  CHECK(total(histogram.before) == 1);
  CHECK(histogram.low == 2);
  CHECK(total(count_values(std::vector<float>{infinity}, std::nullopt).before) == 0);
  CHECK(total(count_values(std::vector<float>{}, std::nullopt).before) == 0);
}

TEST_CASE("the widest range there is does not overflow") {
  constexpr float most = std::numeric_limits<float>::max();
  const ValueHistogram histogram = count_values(std::vector<float>{-most, most}, std::nullopt);
  CHECK(histogram.before[0] == 1);
  CHECK(histogram.before[63] == 1);
}
