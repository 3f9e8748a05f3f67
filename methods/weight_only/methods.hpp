// The operations that weight-only knows, one file each; weight_only.cpp lists them.
#pragma once

#include "quadrant/engine/registry.hpp"

namespace quadrant::inline v0::weight_only {

void register_parameters(MethodRegistration& methods);
void register_transparent(MethodRegistration& methods);
void register_matmul(MethodRegistration& methods);
void register_gemm(MethodRegistration& methods);
void register_conv(MethodRegistration& methods);

}  // namespace quadrant::inline v0::weight_only
