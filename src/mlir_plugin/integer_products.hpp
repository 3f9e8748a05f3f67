// Sums of products, of codes.
#pragma once

#include <mlir/IR/Operation.h>

#include <cstdint>
#include <string>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Why `op`, a product, cannot be summed in integers, whatever its codes of 8 bits are: linalg has
/// no such sum (`why_not_in_linalg`), or sums may not fit into 32 bits. Empty: it can be.
[[nodiscard]] std::string why_in_floats(mlir::Operation* op);

/// The same sum of floats as `op`, a product whose operands 0 and 1 are codes of types `data`
/// and `weight` by now, computed on the integers and put in front of it:
///
///   sum (s_x (q_x - z_x)) (s_w q_w) + init  =  s_x s_w (sum (q_x - z_x) q_w) + init
///
/// The inner sum is linalg's quantized operation where there is one, else `linalg.generic`; it is a
/// fixed point value in the scale of the products, which `quant.dcast` makes real. `channels`: the
/// axis of the result along which the weight's channels are; -1: none. Null where there
/// is none: see `why_in_floats`; data with a scale for each channel, weights with zero points that
/// differ, and scales that the result's type has not.
[[nodiscard]] mlir::Value sum_integers(mlir::Operation* op, const UniformType& data,
                                       const UniformType& weight, std::int64_t channels);

}  // namespace quadrant::inline v0::mlir_plugin
