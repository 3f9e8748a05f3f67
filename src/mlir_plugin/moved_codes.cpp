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
template <class Op>
mlir::Operation* move_into_codes(Op op, llvm::ArrayRef<std::int64_t> axes,
                                 mlir::IntegerType codes) {
  mlir::OpBuilder builder(op);
  const mlir::Value before = op.getInit();
  const mlir::Value destination = make_op<mlir::tensor::EmptyOp>(
      builder, op.getLoc(), mlir::tensor::getMixedSizes(builder, op.getLoc(), before), codes);
  const auto moved = make_op<Op>(builder, op.getLoc(), op.getInput(), destination, axes);
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
  static constexpr std::array<std::string_view, 9> moves{
      "linalg.transpose",      "linalg.broadcast", "tensor.expand_shape",
      "tensor.collapse_shape", "tensor.reshape",   "tensor.cast",
      "tosa.reshape",          "tosa.transpose",   "tosa.identity"};
  return std::ranges::find(moves, std::string_view(op->getName().getStringRef())) != moves.end();
}

mlir::Operation* move_codes(mlir::Operation* op, mlir::IntegerType codes) {
  if (auto transpose = llvm::dyn_cast<mlir::linalg::TransposeOp>(op)) {
    return move_into_codes(transpose, transpose.getPermutation(), codes);
  }
  if (auto broadcast = llvm::dyn_cast<mlir::linalg::BroadcastOp>(op)) {
    return move_into_codes(broadcast, broadcast.getDimensions(), codes);
  }
  mlir::OpResult result = op->getResult(0);
  result.setType(with_element(result.getType(), codes));
  return op;
}

}  // namespace quadrant::inline v0::mlir_plugin
