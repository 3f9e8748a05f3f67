// The library's schemes, with methods for MLIR's operations.
#pragma once

#include "quadrant/engine/registry.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// weight_only, which knows MlirProduct, too.
[[nodiscard]] Expected<Registry> mlir_weight_only_registry(const WeightOnlyOptions& options);

}  // namespace quadrant::inline v0::mlir_plugin
