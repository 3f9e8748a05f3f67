// Weights that lie behind other operations than those that the schemes look through.
#pragma once

#include <mlir/IR/Operation.h>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Of the floats that products below `root` read:
///
///  - what slices, joins, pads and casts make of constants alone becomes a constant;
///  - loads of globals that nobody changes (`ml_program.global_load`, `memref.get_global` read as a
///    tensor: Globals) become constants; of others that products read, a remark says why they do
///    not;
///  - a `linalg.generic` that only moves or repeats elements of a constant becomes
///    `linalg.transpose`, `tensor.collapse_shape`, `tensor.expand_shape`, `linalg.broadcast`;
///  - a constant that all calls of a private function of the module `root` pass for an argument
///    goes into that function, and the argument goes away; through up to 8 calls, one inside the
///    other.
///
/// Everything else stays as it is. `copies`: public functions that are called with constants have
/// private copies for these calls (PrivateCopies). `around`: where globals are, if `root`
/// lies nowhere. Linear in the operations, and in the elements that are moved. `at` is where an
/// error is.
[[nodiscard]] Expected<void> bring_weights_into_sight(mlir::Operation* root,
                                                      mlir::Operation* around, bool copies,
                                                      mlir::Location& at);

}  // namespace quadrant::inline v0::mlir_plugin
