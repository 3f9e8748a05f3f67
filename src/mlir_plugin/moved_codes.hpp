// Operations that move elements, of codes instead of real numbers.
#pragma once

#include <mlir/IR/Operation.h>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Makes `op`, whose operand 0 is codes by now, move them: its result has elements of type `codes`.
/// Returns the operation that does, `op` itself or what takes its place. `impossible` for
/// operations that compute.
[[nodiscard]] Expected<mlir::Operation*> move_codes(mlir::Operation* op, mlir::IntegerType codes);

}  // namespace quadrant::inline v0::mlir_plugin
