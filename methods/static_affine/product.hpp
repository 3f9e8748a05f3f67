// Which operations are sums of products, and what their operands are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::static_affine {

struct Product {
  std::string_view kind;
  std::uint32_t data = 0;
  std::uint32_t weight = 1;
  std::uint32_t bias = 2;
  /// The axis of the weight, of shape `weight`, that the sum keeps; empty: it has none.
  std::optional<std::int64_t> (*channel)(NodeRef node, const Shape& weight) = nullptr;
  /// Whether codes in the scale of the products can be added to the sum.
  bool (*adds_bias)(NodeRef node) = nullptr;
};

/// Null for operations of another kind.
[[nodiscard]] const Product* find_product(std::string_view kind) noexcept;

/// Whether nobody but the node reads this constant operand.
[[nodiscard]] bool is_only_reader(NodeRef node, std::uint32_t operand);

/// The bias that can be codes, where the weight has a scale for each of `weight_groups`; null where
/// it stays float: it is computed, or its elements are not the channels'; or another operation
/// reads it too, in another scale; or that scale is not known in time. `is_derived`: codes are in
/// the scale of the products, and not in one of their own.
[[nodiscard]] const Constant* coded_bias(NodeRef node, const Product& product,
                                         const Granularity& weight_groups, bool is_derived);

}  // namespace quadrant::inline v0::static_affine
