// Which operations are sums of products, and what their operands are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

struct Product {
  std::string_view kind;
  std::uint32_t data = 0;
  std::uint32_t weight = 1;
  std::uint32_t bias = 2;
  /// The axis of the weight, of shape `weight`, that the sum keeps; empty: it has none. Never null.
  std::optional<std::int64_t> (*channel)(NodeRef node, const Shape& weight) = nullptr;
  /// The axis of the result along which the channels are; counted from the end where negative.
  std::int64_t result_channel = -1;
  /// Whether codes in the scale of the products can be added to the sum. Never null.
  bool (*adds_bias)(NodeRef node) = nullptr;
};

/// Of the operation's row. Null for other operations.
[[nodiscard]] const Product* find_product(NodeRef node) noexcept;

/// Whether it is one of images, along axes that follow batch and channels: `conv`,
/// `conv_transpose`. The others are products of matrices.
[[nodiscard]] constexpr bool is_convolution(const Product& product) noexcept {
  return product.result_channel > 0;
}

}  // namespace quadrant::inline v0
