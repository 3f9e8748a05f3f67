// LpNormalization: divides by the sum of the magnitudes (p = 1), or by the square root of the sum
// of the squares (p = 2). For lanes of zeros ONNX's tests of opset 22 want 0 / 0; before that
// nothing said what happens, and ONNX Runtime lets them stay.
#include <cmath>

#include "runtime/ops/lanes.hpp"
#include "runtime/ops/normalization.hpp"

namespace quadrant::inline v0::interpreted {

Expected<Tensors> lp_normalization(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, -1, x.rank()));
  const auto p = call.attribute_or<std::int64_t>("p", 2);
  if (p != 1 && p != 2)
    return KernelCall::refuse(fmt::format("p = {}, where 1 and 2 are known", p));
  const bool zeros_stay = call.opset() < 22;
  return map_lanes(call, lanes_along(x.shape(), axis), [=]<class T>(std::span<T> lane) {
    double sum = 0;
    for (const T value : lane) sum += p == 1 ? std::abs(double{value}) : double{value} * value;
    const double norm = p == 1 ? sum : std::sqrt(sum);
    if (norm == 0 && zeros_stay) return;
    for (T& value : lane) value = static_cast<T>(value / norm);
  });
}

}  // namespace quadrant::inline v0::interpreted
