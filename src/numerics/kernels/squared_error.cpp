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
HWY_INLINE hn::Vec<Doubles> squares(const float* values, const CodedBy& coded) {
  const Floats floats;
  const auto by = hn::Set(floats, rounder);
  const auto s = hn::Set(floats, coded.scale);
  const auto w = hn::LoadU(floats, values);
  auto q = hn::Div(w, s);
  q = hn::Min(hn::Max(q, hn::Set(floats, coded.lowest)), hn::Set(floats, coded.highest));
  q = hn::Sub(hn::Add(q, by), by);
  const Doubles doubles;
  const auto error = hn::Sub(hn::PromoteTo(doubles, w), hn::PromoteTo(doubles, hn::Mul(s, q)));
  return hn::Mul(error, error);
}

HWY_INLINE double sum_of(const std::array<double, sums>& all) {
  return ((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]));
}

// For both, or where that is all that is wanted, the first alone.
template <bool both>
HWY_INLINE std::array<double, 2> errors_of(const float* values, std::size_t count,
                                           const CodedBy& first, const CodedBy& second) {
  const Doubles doubles;
  const std::size_t whole = count / sums * sums;
  std::array<float, sums> few{};  // zeros cost nothing
  for (std::size_t i = whole; i < count; ++i) few[i - whole] = values[i];
  alignas(64) std::array<double, sums> all_first{};
  alignas(64) std::array<double, sums> all_second{};
  // Sum i is of every eighth value from i on, however many fit a vector.
  for (std::size_t part = 0; part < sums; part += hn::Lanes(doubles)) {
    auto of_first = hn::Zero(doubles);
    auto of_second = hn::Zero(doubles);
    const auto add = [&](const float* from) HWY_ATTR {
      of_first = hn::Add(of_first, squares(from, first));
      if constexpr (both) of_second = hn::Add(of_second, squares(from, second));
    };
    for (std::size_t i = part; i < whole; i += sums) add(values + i);
    if (whole < count) add(few.data() + part);
    hn::Store(of_first, doubles, all_first.data() + part);
    hn::Store(of_second, doubles, all_second.data() + part);
  }
  return {sum_of(all_first), sum_of(all_second)};
}

double squared_error(const float* values, std::size_t count, const CodedBy& by) {
  return errors_of<false>(values, count, by, by)[0];
}

std::array<double, 2> squared_errors(const float* values, std::size_t count,
                                     const std::array<CodedBy, 2>& by) {
  return errors_of<true>(values, count, by[0], by[1]);
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(squared_error);
HWY_EXPORT(squared_errors);

double squared_error(const float* values, std::size_t count, const CodedBy& by) noexcept {
  return HWY_DYNAMIC_DISPATCH(squared_error)(values, count, by);
}

std::array<double, 2> squared_errors(const float* values, std::size_t count,
                                     const std::array<CodedBy, 2>& by) noexcept {
  return HWY_DYNAMIC_DISPATCH(squared_errors)(values, count, by);
}

}  // namespace quadrant::inline v0::kernels
#endif
