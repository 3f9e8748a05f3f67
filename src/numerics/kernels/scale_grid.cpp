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
template <bool clips>
HWY_INLINE Vector nearest(Vector quotient, Vector lowest, Vector highest) {
  const Vector by = hn::Set(Floats(), rounder);
  const Vector code = hn::Sub(hn::Add(quotient, by), by);
  if constexpr (!clips) return code;
  return hn::Min(hn::Max(code, lowest), highest);
}

// Gains by their scales.
template <bool clips>
HWY_INLINE Vector slope_of(const float* values, std::size_t count, Vector scale, Vector lowest,
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
    const Vector q0 = nearest<clips>(hn::Mul(w0, inverse), lowest, highest);
    const Vector q1 = nearest<clips>(hn::Mul(w1, inverse), lowest, highest);
    a0 = hn::Add(a0, hn::Mul(w0, q0));
    a1 = hn::Add(a1, hn::Mul(w1, q1));
    b0 = hn::Add(b0, hn::Mul(q0, q0));
    b1 = hn::Add(b1, hn::Mul(q1, q1));
  }
  if (i < count) {
    const Vector w = hn::Set(floats, values[i]);
    const Vector q = nearest<clips>(hn::Mul(w, inverse), lowest, highest);
    a0 = hn::Add(a0, hn::Mul(w, q));
    b0 = hn::Add(b0, hn::Mul(q, q));
  }
  const Vector a = hn::Add(a0, a1);
  return hn::Sub(hn::Add(a, a), hn::Mul(scale, hn::Add(b0, b1)));
}

// Of the intervals that begin at these scales and end at the next ones.
HWY_INLINE Vector bound_of(Vector low, Vector at_low, Vector high, Vector at_high) {
  const Floats floats;
  // gain / s is a - b s: a line.
  const Vector b = hn::Div(hn::Sub(at_low, at_high), hn::Sub(high, low));
  const Vector a = hn::Add(at_low, hn::Mul(b, low));
  const Vector vertex = hn::Div(a, hn::Add(b, b));
  const Vector top = hn::Mul(vertex, hn::Sub(at_low, hn::Mul(b, hn::Sub(vertex, low))));
  const auto is_inside =
      hn::And(hn::Gt(b, hn::Zero(floats)), hn::And(hn::Gt(vertex, low), hn::Lt(vertex, high)));
  const Vector low_gain = hn::Mul(low, at_low);
  const Vector high_gain = hn::Mul(high, at_high);
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
                             CodeDistances codes, float clipping, float known, float margin,
                             ScaleGrid& grid) {
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
    hn::StoreU(scale, floats, grid.scales.data() + i);
    const Vector slope = grid.scales[i] < clipping
                             ? slope_of<true>(values, count, scale, lowest, highest)
                             : slope_of<false>(values, count, scale, lowest, highest);
    best = hn::Max(best, hn::Mul(scale, slope));
    hn::StoreU(slope, floats, grid.slopes.data() + i);
  }
  // The gains may be too high, and the bounds too low.
  const Vector enough = hn::Sub(hn::MaxOfLanes(floats, best), hn::Set(floats, margin + margin));
  std::uint32_t promising = 0;
  // What lies behind the grid: no interval that counts.
  grid.scales[grid.count] = 2 * most;
  grid.slopes[grid.count] = 0;
  for (std::size_t i = 0; i < grid.count; i += step) {
    const Vector bound = bound_of(hn::LoadU(floats, grid.scales.data() + i),
                                  hn::LoadU(floats, grid.slopes.data() + i),
                                  hn::LoadU(floats, grid.scales.data() + i + 1),
                                  hn::LoadU(floats, grid.slopes.data() + i + 1));
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

// The codes of as many values as there are doubles in a vector, at both ends; the bits of those
// that change.
HWY_INLINE std::uint32_t add_values(const float* values, const Ends& ends, float* low_codes,
                                    float* high_codes, hn::Vec<Doubles>& a, hn::Vec<Doubles>& b) {
  const Halves halves;
  const Doubles doubles;
  const auto w = hn::LoadU(halves, values);
  const auto low = nearest_half(w, ends.low_inverse, ends.codes);
  const auto high = nearest_half(w, ends.high_inverse, ends.codes);
  hn::StoreU(low, halves, low_codes);
  hn::StoreU(high, halves, high_codes);
  const auto q = hn::PromoteTo(doubles, high);
  a = hn::Add(a, hn::Mul(hn::PromoteTo(doubles, w), q));
  b = hn::Add(b, hn::Mul(q, q));
  std::array<std::uint8_t, 8> bits{};  // the least that may be written
  hn::StoreMaskBits(halves, hn::Ne(low, high), bits.data());
  return bits[0];
}

HWY_INLINE double sum_of(const double* parts) {
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) +
         ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

ScaleEnds codes_at_ends(const float* values, std::size_t count, float low, float high,
                        CodeDistances codes, float* low_codes, float* high_codes,
                        std::uint32_t* changed) {
  const Doubles doubles;
  const Ends ends{1 / low, 1 / high, codes};
  const std::size_t whole = count / sums * sums;
  std::array<float, sums> few{};  // zeros have code 0, and do not change
  std::array<float, sums> low_few{};
  std::array<float, sums> high_few{};
  std::copy_n(values + whole, count - whole, few.data());
  std::array<std::uint32_t, ScaleGrid::most_values / sums + 1> bits{};
  alignas(64) std::array<double, sums> a{};
  alignas(64) std::array<double, sums> b{};
  // Sum i is of every eighth value from i on, however many fit a vector.
  for (std::size_t part = 0; part < sums; part += hn::Lanes(doubles)) {
    auto sum_a = hn::Zero(doubles);
    auto sum_b = hn::Zero(doubles);
    for (std::size_t i = part; i < whole; i += sums) {
      bits[i / sums] |= add_values(values + i, ends, low_codes + i, high_codes + i, sum_a, sum_b)
                        << part;
    }
    if (whole < count) {
      bits[whole / sums] |= add_values(few.data() + part, ends, low_few.data() + part,
                                       high_few.data() + part, sum_a, sum_b)
                            << part;
    }
    hn::Store(sum_a, doubles, a.data() + part);
    hn::Store(sum_b, doubles, b.data() + part);
  }
  std::copy_n(low_few.data(), count - whole, low_codes + whole);
  std::copy_n(high_few.data(), count - whole, high_codes + whole);
  ScaleEnds found;
  found.a = sum_of(a.data());
  found.b = sum_of(b.data());
  for (std::size_t i = 0; i < count; i += sums) {
    for (std::uint32_t left = bits[i / sums]; left != 0; left &= left - 1) {
      changed[found.changed++] =
          static_cast<std::uint32_t>(i) +
          static_cast<std::uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero32(left));
    }
  }
  return found;
}

double scale_values(const float* values, std::size_t count, double factor, float* scaled) {
  const Halves halves;
  const Doubles doubles;
  const auto by = hn::Set(doubles, factor);
  const std::size_t whole = count / sums * sums;
  std::array<float, sums> few{};
  std::copy_n(values + whole, count - whole, few.data());
  alignas(64) std::array<double, sums> all{};
  for (std::size_t part = 0; part < sums; part += hn::Lanes(doubles)) {
    auto sum = hn::Zero(doubles);
    for (std::size_t i = part; i < whole; i += sums) {
      const auto value = hn::Mul(hn::PromoteTo(doubles, hn::LoadU(halves, values + i)), by);
      hn::StoreU(hn::DemoteTo(halves, value), halves, scaled + i);
      sum = hn::Add(sum, hn::Mul(value, value));
    }
    const auto value = hn::Mul(hn::PromoteTo(doubles, hn::LoadU(halves, few.data() + part)), by);
    hn::StoreU(hn::DemoteTo(halves, value), halves, few.data() + part);
    sum = hn::Add(sum, hn::Mul(value, value));
    hn::Store(sum, doubles, all.data() + part);
  }
  std::copy_n(few.data(), count - whole, scaled + whole);
  return sum_of(all.data());
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(look_at_scales);
HWY_EXPORT(codes_at_ends);
HWY_EXPORT(scale_values);

std::uint32_t look_at_scales(const float* values, std::size_t count, float least, float most,
                             CodeDistances codes, float clipping, float known, float margin,
                             ScaleGrid& grid) {
  return HWY_DYNAMIC_DISPATCH(look_at_scales)(values, count, least, most, codes, clipping, known,
                                              margin, grid);
}

ScaleEnds codes_at_ends(const float* values, std::size_t count, float low, float high,
                        CodeDistances codes, float* low_codes, float* high_codes,
                        std::uint32_t* changed) {
  return HWY_DYNAMIC_DISPATCH(codes_at_ends)(values, count, low, high, codes, low_codes, high_codes,
                                             changed);
}

double scale_values(const float* values, std::size_t count, double factor, float* scaled) {
  return HWY_DYNAMIC_DISPATCH(scale_values)(values, count, factor, scaled);
}

}  // namespace quadrant::inline v0::kernels
#endif
