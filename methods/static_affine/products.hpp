// Sums of products, of the library's operations and of others'.
#pragma once

#include "quadrant/ir/products.hpp"
#include "quadrant/methods/static_affine.hpp"

namespace quadrant::inline v0::static_affine {

/// The method of operations of kind `product.kind`, which may be another IR's. Refers to `product`.
void add_product(StaticAffine::Registration& methods, const Product& product);

}  // namespace quadrant::inline v0::static_affine
