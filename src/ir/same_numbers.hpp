// What codes are under two types.
#pragma once

#include "ir/quantized_type.hpp"

namespace quadrant::inline v0 {

/// Each code is the same number under both, which may say otherwise how far codes go. Reads scales
/// and zero points whole; false where they cannot be read.
[[nodiscard]] bool have_same_numbers(const UniformType& a, const UniformType& b);

}  // namespace quadrant::inline v0
