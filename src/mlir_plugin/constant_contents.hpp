// What operations that move, cut, join and cast elements make of constants.
#pragma once

#include <mlir/IR/Operation.h>
#include <mlir/IR/Value.h>

#include <span>
#include <vector>

#include "mlir_plugin/contents.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// The operands whose elements the operation's one result has, in another place or another float
/// type. Empty for operations that `evaluate` does not know, for open extents, where a place or a
/// filling is computed at run time, and where types and places do not fit together, which MLIR does
/// not verify of all of them.
[[nodiscard]] std::vector<mlir::Value> sources_of(mlir::Operation& op);

/// The result of an operation that has sources, from theirs, in their order.
[[nodiscard]] Contents evaluate(mlir::Operation& op, std::span<const Contents* const> sources);

}  // namespace quadrant::inline v0::mlir_plugin
