// Operations that move elements, of codes instead of floats.
#pragma once

#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Operation.h>

namespace quadrant::inline v0::mlir_plugin {

/// Whether its result is elements of operand 0, as they are.
[[nodiscard]] bool is_move(mlir::Operation* op);

/// Makes `op`, a move whose operand 0 is codes by now, move them: its result has elements of type
/// `codes`. Returns the operation that does, `op` itself or what takes its place.
[[nodiscard]] mlir::Operation* move_codes(mlir::Operation* op, mlir::IntegerType codes);

}  // namespace quadrant::inline v0::mlir_plugin
