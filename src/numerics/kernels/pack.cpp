#include "numerics/kernels/pack.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/pack.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Of whole vectors of pairs: how many, from the first on. Where a vector is one lane there are
// none.
HWY_INLINE std::size_t pack_vectors([[maybe_unused]] const std::uint8_t* codes,
                                    [[maybe_unused]] std::size_t count,
                                    [[maybe_unused]] std::uint8_t* packed) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint16_t> pairs;
  const hn::Rebind<std::uint8_t, decltype(pairs)> bytes;
  const std::size_t step = hn::Lanes(pairs);
  std::size_t pair = 0;
  for (; (pair + step) * 2 <= count; pair += step) {
    const auto both = hn::BitCast(
        pairs, hn::LoadU(hn::Repartition<std::uint8_t, decltype(pairs)>(), codes + 2 * pair));
    const auto low = hn::And(both, hn::Set(pairs, 0x000F));
    const auto high = hn::And(hn::ShiftRight<4>(both), hn::Set(pairs, 0x00F0));
    // At most 255, which saturation keeps.
    const hn::RebindToSigned<decltype(pairs)> words;
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(words, hn::Or(low, high))), bytes, packed + pair);
  }
  return pair;
#else
  return 0;
#endif
}

void pack_halves(const std::byte* codes, std::size_t count, std::byte* packed) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(codes);
  auto* const to = reinterpret_cast<std::uint8_t*>(packed);
  for (std::size_t pair = pack_vectors(from, count, to); pair * 2 < count; ++pair) {
    const unsigned low = from[2 * pair] & 15U;
    const unsigned high = 2 * pair + 1 < count ? from[2 * pair + 1] & 15U : 0U;
    to[pair] = static_cast<std::uint8_t>(low | high << 4U);
  }
}

// As above; `sign` is 8 or, for numbers without one, 0: (x ^ 8) - 8 repeats the sign of 4 bits.
HWY_INLINE std::size_t unpack_vectors([[maybe_unused]] const std::uint8_t* packed,
                                      [[maybe_unused]] std::size_t count,
                                      [[maybe_unused]] std::uint8_t sign,
                                      [[maybe_unused]] std::uint8_t* codes) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint16_t> pairs;
  const hn::Rebind<std::uint8_t, decltype(pairs)> halves;
  const hn::Repartition<std::uint8_t, decltype(pairs)> bytes;
  const std::size_t step = hn::Lanes(pairs);
  const auto signs = hn::Set(bytes, sign);
  std::size_t pair = 0;
  for (; (pair + step) * 2 <= count; pair += step) {
    const auto both = hn::PromoteTo(pairs, hn::LoadU(halves, packed + pair));
    const auto spread = hn::And(hn::Or(both, hn::ShiftLeft<4>(both)), hn::Set(pairs, 0x0F0F));
    hn::StoreU(hn::Sub(hn::Xor(hn::BitCast(bytes, spread), signs), signs), bytes, codes + 2 * pair);
  }
  return pair;
#else
  return 0;
#endif
}

void unpack_halves(const std::byte* packed, std::size_t count, bool is_signed, std::byte* codes) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(packed);
  auto* const to = reinterpret_cast<std::uint8_t*>(codes);
  const std::uint8_t sign = is_signed ? 8 : 0;
  for (std::size_t i = 2 * unpack_vectors(from, count, sign, to); i < count; ++i) {
    const unsigned half = (i % 2 == 0 ? from[i / 2] : from[i / 2] >> 4U) & 15U;
    to[i] = static_cast<std::uint8_t>((half ^ sign) - sign);
  }
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(pack_halves);
HWY_EXPORT(unpack_halves);

void pack_halves(const std::byte* codes, std::size_t count, std::byte* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(pack_halves)(codes, count, packed);
}

void unpack_halves(const std::byte* packed, std::size_t count, bool is_signed,
                   std::byte* codes) noexcept {
  HWY_DYNAMIC_DISPATCH(unpack_halves)(packed, count, is_signed, codes);
}

namespace {

constexpr std::size_t quarters = 4;
constexpr unsigned quarter_mask = 3;

void pack_quarters(const std::byte* codes, std::size_t count, std::byte* packed) noexcept {
  for (std::size_t i = 0; i < count; i += quarters) {
    unsigned byte = 0;
    for (std::size_t k = 0; k < std::min(quarters, count - i); ++k) {
      byte |= (std::to_integer<unsigned>(codes[i + k]) & quarter_mask) << 2 * k;
    }
    packed[i / quarters] = static_cast<std::byte>(byte);
  }
}

void unpack_quarters(const std::byte* packed, std::size_t count, bool is_signed,
                     std::byte* codes) noexcept {
  const unsigned sign = is_signed ? 2 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<unsigned>(packed[i / quarters]);
    const unsigned code = byte >> 2 * (i % quarters) & quarter_mask;
    codes[i] = static_cast<std::byte>((code ^ sign) - sign);
  }
}

}  // namespace

void pack_bits(const std::byte* codes, std::size_t count, int bits, std::byte* packed) noexcept {
  bits == 2 ? pack_quarters(codes, count, packed) : pack_halves(codes, count, packed);
}

void unpack_bits(const std::byte* packed, std::size_t count, int bits, bool is_signed,
                 std::byte* codes) noexcept {
  bits == 2 ? unpack_quarters(packed, count, is_signed, codes)
            : unpack_halves(packed, count, is_signed, codes);
}

}  // namespace quadrant::inline v0::kernels
#endif
