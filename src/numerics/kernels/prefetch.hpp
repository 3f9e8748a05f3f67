// Asks memory for what is needed soon.
#pragma once

#include <hwy/cache_control.h>

#include <cstddef>
#include <cstdint>

namespace quadrant::inline v0::kernels {

/// The line of the cache with the number that lies `ahead` behind this one. There need be no such
/// number: nothing is read that could fail.
template <class Number>
HWY_INLINE void prefetch(const Number* number, std::size_t ahead) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(number) + ahead * sizeof(Number);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer beyond its array must not be computed
  hwy::Prefetch(reinterpret_cast<const char*>(address));
}

}  // namespace quadrant::inline v0::kernels
