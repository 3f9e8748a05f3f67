// All operations that the interpreter knows.
#pragma once

#include <span>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

/// Sorted by kind, each once. Put together by the first call, in whichever thread.
[[nodiscard]] std::span<const KernelEntry> builtin_kernels() noexcept;

}  // namespace quadrant::inline v0
