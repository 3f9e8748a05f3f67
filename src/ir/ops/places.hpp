// Operations on places: elements that move, are looked up or counted, and shapes as data. They mean
// what ONNX's of the same name mean (https://onnx.ai/onnx/operators).
#pragma once

#include "ir/ops/onnx.hpp"

namespace quadrant::inline v0::ops {

using Compress = Onnx<"onnx.Compress">;
using ConstantOfShape = Onnx<"onnx.ConstantOfShape">;
using DepthToSpace = Onnx<"onnx.DepthToSpace">;
using EyeLike = Onnx<"onnx.EyeLike">;
using GatherElements = Onnx<"onnx.GatherElements">;
using GatherND = Onnx<"onnx.GatherND">;
using NonMaxSuppression = Onnx<"onnx.NonMaxSuppression">;
using NonZero = Onnx<"onnx.NonZero">;
using OneHot = Onnx<"onnx.OneHot">;
using Range = Onnx<"onnx.Range">;
using ReverseSequence = Onnx<"onnx.ReverseSequence">;
using Scatter = Onnx<"onnx.Scatter">;
using ScatterElements = Onnx<"onnx.ScatterElements">;
using ScatterND = Onnx<"onnx.ScatterND">;
using ShapeOf = Onnx<"onnx.Shape">;
using Size = Onnx<"onnx.Size">;
using SpaceToDepth = Onnx<"onnx.SpaceToDepth">;
using TensorScatter = Onnx<"onnx.TensorScatter">;
using Tile = Onnx<"onnx.Tile">;
using TopK = Onnx<"onnx.TopK">;
using Trilu = Onnx<"onnx.Trilu">;
using Unique = Onnx<"onnx.Unique">;

}  // namespace quadrant::inline v0::ops
