// Normalizations, softmax among them. They mean what ONNX's of the same
// name mean (https://onnx.ai/onnx/operators).
#pragma once

#include "ir/ops/onnx.hpp"

namespace quadrant::inline v0::ops {

using BatchNormalization = Onnx<"onnx.BatchNormalization">;
using GroupNormalization = Onnx<"onnx.GroupNormalization">;
using Hardmax = Onnx<"onnx.Hardmax">;
using InstanceNormalization = Onnx<"onnx.InstanceNormalization">;
using LRN = Onnx<"onnx.LRN">;
using LayerNormalization = Onnx<"onnx.LayerNormalization">;
using LogSoftmax = Onnx<"onnx.LogSoftmax">;
using LpNormalization = Onnx<"onnx.LpNormalization">;
using MeanVarianceNormalization = Onnx<"onnx.MeanVarianceNormalization">;
using RMSNormalization = Onnx<"onnx.RMSNormalization">;
using SimplifiedLayerNormalization = Onnx<"onnx.SimplifiedLayerNormalization">;
using Softmax = Onnx<"onnx.Softmax">;

}  // namespace quadrant::inline v0::ops
