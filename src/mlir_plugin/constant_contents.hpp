// What operations that move, cut, join and cast elements make of constants.
#pragma once

#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Operation.h>

#include <cstddef>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Elements in row-major order, as the type has them in memory.
struct Contents {
  mlir::RankedTensorType type;
  ConstantBytes held;

  [[nodiscard]] const std::byte* data() const { return held.bytes().data(); }
};

/// The operands whose elements the operation's one result has, in another place or another float
/// type. Empty for operations that `evaluate` does not know, for open extents, where a place or a
/// filling is computed at run time, and where types and places do not fit together, which MLIR does
/// not verify of all of them.
[[nodiscard]] std::vector<mlir::Value> sources_of(mlir::Operation& op);

/// The result of an operation that has sources, from theirs, in their order.
[[nodiscard]] Contents evaluate(mlir::Operation& op, std::span<const Contents* const> sources);

/// Of an operation that holds a constant, where it is; its float elements are of 16 to 64 bits.
[[nodiscard]] Expected<Contents> read_contents(mlir::Operation& constant);

/// A constant with these contents in front of `op`, with its location and attributes. `name`: of a
/// resource, where they become one.
[[nodiscard]] Expected<mlir::Value> make_constant(mlir::Operation& op, const Contents& contents,
                                                  std::string_view name);

}  // namespace quadrant::inline v0::mlir_plugin
