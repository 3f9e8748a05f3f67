// The second form of a product with a quantized weight: codes in the sum, one multiplication by the
// scale behind it.
#pragma once

#include <optional>
#include <span>

#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::weight_only {

/// For weights that the node reads as codes by now: one at least.
[[nodiscard]] Expected<void> put_behind(NodeRef node, std::span<const Weight> weights,
                                        const std::optional<Bias>& bias, RewriteContext& context);

/// `made` = `value` times the constant `scale` takes the place of `value`, and its name.
[[nodiscard]] Expected<void> multiply_behind(Value value, Value scale, RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
