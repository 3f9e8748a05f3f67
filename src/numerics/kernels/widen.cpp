#include "numerics/kernels/widen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/widen.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls `widen(d, halves)` on the bits of all numbers, vector by vector; the last ones one by one.
template <class Widen>
HWY_INLINE void widen_each(const std::byte* half, std::size_t count, float* wide,
                           const Widen& widen) {
  const auto some = [&](auto d, std::size_t i) HWY_ATTR {
    const hn::Rebind<std::uint16_t, decltype(d)> halves;
    const hn::RebindToFloat<decltype(d)> floats;
    // One instruction, where LoadU could not read a single number at an odd place.
    std::uint16_t copy[hn::MaxLanes(d)];  // NOLINT(*-avoid-c-arrays): registers
    std::memcpy(copy, half + sizeof(std::uint16_t) * i, sizeof(std::uint16_t) * hn::Lanes(d));
    const auto bits = hn::PromoteTo(d, hn::LoadU(halves, copy));
    hn::StoreU(hn::BitCast(floats, widen(d, bits)), floats, wide + i);
  };
  const hn::ScalableTag<std::uint32_t> all;
  const hn::CappedTag<std::uint32_t, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(all) <= count; i += hn::Lanes(all)) some(all, i);
  for (; i < count; ++i) some(one, i);
}

// By the steps of the function of the same name that takes one number, not by the processor's
// instruction: that makes NaNs quiet, and some processors do not have it.
void widen_float16(const std::byte* half, std::size_t count, float* wide) {
  widen_each(half, count, wide, [](auto d, auto bits) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> integers;
    const hn::RebindToFloat<decltype(d)> floats;
    const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffU));
    const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
    const auto is_finite = hn::Lt(hn::BitCast(integers, magnitude), hn::Set(integers, 0x7c00));
    const auto rebias = hn::IfThenElse(hn::RebindMask(d, is_finite), hn::Set(d, 112U << 23U),
                                       hn::Set(d, 224U << 23U));
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
    const auto subnormal =
        hn::Mul(hn::ConvertTo(floats, hn::BitCast(integers, magnitude)), hn::Set(floats, 0x1p-24F));
    const auto is_small = hn::Lt(hn::BitCast(integers, magnitude), hn::Set(integers, 0x0400));
    return hn::Or(sign,
                  hn::IfThenElse(hn::RebindMask(d, is_small), hn::BitCast(d, subnormal), normal));
  });
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
