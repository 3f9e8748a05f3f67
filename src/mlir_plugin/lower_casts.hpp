// Quantized types become arithmetic.
#pragma once

#include <mlir/IR/Operation.h>

#include "quadrant/numerics/encoding.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Puts arithmetic in the place of every `quant.dcast` and `quant.qcast` below `root`, and drops
/// the `quant.scast` that is not needed then. Exactly what the interpreter computes
/// (numerics/affine.hpp):
///
///   dcast   scale * (code - zero point), the difference of integers, the product in the expressed
///           type, in float32 for float16 and bfloat16
///   qcast   clamp(round(real / scale) + zero point, storage_min, storage_max); ties by `ties`, NaN
///           becomes the zero point, infinities saturate
///
/// Scalars and ranked tensors, per tensor and per axis. `impossible` names what else there is;
/// nothing has changed then, and `at` is where that is.
[[nodiscard]] Expected<void> lower_casts(mlir::Operation* root, TieRule ties, mlir::Location& at);

}  // namespace quadrant::inline v0::mlir_plugin
