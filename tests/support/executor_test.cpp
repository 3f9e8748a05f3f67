#include "quadrant/support/executor.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace quadrant;

TEST_CASE("the serial executor runs each iteration once and in order") {
  SerialExecutor executor;
  std::vector<std::size_t> seen;
  executor.parallel_for(5, [&](std::size_t i) { seen.push_back(i); });
  CHECK(seen == std::vector<std::size_t>{0, 1, 2, 3, 4});
  executor.parallel_for(0, [&](std::size_t) { seen.clear(); });
  CHECK(seen.size() == 5);
}

TEST_CASE("loops nest") {
  SerialExecutor executor;
  Executor& base = executor;
  int sum = 0;
  base.parallel_for(3, [&](std::size_t i) {
    base.parallel_for(2, [&](std::size_t j) { sum += static_cast<int>(10 * i + j); });
  });
  CHECK(sum == 0 + 1 + 10 + 11 + 20 + 21);
}
