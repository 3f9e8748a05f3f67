// The table that runtime/kernels.cpp puts together of those in runtime/ops.
#include "runtime/kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>

#include "runtime/kernel_tables.hpp"

namespace quadrant::test {
namespace {

TEST_CASE("kernels are sorted by kind, and none is there twice") {
  const auto kernels = builtin_kernels();
  REQUIRE(!kernels.empty());
  CHECK(std::ranges::adjacent_find(kernels, std::ranges::greater_equal(), &KernelEntry::kind) ==
        kernels.end());
  std::size_t in_tables = 0;
  for (const auto table : interpreted::kernels::tables) in_tables += table().size();
  CHECK(kernels.size() == in_tables);
  CHECK(std::ranges::find(kernels, nullptr, &KernelEntry::kernel) == kernels.end());
}

}  // namespace
}  // namespace quadrant::test
