// Sums of products over labelled axes.
#pragma once

#include <array>

#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> einsum(const KernelCall& call);

inline constexpr std::array einsums{KernelEntry{"einsum", einsum, HalfFloats::widened}};

}  // namespace quadrant::inline v0::interpreted
