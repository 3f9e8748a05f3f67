// Operations that make one element of all along some axes, and running sums. They mean what ONNX's
// of the same name mean (https://onnx.ai/onnx/operators).
#pragma once

#include "ir/ops/onnx.hpp"

namespace quadrant::inline v0::ops {

using ArgMax = Onnx<"onnx.ArgMax">;
using ArgMin = Onnx<"onnx.ArgMin">;
using CumProd = Onnx<"onnx.CumProd">;
using CumSum = Onnx<"onnx.CumSum">;
using ReduceL1 = Onnx<"onnx.ReduceL1">;
using ReduceL2 = Onnx<"onnx.ReduceL2">;
using ReduceLogSum = Onnx<"onnx.ReduceLogSum">;
using ReduceLogSumExp = Onnx<"onnx.ReduceLogSumExp">;
using ReduceMax = Onnx<"onnx.ReduceMax">;
using ReduceMean = Onnx<"onnx.ReduceMean">;
using ReduceMin = Onnx<"onnx.ReduceMin">;
using ReduceProd = Onnx<"onnx.ReduceProd">;
using ReduceSum = Onnx<"onnx.ReduceSum">;
using ReduceSumSquare = Onnx<"onnx.ReduceSumSquare">;

}  // namespace quadrant::inline v0::ops
