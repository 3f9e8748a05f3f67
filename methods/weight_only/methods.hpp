// The operations that weight-only knows, one file each; weight_only.cpp lists them.
#pragma once

#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::weight_only {

void register_parameters(WeightOnly::Registration& methods);
void register_transparent(WeightOnly::Registration& methods);
void register_matmul(WeightOnly::Registration& methods);
void register_gemm(WeightOnly::Registration& methods);
void register_conv(WeightOnly::Registration& methods);

}  // namespace quadrant::inline v0::weight_only
