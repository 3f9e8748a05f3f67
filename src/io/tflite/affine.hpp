// Codes to floats and back by arithmetic, where DEQUANTIZE and QUANTIZE do not know the
// parameters: those of blocks, negative ones, and those that are computed.
#pragma once

#include "io/tflite/rules.hpp"

namespace quadrant::inline v0::tflite {

/// Scales and zero points as float tensors that broadcast with the data.
struct AffineTensors {
  TensorId scale = no_tensor;
  TensorId zero = no_tensor;  ///< may be absent: all are 0
};

/// Those of the quantized type `type`, beside data laid out as `axes`.
[[nodiscard]] AffineTensors parameters_of(Lowering& lowering, const NodeRef& node,
                                          const TensorType& type, const Axes& axes);
/// Those that a node of ONNX's QuantizeLinear or DequantizeLinear has as operands 1 and 2, beside
/// data in its own order.
[[nodiscard]] AffineTensors computed_parameters(Lowering& lowering, const NodeRef& node);

/// The result of `node` is scale * (code - zero point).
void dequantize_by_arithmetic(Lowering& lowering, const NodeRef& node,
                              const AffineTensors& parameters, const Axes& axes);
/// The result of `node` is round(real / scale) + zero point, within the range of its codes.
void quantize_by_arithmetic(Lowering& lowering, const NodeRef& node,
                            const AffineTensors& parameters, const Axes& axes);
/// If all operands of the DequantizeLinear `node` are constants, its result is one.
[[nodiscard]] bool dequantize_constant(Lowering& lowering, const NodeRef& node);

}  // namespace quadrant::inline v0::tflite
