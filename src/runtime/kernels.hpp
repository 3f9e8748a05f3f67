// All operations that the interpreter knows.
#pragma once

#include <span>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

/// Sorted by kind, each once. Put together by the first call, in whichever thread; where there is
/// no memory for that, the program ends (`noexcept`).
[[nodiscard]] std::span<const KernelEntry> builtin_kernels() noexcept;

}  // namespace quadrant::inline v0
