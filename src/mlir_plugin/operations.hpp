// The rows of operations that MLIR has and the library's table has not.
#pragma once

#include <span>

#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::mlir_plugin {

[[nodiscard]] std::span<const Operation> own_operations() noexcept;

}  // namespace quadrant::inline v0::mlir_plugin
