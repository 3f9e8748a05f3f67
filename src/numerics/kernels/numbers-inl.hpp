// Vectors of numbers from memory, float32 or not: for each kind of processor, after Highway.
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "numerics/kernels/float16.hpp"

#if defined(QUADRANT_NUMBERS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef QUADRANT_NUMBERS_INL
#undef QUADRANT_NUMBERS_INL
#else
#define QUADRANT_NUMBERS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The bits of 16-bit numbers that lie anywhere, each in a lane of 32.
template <class D>
HWY_INLINE hn::Vec<D> halves_at(D words, const void* from) {
  const hn::Rebind<std::uint16_t, D> halves;
  // One instruction, where LoadU could not read a single number at an odd place.
  std::uint16_t copy[hn::MaxLanes(D())];  // NOLINT(*-avoid-c-arrays): registers
  std::memcpy(copy, from, sizeof(std::uint16_t) * hn::Lanes(words));
  return hn::PromoteTo(words, hn::LoadU(halves, copy));
}

// The bits of float32 numbers from those of float16, by the steps of widen_float16, which takes one
// number.
template <class D>
HWY_INLINE hn::Vec<D> widened(D words, hn::Vec<D> bits) {
  const hn::RebindToSigned<D> integers;
  const hn::RebindToFloat<D> floats;
  const auto magnitude = hn::And(bits, hn::Set(words, 0x7fffU));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  const auto is_finite = hn::Lt(hn::BitCast(integers, magnitude), hn::Set(integers, 0x7c00));
  const auto rebias = hn::IfThenElse(hn::RebindMask(words, is_finite), hn::Set(words, 112U << 23U),
                                     hn::Set(words, 224U << 23U));
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  const auto subnormal =
      hn::Mul(hn::ConvertTo(floats, hn::BitCast(integers, magnitude)), hn::Set(floats, 0x1p-24F));
  const auto is_small = hn::Lt(hn::BitCast(integers, magnitude), hn::Set(integers, 0x0400));
  return hn::Or(
      sign, hn::IfThenElse(hn::RebindMask(words, is_small), hn::BitCast(words, subnormal), normal));
}

// A vector of numbers as float32, exact; a NaN stays one.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> numbers_at(const float* numbers) {
  return hn::LoadU(hn::ScalableTag<float>(), numbers);
}

HWY_INLINE hn::Vec<hn::ScalableTag<float>> numbers_at(const Float16* numbers) {
  const hn::ScalableTag<float> floats;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  const hn::Rebind<hwy::float16_t, decltype(floats)> halves;
  return hn::PromoteTo(floats, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(numbers)));
#else  // not all have an instruction, and Highway takes infinity for a number where they have not
  const hn::RebindToUnsigned<decltype(floats)> words;
  return hn::BitCast(floats, widened(words, halves_at(words, numbers)));
#endif
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
