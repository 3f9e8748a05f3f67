// Contents of constants, whole in memory but for splats.
#pragma once

#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Operation.h>

#include <cstddef>
#include <string_view>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Elements in row-major order, as the type has them in memory; of a splat, the one that all are.
struct Contents {
  mlir::RankedTensorType type;
  ConstantBytes held;
  bool is_splat = false;

  [[nodiscard]] const std::byte* data() const { return held.bytes().data(); }
};

/// Of an operation that holds a constant, where it is; its float elements are of 16 to 64 bits.
[[nodiscard]] Expected<Contents> read_contents(mlir::Operation& constant);

/// A constant with these contents in front of `op`, with its location and attributes. `name`: of a
/// resource, where they become one.
[[nodiscard]] Expected<mlir::Value> make_constant(mlir::Operation& op, const Contents& contents,
                                                  std::string_view name);

}  // namespace quadrant::inline v0::mlir_plugin
