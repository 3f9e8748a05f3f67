// Weighted sums of neighbouring elements along one axis.
#pragma once

#include "quadrant/ir/type.hpp"
#include "runtime/ops/resized_axis.hpp"

namespace quadrant::inline v0::interpreted {

/// `x`, of float32 or float64, with `extent` elements along `axis`, each made of its taps.
[[nodiscard]] Expected<Tensor> resample_axis(const Tensor& x, std::int64_t axis,
                                             std::int64_t extent, const Taps& taps);

}  // namespace quadrant::inline v0::interpreted
