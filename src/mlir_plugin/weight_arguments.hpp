// Weights that functions are given: quantized values and scales are passed instead.
//
//   func.func @f(%w: tensor<4x3xf32> {quadrant.weight})
//   func.func @f(%w: tensor<4x3xi8> {quadrant.codes}, %s: tensor<3xf32> {quadrant.scales})
#pragma once

#include <llvm/ADT/SmallBitVector.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include "quadrant/methods/weight_only.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Functions of `module` that others may call, too, get private copies, for those of its own calls
/// that pass constants for weights: arguments that products have on the right, or lookups read.
void copy_called_functions(mlir::Operation* module);

/// For which arguments a constant that all calls pass may go into the function: all, but of a copy
/// those weights alone. What else is passed to it are data.
[[nodiscard]] llvm::SmallBitVector arguments_to_take_in(mlir::FunctionOpInterface function);

/// To be called before the phases, which see what is passed as weights then (MlirCall): says on
/// the calls of `module` which of their operands are passed for arguments with `quadrant.weight`,
/// or for those of private functions for which all of them pass constants, and along which axes
/// scales may differ, as products and lookups of the function tell, or as the attribute does, where
/// it is an integer; through up to 8 calls, one inside the other.
void mark_calls(mlir::Operation* module);

/// To be called after the phases. An argument that is marked becomes two, codes and scales, where
/// all calls of the module pass what the scheme made codes of, or an argument of their own that
/// becomes two as well. Whoever else calls a public function passes them. What stays float is
/// warned of, with the reason; the attributes of `mark_calls` are gone.
[[nodiscard]] Expected<void> pass_codes(mlir::Operation* module, const WeightOnly& scheme);

/// Warns of all marks below `root`, which stay: `why`.
void warn_of_marks(mlir::Operation* root, llvm::StringRef why);

}  // namespace quadrant::inline v0::mlir_plugin
