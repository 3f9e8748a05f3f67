#include "numerics/kernels/squared_error.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/squared_error.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t sums = 8;
constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: see quantize.cpp

using Doubles = hn::CappedTag<double, sums>;
using Floats = hn::Rebind<float, Doubles>;

// Squares of as many values as there are doubles in a vector.
HWY_INLINE hn::Vec<Doubles> squares(const float* values, float scale, float lowest, float highest) {
  const Floats floats;
  const auto by = hn::Set(floats, rounder);
  const auto s = hn::Set(floats, scale);
  const auto w = hn::LoadU(floats, values);
  auto q = hn::Div(w, s);
  q = hn::Min(hn::Max(q, hn::Set(floats, lowest)), hn::Set(floats, highest));
  q = hn::Sub(hn::Add(q, by), by);
  const Doubles doubles;
  const auto error = hn::Sub(hn::PromoteTo(doubles, w), hn::PromoteTo(doubles, hn::Mul(s, q)));
  return hn::Mul(error, error);
}

double squared_error(const float* values, std::size_t count, float scale, float lowest,
                     float highest) {
  const Doubles doubles;
  const std::size_t step = hn::Lanes(doubles);
  alignas(64) std::array<double, sums> all{};
  const auto add_eight = [&](const float* from) HWY_ATTR {
    for (std::size_t i = 0; i < sums; i += step) {
      const auto sum =
          hn::Add(hn::Load(doubles, all.data() + i), squares(from + i, scale, lowest, highest));
      hn::Store(sum, doubles, all.data() + i);
    }
  };
  std::size_t i = 0;
  for (; i + sums <= count; i += sums) add_eight(values + i);
  if (i < count) {
    std::array<float, sums> few{};  // zeros cost nothing
    for (std::size_t rest = i; rest < count; ++rest) few[rest - i] = values[rest];
    add_eight(few.data());
  }
  return ((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]));
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(squared_error);

double squared_error(const float* values, std::size_t count, float scale, float lowest,
                     float highest) noexcept {
  return HWY_DYNAMIC_DISPATCH(squared_error)(values, count, scale, lowest, highest);
}

}  // namespace quadrant::inline v0::kernels
#endif
