#include "numerics/kernels/scale_grid.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/scale_grid.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

constexpr std::size_t lanes = HWY_MAX_BYTES / sizeof(float);
constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: see quantize.cpp

// Values are at most twice the largest code from zero: nothing here is large.
HWY_INLINE Vector nearest(Vector quotient, Vector lowest, Vector highest) {
  const Vector by = hn::Set(Floats(), rounder);
  return hn::Min(hn::Max(hn::Sub(hn::Add(quotient, by), by), lowest), highest);
}

HWY_INLINE Vector gain_of(const float* values, std::size_t count, Vector scale, Vector lowest,
                          Vector highest) {
  const Floats floats;
  const Vector inverse = hn::Div(hn::Set(floats, 1.0F), scale);
  // Two sums each, so that neither waits for the other.
  Vector a0 = hn::Zero(floats);
  Vector b0 = hn::Zero(floats);
  Vector a1 = hn::Zero(floats);
  Vector b1 = hn::Zero(floats);
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2) {
    const Vector w0 = hn::Set(floats, values[i]);
    const Vector w1 = hn::Set(floats, values[i + 1]);
    const Vector q0 = nearest(hn::Mul(w0, inverse), lowest, highest);
    const Vector q1 = nearest(hn::Mul(w1, inverse), lowest, highest);
    a0 = hn::Add(a0, hn::Mul(w0, q0));
    a1 = hn::Add(a1, hn::Mul(w1, q1));
    b0 = hn::Add(b0, hn::Mul(q0, q0));
    b1 = hn::Add(b1, hn::Mul(q1, q1));
  }
  if (i < count) {
    const Vector w = hn::Set(floats, values[i]);
    const Vector q = nearest(hn::Mul(w, inverse), lowest, highest);
    a0 = hn::Add(a0, hn::Mul(w, q));
    b0 = hn::Add(b0, hn::Mul(q, q));
  }
  const Vector a = hn::Add(a0, a1);
  return hn::Mul(scale, hn::Sub(hn::Add(a, a), hn::Mul(scale, hn::Add(b0, b1))));
}

// Of the intervals that begin at these scales and end at the next ones.
HWY_INLINE Vector bound_of(Vector low, Vector low_gain, Vector high, Vector high_gain) {
  const Floats floats;
  // gain / s is a - b s: a line.
  const Vector at_low = hn::Div(low_gain, low);
  const Vector at_high = hn::Div(high_gain, high);
  const Vector b = hn::Div(hn::Sub(at_low, at_high), hn::Sub(high, low));
  const Vector a = hn::Add(at_low, hn::Mul(b, low));
  const Vector vertex = hn::Div(a, hn::Add(b, b));
  const Vector top = hn::Mul(vertex, hn::Sub(at_low, hn::Mul(b, hn::Sub(vertex, low))));
  const auto is_inside =
      hn::And(hn::Gt(b, hn::Zero(floats)), hn::And(hn::Gt(vertex, low), hn::Lt(vertex, high)));
  const Vector ends = hn::IfThenElse(hn::Gt(low_gain, high_gain), low_gain, high_gain);
  return hn::IfThenElse(is_inside, top, ends);
}

// Where scales lie in a grid of that many, from 0 at the least to 1 at the largest.
template <std::size_t size>
constexpr std::array<float, size> make_places() {
  std::array<float, size> places{};
  for (std::size_t i = 0; i < size; ++i) {
    const double place = static_cast<double>(i) / (size - 1);
    places[i] = static_cast<float>(place * (1 + 2 * place) / 3);
  }
  return places;
}
constexpr auto fine_places = make_places<ScaleGrid::most_scales>();
constexpr auto coarse_places = make_places<ScaleGrid::most_scales / 2>();
static_assert(coarse_places.size() % lanes == 0, "a grid is whole vectors");

std::uint32_t look_at_scales(const float* values, std::size_t count, float least, float most,
                             CodeDistances codes, float known, float margin, ScaleGrid& grid) {
  const Floats floats;
  const std::size_t step = hn::Lanes(floats);
  const Vector lowest = hn::Set(floats, -codes.below);
  const Vector highest = hn::Set(floats, codes.above);
  const float* const places =
      grid.count == coarse_places.size() ? coarse_places.data() : fine_places.data();
  Vector best = hn::Set(floats, known + margin);
  for (std::size_t i = 0; i < grid.count; i += step) {
    const Vector place = hn::LoadU(floats, places + i);
    const Vector scale =
        hn::Add(hn::Set(floats, least), hn::Mul(hn::Set(floats, most - least), place));
    const Vector gain = gain_of(values, count, scale, lowest, highest);
    best = hn::Max(best, gain);
    hn::StoreU(scale, floats, grid.scales.data() + i);
    hn::StoreU(gain, floats, grid.gains.data() + i);
  }
  // The gains may be too high, and the bounds too low.
  const Vector enough = hn::Sub(hn::MaxOfLanes(floats, best), hn::Set(floats, margin + margin));
  std::uint32_t promising = 0;
  std::array<float, ScaleGrid::most_scales + lanes> next_scales;  // NOLINT: filled, as far as read
  std::array<float, ScaleGrid::most_scales + lanes> next_gains;   // NOLINT: as above
  for (std::size_t i = 0; i + 1 < grid.count; ++i) {
    next_scales[i] = grid.scales[i + 1];
    next_gains[i] = grid.gains[i + 1];
  }
  next_scales[grid.count - 1] = 2 * most;
  next_gains[grid.count - 1] = 0;
  for (std::size_t i = 0; i < grid.count; i += step) {
    const Vector bound = bound_of(
        hn::LoadU(floats, grid.scales.data() + i), hn::LoadU(floats, grid.gains.data() + i),
        hn::LoadU(floats, next_scales.data() + i), hn::LoadU(floats, next_gains.data() + i));
    hn::StoreU(bound, floats, grid.bounds.data() + i);
    std::array<std::uint8_t, 8> bits{};  // the least that may be written
    hn::StoreMaskBits(floats, hn::Ge(bound, enough), bits.data());
    promising |= (static_cast<std::uint32_t>(bits[0]) | static_cast<std::uint32_t>(bits[1]) << 8U)
                 << i;
  }
  return promising & ((std::uint32_t{1} << (grid.count - 1)) - 1);
}

constexpr std::size_t sums = 8;
using Doubles = hn::CappedTag<double, sums>;
using Halves = hn::Rebind<float, Doubles>;  // as many floats as there are doubles in a vector

// The ends of an interval of scales.
struct Ends {
  float low_inverse = 0;
  float high_inverse = 0;
  CodeDistances codes;
};

HWY_INLINE hn::Vec<Halves> nearest_half(hn::Vec<Halves> values, float inverse,
                                        CodeDistances codes) {
  const Halves halves;
  const auto by = hn::Set(halves, rounder);
  const auto quotient = hn::Mul(values, hn::Set(halves, inverse));
  return hn::Min(hn::Max(hn::Sub(hn::Add(quotient, by), by), hn::Set(halves, -codes.below)),
                 hn::Set(halves, codes.above));
}

// Eight values; the bits of those that change.
HWY_INLINE std::uint32_t add_eight(const float* values, const Ends& ends, float* low_codes,
                                   float* high_codes, double* a, double* b) {
  const Halves halves;
  const Doubles doubles;
  std::uint32_t changed = 0;
  for (std::size_t i = 0; i < sums; i += hn::Lanes(halves)) {
    const auto w = hn::LoadU(halves, values + i);
    const auto low = nearest_half(w, ends.low_inverse, ends.codes);
    const auto high = nearest_half(w, ends.high_inverse, ends.codes);
    hn::StoreU(low, halves, low_codes + i);
    hn::StoreU(high, halves, high_codes + i);
    const auto q = hn::PromoteTo(doubles, high);
    const auto product = hn::Mul(hn::PromoteTo(doubles, w), q);
    hn::Store(hn::Add(hn::Load(doubles, a + i), product), doubles, a + i);
    hn::Store(hn::Add(hn::Load(doubles, b + i), hn::Mul(q, q)), doubles, b + i);
    std::array<std::uint8_t, 8> bits{};  // the least that may be written
    hn::StoreMaskBits(halves, hn::Ne(low, high), bits.data());
    changed |= static_cast<std::uint32_t>(bits[0]) << i;
  }
  return changed;
}

HWY_INLINE double sum_of(const double* parts) {
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) +
         ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

ScaleEnds codes_at_ends(const float* values, std::size_t count, float low, float high,
                        CodeDistances codes, float* low_codes, float* high_codes,
                        std::uint32_t* changed) {
  const Ends ends{1 / low, 1 / high, codes};
  alignas(64) std::array<double, sums> a{};
  alignas(64) std::array<double, sums> b{};
  ScaleEnds found;
  const auto list = [&](std::uint32_t bits, std::size_t first) {
    for (; bits != 0; bits &= bits - 1) {
      changed[found.changed++] =
          static_cast<std::uint32_t>(first) +
          static_cast<std::uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero32(bits));
    }
  };
  std::size_t i = 0;
  for (; i + sums <= count; i += sums) {
    list(add_eight(values + i, ends, low_codes + i, high_codes + i, a.data(), b.data()), i);
  }
  if (i < count) {
    std::array<float, sums> few{};  // zeros have code 0, and do not change
    std::array<float, sums> low_few{};
    std::array<float, sums> high_few{};
    std::copy_n(values + i, count - i, few.data());
    list(add_eight(few.data(), ends, low_few.data(), high_few.data(), a.data(), b.data()), i);
    std::copy_n(low_few.data(), count - i, low_codes + i);
    std::copy_n(high_few.data(), count - i, high_codes + i);
  }
  found.a = sum_of(a.data());
  found.b = sum_of(b.data());
  return found;
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(look_at_scales);
HWY_EXPORT(codes_at_ends);

std::uint32_t look_at_scales(const float* values, std::size_t count, float least, float most,
                             CodeDistances codes, float known, float margin, ScaleGrid& grid) {
  return HWY_DYNAMIC_DISPATCH(look_at_scales)(values, count, least, most, codes, known, margin,
                                              grid);
}

ScaleEnds codes_at_ends(const float* values, std::size_t count, float low, float high,
                        CodeDistances codes, float* low_codes, float* high_codes,
                        std::uint32_t* changed) {
  return HWY_DYNAMIC_DISPATCH(codes_at_ends)(values, count, low, high, codes, low_codes, high_codes,
                                             changed);
}

}  // namespace quadrant::inline v0::kernels
#endif
