#include "quadrant/adapters/tbb.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace quadrant {
namespace {

TEST_CASE("each iteration runs once, whatever the number of threads") {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    TbbExecutor executor(threads);
    CHECK(executor.thread_count() == threads);
    for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
      std::vector<std::atomic<int>> runs(count);
      executor.parallel_for(count, [&](std::size_t i) { ++runs[i]; });
      for (const auto& run : runs) CHECK(run == 1);
    }
  }
}

TEST_CASE("many short loops") {
  TbbExecutor executor(4);
  std::atomic<std::size_t> sum = 0;
  for (int round = 0; round < 2000; ++round) {
    executor.parallel_for(3, [&](std::size_t i) { sum += i; });
  }
  CHECK(sum == 2000 * 3);
}

TEST_CASE("a loop inside of a loop runs too") {
  TbbExecutor executor(3);
  std::atomic<int> runs = 0;
  executor.parallel_for(
      10, [&](std::size_t) { executor.parallel_for(10, [&](std::size_t) { ++runs; }); });
  CHECK(runs == 100);
}

TEST_CASE("a body may hold a lock while it runs a loop of its own") {
  TbbExecutor executor(4);
  std::mutex mutex;
  int runs = 0;
  executor.parallel_for(100, [&](std::size_t) {
    const std::lock_guard lock(mutex);
    std::atomic<int> inside = 0;
    executor.parallel_for(50, [&](std::size_t) { ++inside; });
    runs += inside;
  });
  CHECK(runs == 100 * 50);
}

TEST_CASE("no more threads than were asked for") {
  for (const std::size_t threads : {1U, 2U, 7U}) {
    TbbExecutor executor(threads);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    executor.parallel_for(500, [&](std::size_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    CHECK(!seen.empty());
    CHECK(seen.size() <= threads);
  }
}

TEST_CASE("what a body throws comes back, and the executor goes on") {
  for (const std::size_t threads : {1U, 4U}) {
    TbbExecutor executor(threads);
    const auto body = [](std::size_t i) {
      if (i == 5) throw std::runtime_error("five");
    };
    CHECK_THROWS_AS(executor.parallel_for(100, body), std::runtime_error);
    std::atomic<int> runs = 0;
    executor.parallel_for(100, [&](std::size_t) { ++runs; });
    CHECK(runs == 100);
  }
}

TEST_CASE("there is a largest number of threads, which is taken for any larger one") {
  TbbExecutor executor(std::numeric_limits<std::size_t>::max());
  CHECK(executor.thread_count() == 1024);
}

TEST_CASE("as many threads as the machine has") { CHECK(TbbExecutor(0).thread_count() >= 1); }

}  // namespace
}  // namespace quadrant
