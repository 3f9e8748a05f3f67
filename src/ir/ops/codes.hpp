// Operators on codes that have scales and zero points as operands. They mean what ONNX's of the
// same name mean (https://onnx.ai/onnx/operators).
#pragma once

#include "ir/ops/onnx.hpp"

namespace quadrant::inline v0::ops {

using ConvInteger = Onnx<"onnx.ConvInteger">;
using DequantizeLinear = Onnx<"onnx.DequantizeLinear">;
using DynamicQuantizeLinear = Onnx<"onnx.DynamicQuantizeLinear">;
using MatMulInteger = Onnx<"onnx.MatMulInteger">;
using QLinearConv = Onnx<"onnx.QLinearConv">;
using QLinearMatMul = Onnx<"onnx.QLinearMatMul">;
using QuantizeLinear = Onnx<"onnx.QuantizeLinear">;

}  // namespace quadrant::inline v0::ops
