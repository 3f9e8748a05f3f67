// Elements of tensors that belong to one another, read one at a time.
#pragma once

#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/AffineMap.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>

#include <vector>

namespace quadrant::inline v0::mlir_plugin {

/// Each `tensor.extract` of `tensor`.
[[nodiscard]] std::vector<mlir::tensor::ExtractOp> single_reads(mlir::Value tensor);

/// The element of `tensor` that belongs to that at `indices` of another one. The results of `map`
/// are indices, or such divided by a constant.
[[nodiscard]] mlir::Value read_element(mlir::OpBuilder& builder, mlir::Location location,
                                       mlir::Value tensor, mlir::AffineMap map,
                                       mlir::ValueRange indices);
/// Where that is.
[[nodiscard]] llvm::SmallVector<mlir::Value> mapped_indices(mlir::OpBuilder& builder,
                                                            mlir::Location location,
                                                            mlir::AffineMap map,
                                                            mlir::ValueRange indices);

/// A float as another float type.
[[nodiscard]] mlir::Value resize(mlir::OpBuilder& builder, mlir::Location location,
                                 mlir::Value value, mlir::FloatType type);

}  // namespace quadrant::inline v0::mlir_plugin
