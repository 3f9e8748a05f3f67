#include "calibration/sample_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

using namespace quadrant;

namespace {

// From the last to the first: as unlike the order of samples as can be.
class BackwardExecutor final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    for (std::size_t i = count; i > 0; --i) body(i - 1);
  }
};

class Progress final : public Sink {
 public:
  void progress(std::string_view, std::uint64_t done, std::uint64_t total) override {
    CHECK(total == 20);
    heard.push_back(done);
  }

  std::vector<std::uint64_t> heard;
};

}  // namespace

TEST_CASE("samples are settled in order, whatever order they are computed in") {
  BackwardExecutor executor;
  std::array<std::size_t, sample_slots> slots{};
  std::vector<std::size_t> settled;
  const auto outcome = for_each_sample(
      100, {.executor = &executor},
      [&](std::size_t sample, std::size_t slot) -> Expected<void> {
        slots[slot] = sample;
        return {};
      },
      [&](std::size_t sample, std::size_t slot) -> Expected<void> {
        CHECK(slots[slot] == sample);
        settled.push_back(sample);
        return {};
      });
  REQUIRE(outcome);
  std::vector<std::size_t> all(100);
  std::iota(all.begin(), all.end(), std::size_t{0});
  CHECK(settled == all);
}

TEST_CASE("the first error in the order of samples ends the loop") {
  BackwardExecutor executor;
  std::size_t settled = 0;
  const auto outcome = for_each_sample(
      100, {.executor = &executor},
      [&](std::size_t sample, std::size_t) -> Expected<void> {
        if (sample == 20 || sample == 25) return fail(ErrorCode::io, std::to_string(sample));
        return {};
      },
      [&](std::size_t, std::size_t) -> Expected<void> {
        ++settled;
        return {};
      });
  REQUIRE(!outcome);
  CHECK(outcome.error().message == "20");
  CHECK(settled == 20);
}

TEST_CASE("progress is heard of sample by sample") {
  Progress sink;
  const auto nothing = [](std::size_t, std::size_t) { return Expected<void>(); };
  REQUIRE(for_each_sample(20, {.sink = &sink, .task = "test"}, nothing, nothing));
  std::ranges::sort(sink.heard);
  const auto again = std::ranges::unique(sink.heard);
  sink.heard.erase(again.begin(), again.end());
  CHECK(sink.heard.size() == 20);
}
