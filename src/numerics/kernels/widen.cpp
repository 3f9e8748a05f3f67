#include "numerics/kernels/widen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/widen.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>

#include "numerics/kernels/numbers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls `widen(d, halves)` on the bits of all numbers, vector by vector; the last ones one by one.
template <class Widen>
HWY_INLINE void widen_each(const std::byte* half, std::size_t count, float* wide,
                           const Widen& widen) {
  const auto some = [&](auto d, std::size_t i) HWY_ATTR {
    const auto bits = halves_at(d, half + sizeof(std::uint16_t) * i);
    const hn::RebindToFloat<decltype(d)> floats;
    hn::StoreU(hn::BitCast(floats, widen(d, bits)), floats, wide + i);
  };
  const hn::ScalableTag<std::uint32_t> all;
  const hn::CappedTag<std::uint32_t, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(all) <= count; i += hn::Lanes(all)) some(all, i);
  for (; i < count; ++i) some(one, i);
}

// Not by the processor's instruction: that makes NaNs quiet.
void widen_float16(const std::byte* half, std::size_t count, float* wide) {
  widen_each(half, count, wide, [](auto d, auto bits) HWY_ATTR { return widened(d, bits); });
}

void widen_bfloat16(const std::byte* half, std::size_t count, float* wide) {
  widen_each(half, count, wide, [](auto, auto bits) HWY_ATTR { return hn::ShiftLeft<16>(bits); });
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(widen_float16);
HWY_EXPORT(widen_bfloat16);

void widen_float16(const std::byte* half, std::size_t count, float* wide) noexcept {
  HWY_DYNAMIC_DISPATCH(widen_float16)(half, count, wide);
}

void widen_bfloat16(const std::byte* half, std::size_t count, float* wide) noexcept {
  HWY_DYNAMIC_DISPATCH(widen_bfloat16)(half, count, wide);
}

}  // namespace quadrant::inline v0::kernels
#endif
