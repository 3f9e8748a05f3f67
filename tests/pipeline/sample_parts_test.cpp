#include "pipeline/sample_parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace quadrant;

TEST_CASE("parts of samples: every sample is in one, halves judge each other, a quarter is apart") {
  for (std::size_t count = 2; count < 40; ++count) {
    CAPTURE(count);
    const SampleParts parts = part_samples(count);
    REQUIRE(parts.folds.size() == 2);
    CHECK(parts.folds[0].fitted == parts.folds[1].judged);
    CHECK(parts.folds[1].fitted == parts.folds[0].judged);
    std::vector<std::size_t> all = parts.folds[0].fitted;
    all.insert(all.end(), parts.folds[0].judged.begin(), parts.folds[0].judged.end());
    all.insert(all.end(), parts.held_back.begin(), parts.held_back.end());
    std::ranges::sort(all);
    CHECK(all == all_of(count));
    CHECK(parts.held_back.size() == count / 4);
    const auto size = [&](std::size_t fold) { return parts.folds[fold].fitted.size(); };
    CHECK(std::max(size(0), size(1)) - std::min(size(0), size(1)) <= 1);
  }
}

TEST_CASE("parts of samples: one is for all") {
  const SampleParts parts = part_samples(1);
  REQUIRE(parts.folds.size() == 1);
  CHECK(parts.folds[0].fitted == parts.folds[0].judged);
  CHECK(parts.held_back.empty());
}

TEST_CASE("labels go with their samples") {
  CHECK(labels_of({1, 2, 3, 4, 5, 6}, 3, {0, 2}) == std::vector<std::int64_t>{1, 2, 5, 6});
  CHECK(!labels_of({1, 2, 3}, 2, {0}));
}
