// The library's weight-only scheme, taught Kiln's operations.
#pragma once

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/support/error.hpp"

namespace kiln {

[[nodiscard]] quadrant::Expected<quadrant::Registry> weight_only(
    quadrant::WeightOnlyOptions options = {});

}  // namespace kiln
