// Sums of products as the library has them.
#pragma once

#include <mlir/IR/Operation.h>

#include "mlir_plugin/exported_values.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// The result of `op`, an MlirProduct: a `matmul` or a `conv`, with transposes where they lay out
/// operands otherwise, and what the sum begins with added. Absent: it is neither.
[[nodiscard]] Expected<Value> export_product(ExportedValues& values, mlir::Operation& op);

}  // namespace quadrant::inline v0::mlir_plugin
