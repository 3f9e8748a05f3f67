// Sums of products, of the library's operations and of others'.
#pragma once

#include <cstdint>
#include <memory>

#include "quadrant/ir/operations.hpp"
#include "quadrant/methods/static_affine.hpp"

namespace quadrant::inline v0::static_affine {

/// The axis of a product's result along which the channels of its weight are; -1: none.
using ChannelsOfSum = std::int64_t (*)(NodeRef product);

/// The method of operations of kind `product.kind`, which may be another IR's. Refers to `product`.
/// With `channels`, sums whose readers want floats are not rounded to codes of their own:
/// the result is int32, in the scale of the products, and whoever reads it dequantizes that. Null:
/// the IR has no such operation.
void add_product(StaticAffine::Registration& methods, const Product& product,
                 ChannelsOfSum channels = nullptr);

/// The type of sums of products of codes: the scale is the product of both scales (the MLIR design
/// document on quantization, "Fixed point values"). `axis`: of the sum's channels, where the
/// weight has some. Null where there is none, or scales cannot be read.
[[nodiscard]] std::shared_ptr<const UniformType> sum_type(const UniformType& data,
                                                          const UniformType& weight,
                                                          std::int64_t axis, ElementType expressed);

}  // namespace quadrant::inline v0::static_affine
