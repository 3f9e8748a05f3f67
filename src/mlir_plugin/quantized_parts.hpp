// Constants that a pass of ours made of a weight, beside its codes: scales, minima, zero points and
// tables.
#pragma once

#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/Operation.h>

namespace quadrant::inline v0::mlir_plugin {

/// A constant that says so of itself (`quadrant.part`): what looks one of them up, or multiplies by
/// it, does not make it a weight.
[[nodiscard]] mlir::Value make_part(mlir::OpBuilder& builder, mlir::Location location,
                                    mlir::DenseElementsAttr contents);

[[nodiscard]] bool is_part(mlir::Operation& op);

}  // namespace quadrant::inline v0::mlir_plugin
