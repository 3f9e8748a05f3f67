// Weights as they are stored: what they take, what their scales are, and their codes.
#pragma once

#include <memory>

#include "quadrant/engine/method.hpp"
#include "quadrant/engine/rewriting.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::weight_only {

/// Bytes in float, and as codes of `groups` with their parameters. `shape`: that of the weight.
[[nodiscard]] StorageChange stored_size(const WeightOnly& scheme, const Constant& weight,
                                        const Shape& shape, const Granularity& groups);

/// For the data pass: keeps scales and zero points for `quantized_type`, or refuses NaN.
[[nodiscard]] Expected<void> examine_weight(const WeightOnly& scheme, const Constant& weight,
                                            const Granularity& groups, DataContext& context);

/// The type that the data pass found for the weight of `node`.
[[nodiscard]] std::shared_ptr<const UniformType> quantized_type(const WeightOnly& scheme,
                                                                NodeRef node, ElementType expressed,
                                                                const Granularity& groups,
                                                                const RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
