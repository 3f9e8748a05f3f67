#include "numerics/kernels/level_gains.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/level_gains.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t gain_sums = 8;
using GainDoubles = hn::CappedTag<double, gain_sums>;
using GainFloats = hn::Rebind<float, GainDoubles>;
using GainVec = hn::Vec<GainDoubles>;

// What the better of both neighbours of each x gains among levels that are floats, x2 = 2 x not
// negative. Any other level gains less than one of them by at least the square of the distance
// between the two, a 2^-10th of x^2: no rounding hides that, so that the largest is the same number
// as of all levels.
HWY_INLINE GainVec gain_of_floats(const LevelSet& levels, GainVec x2) {
  const GainDoubles doubles;
  const hn::RebindToUnsigned<GainDoubles> bits;
  constexpr int all_bits = 52;
  const std::uint64_t last = std::uint64_t{1} << (all_bits - levels.mantissa_bits);
  const auto least = hn::Set(doubles, levels.least_normal);
  const auto high = hn::Set(doubles, levels.high);
  const auto x = hn::Mul(x2, hn::Set(doubles, 0.5));
  // From the least normal one to its double, where steps are as below it.
  const auto moved = hn::IfThenElseZero(hn::Lt(x, least), least);
  const auto below = hn::And(hn::BitCast(bits, hn::Add(x, moved)), hn::Set(bits, ~(last - 1)));
  const auto above = hn::Add(below, hn::Set(bits, last));
  const auto lower = hn::Min(hn::Sub(hn::BitCast(doubles, below), moved), high);
  const auto upper = hn::Min(hn::Sub(hn::BitCast(doubles, above), moved), high);
  return hn::Max(hn::Mul(lower, hn::Sub(x2, lower)), hn::Mul(upper, hn::Sub(x2, upper)));
}

// No multiplication is fused with an addition: processors without that would differ.
template <bool linear, bool symmetric, bool floats = false>
HWY_INLINE double sum_of_gains(const WeightedValues& of, const LevelSet& levels, double inverse) {
  const GainDoubles doubles;
  const GainFloats singles;
  constexpr std::size_t lanes_at_most = gain_sums;
  const std::size_t lanes = hn::Lanes(doubles);
  const auto shift = hn::Set(doubles, of.shift);
  const auto twice = hn::Set(doubles, 2 * inverse);
  const auto rounder = hn::Set(doubles, 0x1.8p52);
  alignas(64) std::array<double, lanes_at_most> sums{};
  for (std::size_t i = 0; i < of.count; i += gain_sums) {
    for (std::size_t part = 0; part < gain_sums; part += lanes) {
      const auto w = hn::PromoteTo(doubles, hn::LoadU(singles, of.values + i + part));
      auto x2 = hn::Mul(hn::Add(w, shift), twice);
      if constexpr (symmetric) x2 = hn::Abs(x2);
      GainVec gain;
      if constexpr (linear) {
        auto q = hn::Mul(x2, hn::Set(doubles, 0.5));
        q = hn::Min(hn::Max(q, hn::Set(doubles, levels.low)), hn::Set(doubles, levels.high));
        q = hn::Sub(hn::Add(q, rounder), rounder);
        gain = hn::Mul(q, hn::Sub(x2, q));
      } else if constexpr (floats) {
        gain = gain_of_floats(levels, x2);
      } else {
        auto level = hn::Set(doubles, levels.values[0]);
        gain = hn::Mul(level, hn::Sub(x2, level));
        for (std::size_t j = 1; j < levels.count; ++j) {
          level = hn::Set(doubles, levels.values[j]);
          gain = hn::Max(gain, hn::Mul(level, hn::Sub(x2, level)));
        }
      }
      const auto h = hn::PromoteTo(doubles, hn::LoadU(singles, of.weights + i + part));
      const auto sum = hn::Load(doubles, sums.data() + part);
      hn::Store(hn::Add(sum, hn::Mul(h, gain)), doubles, sums.data() + part);
    }
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double level_gain(const WeightedValues& of, const LevelSet& levels, double inverse) {
  if (levels.is_linear) return sum_of_gains<true, false>(of, levels, inverse);
  if (levels.mantissa_bits > 0) return sum_of_gains<false, true, true>(of, levels, inverse);
  if (levels.is_symmetric) return sum_of_gains<false, true>(of, levels, inverse);
  return sum_of_gains<false, false>(of, levels, inverse);
}

// A vector of scales for each of the values.
template <bool linear, bool symmetric>
HWY_INLINE void sums_of_gains(const WeightedValues& of, const LevelSet& levels,
                              const float* inverses, std::size_t count, float* gains) {
  const hn::CappedTag<float, gains_at_once> floats;
  constexpr std::size_t most_levels = 256;
  std::array<float, most_levels> narrow{};
  if constexpr (!linear) {
    for (std::size_t j = 0; j < levels.count; ++j) {
      narrow[j] = static_cast<float>(levels.values[j]);
    }
  }
  const auto low = hn::Set(floats, static_cast<float>(levels.low));
  const auto high = hn::Set(floats, static_cast<float>(levels.high));
  const auto rounder = hn::Set(floats, 0x1.8p23F);
  const auto half = hn::Set(floats, 0.5F);
  for (std::size_t k = 0; k < count; k += hn::Lanes(floats)) {
    auto twice = hn::LoadU(floats, inverses + k);
    twice = hn::Add(twice, twice);
    auto sum = hn::Zero(floats);
    for (std::size_t i = 0; i < of.count; ++i) {
      if (of.weights[i] == 0) continue;
      auto w = hn::Set(floats, static_cast<float>(static_cast<double>(of.values[i]) + of.shift));
      if constexpr (symmetric) w = hn::Abs(w);
      const auto x2 = hn::Mul(w, twice);
      auto gain = hn::Zero(floats);
      if constexpr (linear) {
        auto q = hn::Min(hn::Max(hn::Mul(x2, half), low), high);
        q = hn::Sub(hn::Add(q, rounder), rounder);
        gain = hn::Mul(q, hn::Sub(x2, q));
      } else {
        auto level = hn::Set(floats, narrow[0]);
        gain = hn::Mul(level, hn::Sub(x2, level));
        for (std::size_t j = 1; j < levels.count; ++j) {
          level = hn::Set(floats, narrow[j]);
          gain = hn::Max(gain, hn::Mul(level, hn::Sub(x2, level)));
        }
      }
      sum = hn::Add(sum, hn::Mul(hn::Set(floats, of.weights[i]), gain));
    }
    hn::StoreU(sum, floats, gains + k);
  }
}

void level_gains(const WeightedValues& of, const LevelSet& levels, const float* inverses,
                 std::size_t count, float* gains) {
  if (levels.is_linear) {
    sums_of_gains<true, false>(of, levels, inverses, count, gains);
  } else if (levels.is_symmetric) {
    sums_of_gains<false, true>(of, levels, inverses, count, gains);
  } else {
    sums_of_gains<false, false>(of, levels, inverses, count, gains);
  }
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(level_gain);
HWY_EXPORT(level_gains);

double level_gain(const WeightedValues& of, const LevelSet& levels, double inverse) noexcept {
  return HWY_DYNAMIC_DISPATCH(level_gain)(of, levels, inverse);
}

void level_gains(const WeightedValues& of, const LevelSet& levels, const float* inverses,
                 std::size_t count, float* gains) noexcept {
  HWY_DYNAMIC_DISPATCH(level_gains)(of, levels, inverses, count, gains);
}

}  // namespace quadrant::inline v0::kernels
#endif
