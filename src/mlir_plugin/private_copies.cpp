#include "mlir_plugin/private_copies.hpp"

#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/SymbolTable.h>

#include <iterator>

#include "mlir_plugin/calls.hpp"
#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/quantized_parts.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/weight_readers.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

bool is_weight(mlir::BlockArgument argument) {
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
  if (!is_weight_type(type) || type.getRank() < 2) return false;
  const WeightReaders readers = readers_of(argument);
  return readers.are_there && readers.agree && readers.multiply_by_it;
}

// Whoever wrote it wants the signature to change.
bool takes_codes(mlir::FunctionOpInterface function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (function.getArgAttr(i, weight_mark)) return true;
  }
  return false;
}

}  // namespace

std::vector<unsigned> weights_of(mlir::FunctionOpInterface function) {
  std::vector<unsigned> found;
  if (function.isExternal()) return found;
  for (const mlir::BlockArgument argument : function.getArguments()) {
    const unsigned number = argument.getArgNumber();
    if (is_weight(argument) && !function.getArgAttr(number, scales_mark)) found.push_back(number);
  }
  return found;
}

bool passes_constant(mlir::Operation* call, unsigned operand) {
  mlir::Operation* const maker = call->getOperand(operand).getDefiningOp();
  return maker != nullptr && contents_of(*maker) && !is_part(*maker) &&
         to_constant(contents_of(*maker));
}

void PrivateCopies::make(mlir::Operation* module) {
  const Calls calls(module);
  mlir::SymbolTable symbols(module);
  for (mlir::FunctionOpInterface function : functions_of(module)) {
    if (calls.are_known(function) || calls.of(function).empty() || copied_.contains(function) ||
        takes_codes(function)) {
      continue;
    }
    const std::vector<unsigned> weights = weights_of(function);
    std::vector<mlir::Operation*> with_constants;
    llvm::copy_if(calls.of(function), std::back_inserter(with_constants),
                  [&](mlir::Operation* call) {
                    return llvm::any_of(
                        weights, [&](unsigned weight) { return passes_constant(call, weight); });
                  });
    const bool is_of_use = llvm::any_of(weights, [&](unsigned weight) {
      return !with_constants.empty() && llvm::all_of(with_constants, [&](mlir::Operation* call) {
        return passes_constant(call, weight);
      });
    });
    if (!is_of_use) continue;
    mlir::Operation* const copy = function->clone();
    mlir::SymbolTable::setSymbolVisibility(copy, mlir::SymbolTable::Visibility::Private);
    const mlir::StringAttr name = symbols.insert(copy, std::next(mlir::Block::iterator(function)));
    for (mlir::Operation* const call : with_constants) {
      call->setAttr("callee", mlir::FlatSymbolRefAttr::get(name));
    }
    copied_.insert(function);
    copies_.insert(copy);
  }
}

bool PrivateCopies::may_take_in(mlir::BlockArgument argument) const {
  return !copies_.contains(argument.getOwner()->getParentOp()) || is_weight(argument);
}

}  // namespace quadrant::inline v0::mlir_plugin
