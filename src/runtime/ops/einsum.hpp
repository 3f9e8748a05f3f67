// Sums of products over labelled axes.
#pragma once

#include <array>

#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction einsum;

inline constexpr std::array einsums{KernelEntry{"einsum", einsum, HalfFloats::widened}};

}  // namespace quadrant::inline v0::interpreted
