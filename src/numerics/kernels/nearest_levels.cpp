#include "numerics/kernels/nearest_levels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/nearest_levels.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t nearest_lanes = 8;
using NearestDoubles = hn::CappedTag<double, nearest_lanes>;
using NearestFloats = hn::Rebind<float, NearestDoubles>;
using NearestInts = hn::Rebind<std::int32_t, NearestDoubles>;

// `index_of(x)` as doubles, for all values; those that fill no vector are copied first.
template <class IndexOf>
HWY_INLINE void for_scaled(const ScaledValues& of, std::uint16_t* indices, IndexOf index_of) {
  const NearestDoubles doubles;
  const NearestFloats floats;
  const NearestInts ints;
  const hn::Rebind<std::uint16_t, NearestDoubles> shorts;
  const std::size_t lanes = hn::Lanes(doubles);
  const auto shift = hn::Set(doubles, of.shift);
  const auto inverse = hn::Set(doubles, of.inverse);
  const auto some = [&](const float* from, std::uint16_t* to) HWY_ATTR {
    const auto w = hn::PromoteTo(doubles, hn::LoadU(floats, from));
    const auto index = index_of(doubles, hn::Mul(hn::Add(w, shift), inverse));
    hn::StoreU(hn::DemoteTo(shorts, hn::DemoteTo(ints, index)), shorts, to);
  };
  const std::size_t whole = of.count / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) some(of.values + i, indices + i);
  if (whole == of.count) return;
  std::array<float, nearest_lanes> rest{};
  std::array<std::uint16_t, nearest_lanes> of_rest{};
  for (std::size_t i = whole; i < of.count; ++i) rest[i - whole] = of.values[i];
  some(rest.data(), of_rest.data());
  for (std::size_t i = whole; i < of.count; ++i) indices[i] = of_rest[i - whole];
}

void count_thresholds(const ScaledValues& of, const double* thresholds, std::size_t count,
                      std::uint16_t* indices) {
  const auto counted = [=](auto doubles, auto x) HWY_ATTR {
    const auto one = hn::Set(doubles, 1.0);
    auto sum = hn::Zero(doubles);
    for (std::size_t j = 0; j < count; ++j) {
      sum = hn::Add(sum, hn::IfThenElseZero(hn::Gt(x, hn::Set(doubles, thresholds[j])), one));
    }
    return sum;
  };
  for_scaled(of, indices, counted);
}

void nearest_integers(const ScaledValues& of, double low, double high, std::uint16_t* indices) {
  const auto rounded = [=](auto doubles, auto x) HWY_ATTR {
    const auto first = hn::Set(doubles, low);
    const auto rounder = hn::Set(doubles, 0x1.8p52);
    const auto q = hn::Min(hn::Max(x, first), hn::Set(doubles, high));
    return hn::Sub(hn::Sub(hn::Add(q, rounder), rounder), first);
  };
  for_scaled(of, indices, rounded);
}

// A vector of them.
HWY_INLINE void some_on_grids(const OnGrids& of, double low, double high, std::uint32_t* codes,
                              float* reals) {
  const NearestDoubles doubles;
  const NearestFloats floats;
  const NearestInts ints;
  const hn::RebindToUnsigned<NearestInts> words;
  const auto rounder = hn::Set(doubles, 0x1.8p52);
  const auto scale = hn::LoadU(floats, of.scales);
  const auto minimum = hn::LoadU(floats, of.minima);
  const auto zero_point = hn::LoadU(floats, of.zero_points);
  const auto is_free = hn::Ne(scale, hn::Zero(floats));
  const auto divisor = hn::IfThenElse(is_free, scale, hn::Set(floats, 1.0F));
  const auto shifted = hn::Add(hn::LoadU(doubles, of.wanted), hn::PromoteTo(doubles, minimum));
  const auto level = hn::Add(hn::Div(shifted, hn::PromoteTo(doubles, divisor)),
                             hn::PromoteTo(doubles, zero_point));
  const auto q = hn::Min(hn::Max(level, hn::Set(doubles, low)), hn::Set(doubles, high));
  const auto code = hn::DemoteTo(ints, hn::Sub(hn::Add(q, rounder), rounder));
  const auto distance = hn::Sub(hn::ConvertTo(floats, code), zero_point);
  const auto real = hn::Sub(hn::Mul(distance, scale), minimum);
  hn::StoreU(hn::IfThenElse(is_free, real, hn::LoadU(floats, reals)), floats, reals);
  hn::StoreU(hn::IfThenElse(hn::RebindMask(words, is_free), hn::BitCast(words, code),
                            hn::LoadU(words, codes)),
             words, codes);
}

void on_grids(const OnGrids& of, double low, double high, std::uint32_t* codes, float* reals) {
  const std::size_t lanes = hn::Lanes(NearestDoubles());
  const std::size_t whole = of.count / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    some_on_grids({of.wanted + i, of.scales + i, of.minima + i, of.zero_points + i}, low, high,
                  codes + i, reals + i);
  }
  if (whole == of.count) return;
  std::array<double, nearest_lanes> wanted{};
  std::array<float, nearest_lanes> scales{};  // of the others 0
  std::array<float, nearest_lanes> minima{};
  std::array<float, nearest_lanes> zero_points{};
  std::array<std::uint32_t, nearest_lanes> some_codes{};
  std::array<float, nearest_lanes> some_reals{};
  for (std::size_t i = whole; i < of.count; ++i) {
    wanted[i - whole] = of.wanted[i];
    scales[i - whole] = of.scales[i];
    minima[i - whole] = of.minima[i];
    zero_points[i - whole] = of.zero_points[i];
    some_codes[i - whole] = codes[i];
    some_reals[i - whole] = reals[i];
  }
  some_on_grids({wanted.data(), scales.data(), minima.data(), zero_points.data()}, low, high,
                some_codes.data(), some_reals.data());
  for (std::size_t i = whole; i < of.count; ++i) {
    codes[i] = some_codes[i - whole];
    reals[i] = some_reals[i - whole];
  }
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(count_thresholds);
HWY_EXPORT(nearest_integers);
HWY_EXPORT(on_grids);

void count_thresholds(const ScaledValues& of, const double* thresholds, std::size_t count,
                      std::uint16_t* indices) noexcept {
  HWY_DYNAMIC_DISPATCH(count_thresholds)(of, thresholds, count, indices);
}

void nearest_integers(const ScaledValues& of, double low, double high,
                      std::uint16_t* indices) noexcept {
  HWY_DYNAMIC_DISPATCH(nearest_integers)(of, low, high, indices);
}

void nearest_on_grids(const OnGrids& of, double low, double high, std::uint32_t* codes,
                      float* reals) noexcept {
  HWY_DYNAMIC_DISPATCH(on_grids)(of, low, high, codes, reals);
}

}  // namespace quadrant::inline v0::kernels
#endif
