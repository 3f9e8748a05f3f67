// Weights that functions are given: quantized values and scales are passed instead.
//
//   func.func @f(%w: tensor<4x3xf32> {quadrant.weight})
//   func.func @f(%w: tensor<4x3xi8> {quadrant.codes}, %s: tensor<3xf32> {quadrant.scales})
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/Operation.h>
#include <mlir/IR/Value.h>

#include <string>

#include "mlir_plugin/calls.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Of one module, while a pass runs. What is asked for and stays float is warned of, with the
/// reason; what nobody asked for, as a remark.
class WeightArguments {
 public:
  WeightArguments(mlir::Operation* module, WeightOnly scheme);

  /// To be called before the phases, which see what is passed as weights then (MlirCall): says on
  /// the calls which of their operands are passed for arguments with `quadrant.weight`, or for
  /// weights of private functions for which all of them pass constants, or such arguments of their
  /// own, through up to 8 calls, one inside the other; and along which axes scales may differ, as
  /// products and lookups of the function tell, or as the attribute does, where it is an integer.
  void mark_calls();

  /// To be called after the phases. Such an argument becomes two, codes and scales, where all calls
  /// of the module pass what the scheme made codes of, or an argument of their own that becomes two
  /// as well. Whoever else calls a public function passes them. What `mark_calls` said is gone.
  [[nodiscard]] Expected<void> pass_codes();

  /// What becomes of it, if it is one of these as far as `mark_calls` knows; empty: it is none.
  [[nodiscard]] std::string fate_of(mlir::BlockArgument argument) const;

 private:
  [[nodiscard]] bool is_marked(mlir::BlockArgument argument) const;
  bool find_weights(mlir::FunctionOpInterface function, const Calls& calls);
  bool say_axes(mlir::FunctionOpInterface function, const Calls& calls);

  mlir::Operation* module_;
  WeightOnly scheme_;
  llvm::DenseSet<mlir::Value> found_;  // for which nobody asked
};

/// Warns of all marks below `root`, which stay: `why`.
void warn_of_marks(mlir::Operation* root, llvm::StringRef why);

}  // namespace quadrant::inline v0::mlir_plugin
