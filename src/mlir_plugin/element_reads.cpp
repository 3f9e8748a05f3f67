#include "mlir_plugin/element_reads.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/AffineExpr.h>

#include "mlir_plugin/headers.hpp"

namespace quadrant::inline v0::mlir_plugin {

std::vector<mlir::tensor::ExtractOp> single_reads(mlir::Value tensor) {
  std::vector<mlir::tensor::ExtractOp> reads;
  for (mlir::Operation* const user : tensor.getUsers()) {
    if (auto read = llvm::dyn_cast<mlir::tensor::ExtractOp>(user)) reads.push_back(read);
  }
  return reads;
}

llvm::SmallVector<mlir::Value> mapped_indices(mlir::OpBuilder& builder, mlir::Location location,
                                              mlir::AffineMap map, mlir::ValueRange indices) {
  llvm::SmallVector<mlir::Value> made;
  for (const mlir::AffineExpr place : map.getResults()) {
    const auto divided = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(place);
    const auto axis = llvm::cast<mlir::AffineDimExpr>(divided ? divided.getLHS() : place);
    made.push_back(indices[axis.getPosition()]);
    if (!divided) continue;
    const std::int64_t by = llvm::cast<mlir::AffineConstantExpr>(divided.getRHS()).getValue();
    const mlir::Value extent =
        make_op<mlir::arith::ConstantOp>(builder, location, builder.getIndexAttr(by));
    made.back() = make_op<mlir::arith::DivUIOp>(builder, location, made.back(), extent);
  }
  return made;
}

mlir::Value read_element(mlir::OpBuilder& builder, mlir::Location location, mlir::Value tensor,
                         mlir::AffineMap map, mlir::ValueRange indices) {
  return make_op<mlir::tensor::ExtractOp>(builder, location, tensor,
                                          mapped_indices(builder, location, map, indices));
}

mlir::Value resize(mlir::OpBuilder& builder, mlir::Location location, mlir::Value value,
                   mlir::FloatType type) {
  auto from = llvm::cast<mlir::FloatType>(value.getType());
  if (from == type) return value;
  if (from.getWidth() < type.getWidth()) {
    return make_op<mlir::arith::ExtFOp>(builder, location, type, value);
  }
  return make_op<mlir::arith::TruncFOp>(builder, location, type, value);
}

}  // namespace quadrant::inline v0::mlir_plugin
