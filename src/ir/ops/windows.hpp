// Poolings, borders and resampling: operations on images `[N, C, spatial...]`. They mean what
// ONNX's of the same name mean (https://onnx.ai/onnx/operators).
#pragma once

#include "ir/ops/onnx.hpp"

namespace quadrant::inline v0::ops {

using AffineGrid = Onnx<"onnx.AffineGrid">;
using AveragePool = Onnx<"onnx.AveragePool">;
using CenterCropPad = Onnx<"onnx.CenterCropPad">;
using Col2Im = Onnx<"onnx.Col2Im">;
using GlobalAveragePool = Onnx<"onnx.GlobalAveragePool">;
using GlobalLpPool = Onnx<"onnx.GlobalLpPool">;
using GlobalMaxPool = Onnx<"onnx.GlobalMaxPool">;
using GridSample = Onnx<"onnx.GridSample">;
using LpPool = Onnx<"onnx.LpPool">;
using MaxPool = Onnx<"onnx.MaxPool">;
using MaxUnpool = Onnx<"onnx.MaxUnpool">;
using Pad = Onnx<"onnx.Pad">;
using Resize = Onnx<"onnx.Resize">;
using RoiAlign = Onnx<"onnx.RoiAlign">;
using Upsample = Onnx<"onnx.Upsample">;

}  // namespace quadrant::inline v0::ops
