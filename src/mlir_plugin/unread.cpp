#include "mlir_plugin/unread.hpp"

#include <llvm/ADT/DenseSet.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace quadrant::inline v0::mlir_plugin {

void erase_unread(std::vector<mlir::Operation*> operations) {
  llvm::DenseSet<mlir::Operation*> erased;
  while (!operations.empty()) {
    mlir::Operation* const op = operations.back();
    operations.pop_back();
    if (erased.contains(op) || !mlir::isOpTriviallyDead(op)) continue;
    for (const mlir::Value operand : op->getOperands()) {
      if (mlir::Operation* const maker = operand.getDefiningOp()) operations.push_back(maker);
    }
    erased.insert(op);
    op->erase();
  }
}

}  // namespace quadrant::inline v0::mlir_plugin
