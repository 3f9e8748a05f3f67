// The operations that weight-only knows, one file a family; weight_only.cpp lists them.
#pragma once

#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::weight_only {

void register_parameters(WeightOnly::Registration& methods);
void register_moves(WeightOnly::Registration& methods);
void register_lookup(WeightOnly::Registration& methods);
void register_products(WeightOnly::Registration& methods);
void register_einsum(WeightOnly::Registration& methods);
void register_recurrent(WeightOnly::Registration& methods);
void register_addition(WeightOnly::Registration& methods);

}  // namespace quadrant::inline v0::weight_only
