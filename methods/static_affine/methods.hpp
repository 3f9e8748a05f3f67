// The operations that static_affine knows, one file a family; static_affine.cpp lists them.
#pragma once

#include "quadrant/methods/static_affine.hpp"

namespace quadrant::inline v0::static_affine {

void register_constants(StaticAffine::Registration& methods);
void register_borders(StaticAffine::Registration& methods);
void register_products(StaticAffine::Registration& methods);
void register_arithmetic(StaticAffine::Registration& methods);
void register_clamps(StaticAffine::Registration& methods);
void register_moves(StaticAffine::Registration& methods);
void register_recurrent(StaticAffine::Registration& methods);

}  // namespace quadrant::inline v0::static_affine
