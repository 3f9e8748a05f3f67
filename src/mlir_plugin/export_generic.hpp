// `linalg.generic` that computes element by element, as the library's operations.
#pragma once

#include <mlir/IR/Operation.h>

#include <string_view>

#include "mlir_plugin/exported_values.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Whether `op` is a `linalg.generic` without sums, of one result, whose operands lie as the result
/// does, along all its axes or some of them.
[[nodiscard]] bool is_elementwise_generic(mlir::Operation& op);

/// Its result: an operation for each one in its body. `impossible` for those that the library has
/// not, and for what the body reads from outside, unless it is a number.
[[nodiscard]] Expected<Value> export_generic(ExportedValues& values, mlir::Operation& op);

/// The library's operation on floats that `name`, of arith, math, linalg or tosa, computes element
/// by element; empty: none.
[[nodiscard]] std::string_view elementwise_kind(llvm::StringRef name);

}  // namespace quadrant::inline v0::mlir_plugin
