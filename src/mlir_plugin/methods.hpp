// The library's schemes, with methods for MLIR's operations.
#pragma once

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// `axis`, if blocks divide it evenly, else -1. Types of MLIR have blocks of one size alone: along
/// others, a weight has a scale for each channel.
[[nodiscard]] std::int64_t divided_axis(const Shape& shape, std::int64_t axis,
                                        const WeightOnlyOptions& options);

/// static_affine, which knows it, too. `has_sums`: a product whose readers want floats gives
/// them its sum, which is not rounded.
[[nodiscard]] Expected<Registry> mlir_static_registry(StaticAffineOptions options, bool has_sums);

/// weight_only, which knows MlirProduct, too.
[[nodiscard]] Expected<Registry> mlir_weight_only_registry(const WeightOnlyOptions& options);

}  // namespace quadrant::inline v0::mlir_plugin
