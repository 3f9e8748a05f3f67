#include "support/large_pages.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace quadrant::inline v0 {

void prefer_large_pages([[maybe_unused]] std::span<const std::byte> memory) noexcept {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t large_page = std::uintptr_t{1} << 21U;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = (address + large_page - 1) / large_page * large_page;
  const std::uintptr_t last = (address + memory.size()) / large_page * large_page;
  if (first >= last) return;
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // NOLINT
#endif
}

}  // namespace quadrant::inline v0
