// The biases of sums of products that can be codes.
#pragma once

#include <cstdint>

#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::static_affine {

/// Whether only the node reads this constant operand.
[[nodiscard]] bool is_only_reader(NodeRef node, std::uint32_t operand);

/// The bias that can be codes, where the weight has a scale for each of `weight_groups`; null where
/// it stays float: it is computed, or its elements are not the channels'; or another operation
/// reads it too, in another scale; or that scale is not known in time. `is_derived`: codes are in
/// the scale of the products, and not in one of their own.
[[nodiscard]] const Constant* coded_bias(NodeRef node, const Product& product,
                                         const Granularity& weight_groups, bool is_derived);

}  // namespace quadrant::inline v0::static_affine
