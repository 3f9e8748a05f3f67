// Public functions that are called with constants: the calls get private copies, into which the
// constants may go.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <vector>

namespace quadrant::inline v0::mlir_plugin {

/// Arguments that are matrices or more, which products have on the right, or lookups read.
[[nodiscard]] std::vector<unsigned> weights_of(mlir::FunctionOpInterface function);

/// Whether the operand is a constant that can be read.
[[nodiscard]] bool passes_constant(mlir::Operation* call, unsigned operand);

class PrivateCopies {
 public:
  /// Copies functions of `module` that others may call, too, for those of its own calls that pass
  /// constants for weights; each once, no copy, and none with `quadrant.weight`.
  void make(mlir::Operation* module);

  /// Whether a constant that all calls pass for the argument may go into its function: of a copy,
  /// what is no weight are data.
  [[nodiscard]] bool may_take_in(mlir::BlockArgument argument) const;

 private:
  llvm::DenseSet<mlir::Operation*> copied_;
  llvm::DenseSet<mlir::Operation*> copies_;
};

}  // namespace quadrant::inline v0::mlir_plugin
