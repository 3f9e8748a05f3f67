// The range without the outermost values.
#pragma once

#include "numerics/distribution.hpp"
#include "numerics/range_encoding.hpp"

namespace quadrant::inline v0 {

/// See EncodingMethod::percentile. `distribution` is not empty, 50 < percentile <= 100.
[[nodiscard]] RealRange percentile_range(const Distribution& distribution, double percentile);

}  // namespace quadrant::inline v0
