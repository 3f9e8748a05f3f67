// Who calls the functions of a module.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

namespace quadrant::inline v0::mlir_plugin {

/// Through how many calls, one inside the other, weights are followed.
inline constexpr int most_nested_calls = 8;

class Calls {
 public:
  /// Of the functions that `module` itself holds, not those of a module inside it. Looks at each
  /// attribute once.
  explicit Calls(mlir::Operation* module);

  /// Its `func.call`s; empty: there are none.
  [[nodiscard]] llvm::ArrayRef<mlir::Operation*> of(mlir::FunctionOpInterface function) const;
  /// Whether calls are all in the module that refers to it.
  [[nodiscard]] bool are_all(mlir::FunctionOpInterface function) const;

 private:
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::Operation*>> calls_;
  llvm::DenseSet<mlir::Attribute> others_;  // what else is referred to
};

}  // namespace quadrant::inline v0::mlir_plugin
