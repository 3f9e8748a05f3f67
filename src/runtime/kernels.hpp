// All operations that the interpreter knows.
#pragma once

#include <span>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

/// Sorted by kind.
[[nodiscard]] std::span<const KernelEntry> builtin_kernels() noexcept;

}  // namespace quadrant::inline v0
