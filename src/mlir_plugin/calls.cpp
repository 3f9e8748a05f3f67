#include "mlir_plugin/calls.hpp"

#include <mlir/IR/SymbolTable.h>

namespace quadrant::inline v0::mlir_plugin {
namespace {

mlir::Attribute name_of(mlir::FunctionOpInterface function) {
  return mlir::FlatSymbolRefAttr::get(function.getNameAttr());
}

// Which MLIR does not verify where verification is off.
bool has_operands_of(mlir::Operation* call, mlir::FunctionOpInterface function) {
  if (!function || call->getOperandTypes() != mlir::TypeRange(function.getArgumentTypes())) {
    return false;
  }
  return function.isExternal() ||
         function.getFunctionBody().front().getNumArguments() == function.getNumArguments();
}

}  // namespace

std::vector<mlir::FunctionOpInterface> functions_of(mlir::Operation* module) {
  std::vector<mlir::FunctionOpInterface> all;
  for (mlir::Region& region : module->getRegions()) {
    for (auto function : region.getOps<mlir::FunctionOpInterface>()) {
      if (function->getName().getStringRef() == "func.func") all.push_back(function);
    }
  }
  return all;
}

Calls::Calls(mlir::Operation* module) {
  llvm::DenseMap<mlir::Attribute, mlir::FunctionOpInterface> functions;
  for (const mlir::FunctionOpInterface function : functions_of(module)) {
    functions[name_of(function)] = function;
  }
  module->walk([&](mlir::Operation* op) {
    const bool is_call = op->getName().getStringRef() == "func.call" &&
                         mlir::SymbolTable::getNearestSymbolTable(op) == module;
    for (const mlir::NamedAttribute& named : op->getAttrs()) {
      named.getValue().walk([&](mlir::SymbolRefAttr name) {
        if (is_call && named.getName() == "callee" && has_operands_of(op, functions.lookup(name))) {
          calls_[name].push_back(op);
        } else {
          others_.insert(mlir::FlatSymbolRefAttr::get(name.getRootReference()));
        }
      });
    }
  });
}

llvm::ArrayRef<mlir::Operation*> Calls::of(mlir::FunctionOpInterface function) const {
  const auto found = calls_.find(name_of(function));
  return found == calls_.end() ? llvm::ArrayRef<mlir::Operation*>() : found->second;
}

bool Calls::are_all(mlir::FunctionOpInterface function) const {
  return !others_.contains(name_of(function));
}

bool Calls::are_known(mlir::FunctionOpInterface function) const {
  return are_all(function) &&
         mlir::SymbolTable::getSymbolVisibility(function) == mlir::SymbolTable::Visibility::Private;
}

}  // namespace quadrant::inline v0::mlir_plugin
