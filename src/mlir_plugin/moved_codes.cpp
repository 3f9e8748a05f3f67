#include "mlir_plugin/moved_codes.hpp"

#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Builders.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/types.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

// It writes into a destination, of the element type of what is written.
mlir::Operation* move_into_codes(mlir::linalg::TransposeOp op, mlir::IntegerType codes) {
  mlir::OpBuilder builder(op);
  const mlir::Value before = op.getInit();
  const mlir::Value destination = make_op<mlir::tensor::EmptyOp>(
      builder, op.getLoc(), mlir::tensor::getMixedSizes(builder, op.getLoc(), before), codes);
  const auto moved = make_op<mlir::linalg::TransposeOp>(builder, op.getLoc(), op.getInput(),
                                                        destination, op.getPermutation());
  moved->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(moved);
  op->erase();
  if (mlir::Operation* const made = before.getDefiningOp()) {
    if (mlir::isOpTriviallyDead(made)) made->erase();
  }
  return moved;
}

}  // namespace

bool is_move(mlir::Operation* op) {
  static constexpr std::array<std::string_view, 8> moves{
      "linalg.transpose", "tensor.expand_shape", "tensor.collapse_shape", "tensor.reshape",
      "tensor.cast",      "tosa.reshape",        "tosa.transpose",        "tosa.identity"};
  return std::ranges::find(moves, std::string_view(op->getName().getStringRef())) != moves.end();
}

mlir::Operation* move_codes(mlir::Operation* op, mlir::IntegerType codes) {
  if (const auto transpose = llvm::dyn_cast<mlir::linalg::TransposeOp>(op)) {
    return move_into_codes(transpose, codes);
  }
  mlir::OpResult result = op->getResult(0);
  result.setType(with_element(result.getType(), codes));
  return op;
}

}  // namespace quadrant::inline v0::mlir_plugin
