#include "runtime/kernels.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "runtime/kernel_tables.hpp"

namespace quadrant::inline v0 {

std::span<const KernelEntry> builtin_kernels() noexcept {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries;
    for (const auto table : interpreted::kernels::tables) {
      std::ranges::copy(table(), std::back_inserter(entries));
    }
    std::ranges::sort(entries, {}, &KernelEntry::kind);
    return entries;
  }();
  return all;
}

}  // namespace quadrant::inline v0
