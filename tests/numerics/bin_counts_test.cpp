#include <doctest/doctest.h>

#include <random>

#include "quadrant/numerics/statistics.hpp"

using namespace quadrant;

namespace {

constexpr std::uint64_t beyond_32_bits = std::uint64_t{1} << 40U;

// What a plain array of 64-bit counters takes.
constexpr std::size_t plain = BinCounts::bins * sizeof(std::uint64_t);

}  // namespace

TEST_CASE("bin counts: as an array counts, in any order") {
  std::mt19937_64 random(7);
  for (const std::uint64_t most :
       {std::uint64_t{1}, std::uint64_t{200}, std::uint64_t{70000}, beyond_32_bits}) {
    CAPTURE(most);
    std::vector<std::uint64_t> expected(BinCounts::bins);
    std::vector<std::pair<std::size_t, std::uint64_t>> added;
    for (int i = 0; i < 3000; ++i) {
      added.emplace_back(random() % BinCounts::bins / (i % 3 == 0 ? 1 : 16), random() % (most + 1));
      expected[added.back().first] += added.back().second;
    }
    BinCounts forwards;
    for (const auto& [bin, count] : added) forwards.add(bin, count);
    CHECK(forwards.all() == expected);
    BinCounts backwards;
    for (std::size_t i = added.size(); i-- > 0;) backwards.add(added[i].first, added[i].second);
    CHECK(backwards == forwards);

    BinCounts doubled = forwards;
    doubled.add(expected);
    BinCounts at_once;
    at_once.add(expected);
    CHECK(at_once == forwards);
    at_once.add(expected);
    CHECK(at_once == doubled);
    for (std::uint64_t& count : expected) count *= 2;
    CHECK(doubled.all() == expected);
  }
}

TEST_CASE("bin counts: bins become parts of larger ones") {
  BinCounts counts;
  std::vector<std::uint64_t> expected(BinCounts::bins);
  for (std::size_t bin = 0; bin < BinCounts::bins; bin += 3) {
    counts.add(bin, bin % 300);
    expected[bin / 8] += bin % 300;
  }
  counts.coarsen(3);
  CHECK(counts.all() == expected);
  BinCounts fresh;
  fresh.add(expected);
  CHECK(counts == fresh);
}

TEST_CASE("bin counts: memory follows what was counted") {
  BinCounts counts;
  CHECK(counts.memory() == 0);
  counts.add(5, 0);
  CHECK(counts.is_empty());
  counts.add(5, 1);
  CHECK(counts.memory() < 2048);  // of 65,536 bytes
  counts.add(8000, 1000);
  CHECK(counts.memory() < 3072);
  for (std::size_t bin = 0; bin < BinCounts::bins; ++bin) counts.add(bin, 255);
  CHECK(counts.memory() < plain / 6);
  for (std::size_t bin = 0; bin < BinCounts::bins; ++bin) counts.add(bin, 60000);
  CHECK(counts.memory() < plain / 3);
  for (std::size_t bin = 0; bin < BinCounts::bins; ++bin) counts.add(bin, beyond_32_bits);
  CHECK(counts.memory() < plain + 2048);
}
