// One number of many: steps that rules make of them.
#pragma once

#include <cstdint>
#include <span>

#include "io/mlir/lower.hpp"

namespace quadrant::inline v0::mlir_ir {

/// Along these axes, in rising order, which the result does not have: `first` and all elements put
/// together by that operation.
[[nodiscard]] Term reduced(LoweredNode& node, const Term& term, std::span<const std::int64_t> axes,
                           const Arithmetic& arithmetic, double first);
/// The sum divided by how many there are.
[[nodiscard]] Term mean_over(LoweredNode& node, const Term& term,
                             std::span<const std::int64_t> axes);
/// With the axes again, of extent 1.
[[nodiscard]] Term with_axes(LoweredNode& node, const Term& term,
                             std::span<const std::int64_t> axes);

/// What the maximum begins with: minus infinity, or the smallest integer.
[[nodiscard]] double least_of(ElementType element);
[[nodiscard]] double most_of(ElementType element);

}  // namespace quadrant::inline v0::mlir_ir
