#include "cli/thread_executor.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace quadrant::cli {
namespace {

TEST_CASE("each iteration runs once, whatever the number of threads") {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ThreadExecutor executor(threads);
    CHECK(executor.thread_count() == threads);
    for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
      std::vector<std::atomic<int>> runs(count);
      executor.parallel_for(count, [&](std::size_t i) { ++runs[i]; });
      for (const auto& run : runs) CHECK(run == 1);
    }
  }
}

TEST_CASE("many short loops") {
  ThreadExecutor executor(4);
  std::atomic<std::size_t> sum = 0;
  for (int round = 0; round < 2000; ++round) {
    executor.parallel_for(3, [&](std::size_t i) { sum += i; });
  }
  CHECK(sum == 2000 * 3);
}

TEST_CASE("a loop inside of a loop runs too") {
  ThreadExecutor executor(3);
  std::atomic<int> runs = 0;
  executor.parallel_for(
      10, [&](std::size_t) { executor.parallel_for(10, [&](std::size_t) { ++runs; }); });
  CHECK(runs == 100);
}

TEST_CASE("what a body throws comes back, and the executor goes on") {
  for (const std::size_t threads : {1U, 4U}) {
    ThreadExecutor executor(threads);
    const auto body = [](std::size_t i) {
      if (i == 5) throw std::runtime_error("five");
    };
    CHECK_THROWS_AS(executor.parallel_for(100, body), std::runtime_error);
    std::atomic<int> runs = 0;
    executor.parallel_for(100, [&](std::size_t) { ++runs; });
    CHECK(runs == 100);
  }
}

TEST_CASE("as many threads as the machine has") { CHECK(ThreadExecutor(0).thread_count() >= 1); }

}  // namespace
}  // namespace quadrant::cli
