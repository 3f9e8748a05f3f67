// LpNormalization: divides by the sum of the magnitudes (p = 1), or by the square root of the sum
// of the squares (p = 2). Lanes of zeros stay zeros.
#include <algorithm>
#include <cmath>

#include "ir/ops/normalization.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> lp_normalization(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, -1, x.rank()));
  const auto p = call.attribute_or<std::int64_t>("p", 2);
  if (p != 1 && p != 2)
    return KernelCall::refuse(fmt::format("p = {}, where 1 and 2 are known", p));
  return map_lanes(call, lanes_along(x.shape(), axis), [p]<class T>(std::span<T> lane) {
    double largest = 0;
    for (const T value : lane) largest = std::max(largest, std::abs(double{value}));
    if (largest == 0) return;
    // Squares of what is far from 1 may be 0 or infinite.
    const double unit = std::isfinite(largest) ? largest : 1;
    double sum = 0;
    for (const T value : lane) {
      const double part = std::abs(double{value}) / unit;
      sum += p == 1 ? part : part * part;
    }
    const double norm = unit * (p == 1 ? sum : std::sqrt(sum));
    for (T& value : lane) value = static_cast<T>(value / norm);
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_lp_normalization() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::LpNormalization::kind, lp_normalization, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
