// Operations of many parts, subgraphs, and losses. They mean what ONNX's of the same
// name mean (https://onnx.ai/onnx/operators).
#pragma once

#include "ir/ops/onnx.hpp"

namespace quadrant::inline v0::ops {

using Attention = Onnx<"onnx.Attention">;
using DFT = Onnx<"onnx.DFT">;
using Det = Onnx<"onnx.Det">;
using If = Onnx<"onnx.If">;
using Loop = Onnx<"onnx.Loop">;
using NegativeLogLikelihoodLoss = Onnx<"onnx.NegativeLogLikelihoodLoss">;
using RotaryEmbedding = Onnx<"onnx.RotaryEmbedding">;
using Scan = Onnx<"onnx.Scan">;
using SequenceMap = Onnx<"onnx.SequenceMap">;
using SoftmaxCrossEntropyLoss = Onnx<"onnx.SoftmaxCrossEntropyLoss">;

}  // namespace quadrant::inline v0::ops
