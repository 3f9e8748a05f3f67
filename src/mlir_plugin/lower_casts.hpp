// Quantized types become arithmetic.
#pragma once

#include <mlir/IR/Operation.h>

#include "mlir_plugin/headers.hpp"
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

/// The scales of the type as a constant: of float64 for such floats, else of float32; without axes
/// where all share one, with one axis for channels, with as many as the tensor for blocks.
[[nodiscard]] Expected<mlir::Value> hold_scales(mlir::OpBuilder& builder, mlir::Location location,
                                                mlir::quant::QuantizedType type);

/// What reads `floats` reads `codes`, of a type without zero points, times `scales`, which lie as
/// those of `hold_scales` and are not known here.
[[nodiscard]] Expected<void> read_codes_instead(mlir::BlockArgument floats,
                                                mlir::quant::QuantizedType type, mlir::Value codes,
                                                mlir::Value scales);

}  // namespace quadrant::inline v0::mlir_plugin
