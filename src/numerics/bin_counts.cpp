#include <algorithm>
#include <limits>
#include <utility>

#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

void BinCounts::make_room(Page& page, std::uint64_t largest) {
  const auto widen = [&]<class Counter>(std::vector<Counter> wide) {
    wide.resize(page_bins);
    std::visit([&](const auto& narrow) { std::ranges::copy(narrow, wide.begin()); }, page);
    page = std::move(wide);
  };
  const bool has_room = std::visit(
      [&]<class Counter>(const std::vector<Counter>& counters) {
        return !counters.empty() && largest <= std::numeric_limits<Counter>::max();
      },
      page);
  if (has_room) return;
  if (largest <= UINT8_MAX) {
    widen(std::vector<std::uint8_t>());
  } else if (largest <= UINT16_MAX) {
    widen(std::vector<std::uint16_t>());
  } else if (largest <= UINT32_MAX) {
    widen(std::vector<std::uint32_t>());
  } else {
    widen(std::vector<std::uint64_t>());
  }
}

void BinCounts::add(std::size_t bin, std::uint64_t count) {
  QUADRANT_ASSERT(bin < bins);
  if (count == 0) return;
  pages_.resize(bins / page_bins);
  Page& page = pages_[bin / page_bins];
  const std::size_t at = bin % page_bins;
  const auto before = [&](const auto& counters) {
    return counters.empty() ? std::uint64_t{0} : std::uint64_t{counters[at]};
  };
  const std::uint64_t after = std::visit(before, page) + count;
  make_room(page, after);
  std::visit([&]<class Counter>(
                 std::vector<Counter>& counters) { counters[at] = static_cast<Counter>(after); },
             page);
}

template <class Count>
void BinCounts::add_all(std::span<const Count> counts) {
  QUADRANT_ASSERT(counts.size() == bins);
  for (std::size_t first = 0; first < bins; first += page_bins) {
    const std::span<const Count> added = counts.subspan(first, page_bins);
    if (std::ranges::max(added) == 0) continue;
    pages_.resize(bins / page_bins);
    Page& page = pages_[first / page_bins];
    const auto largest_after = [&](const auto& counters) {
      std::uint64_t largest = 0;
      for (std::size_t i = 0; i < counters.size(); ++i) {
        largest = std::max(largest, std::uint64_t{counters[i]} + added[i]);
      }
      return counters.empty() ? std::uint64_t{std::ranges::max(added)} : largest;
    };
    make_room(page, std::visit(largest_after, page));
    std::visit(
        [&]<class Counter>(std::vector<Counter>& counters) {
          for (std::size_t i = 0; i < page_bins; ++i) {
            counters[i] = static_cast<Counter>(counters[i] + added[i]);
          }
        },
        page);
  }
}

void BinCounts::add(std::span<const std::uint32_t> counts) { add_all(counts); }
void BinCounts::add(std::span<const std::uint64_t> counts) { add_all(counts); }

void BinCounts::coarsen(unsigned shift) {
  if (shift == 0 || pages_.empty()) return;
  std::vector<std::uint64_t> counts = all();
  for (std::size_t i = 1; i < bins; ++i) counts[i >> shift] += std::exchange(counts[i], 0);
  pages_.clear();
  add_all(std::span<const std::uint64_t>(counts));
}

std::vector<std::uint64_t> BinCounts::all() const {
  std::vector<std::uint64_t> counts(bins);
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const auto out = counts.begin() + static_cast<std::ptrdiff_t>(i * page_bins);
    std::visit([&](const auto& counters) { std::ranges::copy(counters, out); }, pages_[i]);
  }
  return counts;
}

std::size_t BinCounts::memory() const noexcept {
  std::size_t bytes = pages_.capacity() * sizeof(Page);
  for (const Page& page : pages_) {
    bytes += std::visit(
        []<class Counter>(const std::vector<Counter>& counters) {
          return counters.capacity() * sizeof(Counter);
        },
        page);
  }
  return bytes;
}

}  // namespace quadrant::inline v0
