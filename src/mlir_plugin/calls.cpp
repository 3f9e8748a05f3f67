#include "mlir_plugin/calls.hpp"

#include <mlir/IR/SymbolTable.h>

namespace quadrant::inline v0::mlir_plugin {
namespace {

mlir::Attribute name_of(mlir::FunctionOpInterface function) {
  return mlir::FlatSymbolRefAttr::get(function.getNameAttr());
}

}  // namespace

Calls::Calls(mlir::Operation* module) {
  module->walk([&](mlir::Operation* op) {
    const bool is_call = op->getName().getStringRef() == "func.call" &&
                         mlir::SymbolTable::getNearestSymbolTable(op) == module;
    for (const mlir::NamedAttribute& named : op->getAttrs()) {
      named.getValue().walk([&](mlir::SymbolRefAttr name) {
        if (is_call && named.getName() == "callee") {
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

}  // namespace quadrant::inline v0::mlir_plugin
