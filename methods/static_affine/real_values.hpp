// The real values of a small constant.
#pragma once

#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::static_affine {

/// As float32, read whole. Of a float type.
[[nodiscard]] Expected<std::vector<float>> read_reals(const Constant& constant);

}  // namespace quadrant::inline v0::static_affine
