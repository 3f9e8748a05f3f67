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

void gains_of_scales(const float* values, std::size_t count, const float* scales,
                     std::size_t scale_count, CodeDistances codes, float* gains, float* bounds) {
  const Floats floats;
  const std::size_t step = hn::Lanes(floats);
  const Vector lowest = hn::Set(floats, -codes.below);
  const Vector highest = hn::Set(floats, codes.above);
  // With room behind, where the last scale is repeated.
  std::array<float, most_scales + 2 * lanes> all_scales;  // NOLINT: filled
  std::array<float, most_scales + 2 * lanes> all_gains;   // NOLINT: as far as it is read
  std::copy_n(scales, scale_count, all_scales.data());
  const std::size_t whole = (scale_count + step - 1) / step * step;
  for (std::size_t i = scale_count; i < whole + step; ++i) all_scales[i] = scales[scale_count - 1];
  for (std::size_t i = 0; i < whole; i += step) {
    const Vector scale = hn::LoadU(floats, all_scales.data() + i);
    hn::StoreU(gain_of(values, count, scale, lowest, highest), floats, all_gains.data() + i);
  }
  for (std::size_t i = whole; i < whole + step; ++i) all_gains[i] = all_gains[whole - 1];
  std::copy_n(all_gains.data(), scale_count, gains);
  std::array<float, most_scales + lanes> all_bounds;  // NOLINT: as above
  for (std::size_t i = 0; i < whole; i += step) {
    const Vector bound = bound_of(
        hn::LoadU(floats, all_scales.data() + i), hn::LoadU(floats, all_gains.data() + i),
        hn::LoadU(floats, all_scales.data() + i + 1), hn::LoadU(floats, all_gains.data() + i + 1));
    hn::StoreU(bound, floats, all_bounds.data() + i);
  }
  std::copy_n(all_bounds.data(), scale_count - 1, bounds);
}

void nearest_codes(const float* values, std::size_t count, float scale, CodeDistances distances,
                   float* codes) {
  const Floats floats;
  const std::size_t step = hn::Lanes(floats);
  const Vector inverse = hn::Set(floats, 1 / scale);
  const Vector lowest = hn::Set(floats, -distances.below);
  const Vector highest = hn::Set(floats, distances.above);
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    const Vector quotient = hn::Mul(hn::LoadU(floats, values + i), inverse);
    hn::StoreU(nearest(quotient, lowest, highest), floats, codes + i);
  }
  if (i == count) return;
  std::array<float, lanes> few{};
  std::copy_n(values + i, count - i, few.data());
  const Vector quotient = hn::Mul(hn::LoadU(floats, few.data()), inverse);
  hn::StoreU(nearest(quotient, lowest, highest), floats, few.data());
  std::copy_n(few.data(), count - i, codes + i);
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(gains_of_scales);
HWY_EXPORT(nearest_codes);

void gains_of_scales(const float* values, std::size_t count, const float* scales,
                     std::size_t scale_count, CodeDistances codes, float* gains, float* bounds) {
  HWY_DYNAMIC_DISPATCH(gains_of_scales)
  (values, count, scales, scale_count, codes, gains, bounds);
}

void nearest_codes(const float* values, std::size_t count, float scale, CodeDistances distances,
                   float* codes) {
  HWY_DYNAMIC_DISPATCH(nearest_codes)(values, count, scale, distances, codes);
}

}  // namespace quadrant::inline v0::kernels
#endif
