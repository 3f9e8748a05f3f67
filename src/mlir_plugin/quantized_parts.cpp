#include "mlir_plugin/quantized_parts.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>

#include "mlir_plugin/headers.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

constexpr llvm::StringLiteral part_mark = "quadrant.part";

}  // namespace

mlir::Value make_part(mlir::OpBuilder& builder, mlir::Location location,
                      mlir::DenseElementsAttr contents) {
  mlir::Operation* const made = make_op<mlir::arith::ConstantOp>(builder, location, contents);
  made->setAttr(part_mark, builder.getUnitAttr());
  return made->getResult(0);
}

bool is_part(mlir::Operation& op) { return op.hasAttr(part_mark); }

}  // namespace quadrant::inline v0::mlir_plugin
