// What the headers of ops/ declare kernels as.
#pragma once

#include <type_traits>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

/// `Expected<Tensors> name(const KernelCall& call)`.
using KernelFunction = std::remove_pointer_t<Kernel>;

}  // namespace quadrant::inline v0::interpreted
