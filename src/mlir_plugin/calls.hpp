// Who calls the functions of a module.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <vector>

namespace quadrant::inline v0::mlir_plugin {

/// Through how many calls, one inside the other, weights are followed.
inline constexpr int most_nested_calls = 8;

/// Those that `module` itself holds (`func.func`), not those of a module inside it.
[[nodiscard]] std::vector<mlir::FunctionOpInterface> functions_of(mlir::Operation* module);

class Calls {
 public:
  /// Looks at each attribute once.
  explicit Calls(mlir::Operation* module);

  /// Its `func.call`s; empty: there are none.
  [[nodiscard]] llvm::ArrayRef<mlir::Operation*> of(mlir::FunctionOpInterface function) const;
  /// Whether nothing else in the module refers to it, no call with other operands either.
  [[nodiscard]] bool are_all(mlir::FunctionOpInterface function) const;
  /// Whether others cannot call it, either.
  [[nodiscard]] bool are_known(mlir::FunctionOpInterface function) const;

 private:
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::Operation*>> calls_;
  llvm::DenseSet<mlir::Attribute> others_;  // what else is referred to
};

}  // namespace quadrant::inline v0::mlir_plugin
