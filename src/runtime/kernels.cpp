#include "runtime/kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "runtime/kernel_tables.hpp"

namespace quadrant::inline v0 {
namespace {

// With room for all, of which a test makes sure: asking for memory could fail.
struct Sorted {
  std::array<KernelEntry, 256> entries{};
  std::size_t size = 0;

  Sorted() noexcept {
    for (const auto table : interpreted::kernels::tables) {
      for (const KernelEntry& entry : table()) {
        if (size < entries.size()) entries[size++] = entry;
      }
    }
    std::ranges::sort(std::span(entries).first(size), {}, &KernelEntry::kind);
  }
};

}  // namespace

std::span<const KernelEntry> builtin_kernels() noexcept {
  static const Sorted all;
  return std::span(all.entries).first(all.size);
}

}  // namespace quadrant::inline v0
