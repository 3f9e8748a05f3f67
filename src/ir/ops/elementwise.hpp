// Operations of one element, or of one of each operand, which broadcast. They mean what ONNX's of
// the same name mean (https://onnx.ai/onnx/operators).
#pragma once

#include "ir/ops/onnx.hpp"

namespace quadrant::inline v0::ops {

using Abs = Onnx<"onnx.Abs">;
using Acos = Onnx<"onnx.Acos">;
using Acosh = Onnx<"onnx.Acosh">;
using And = Onnx<"onnx.And">;
using Asin = Onnx<"onnx.Asin">;
using Asinh = Onnx<"onnx.Asinh">;
using Atan = Onnx<"onnx.Atan">;
using Atanh = Onnx<"onnx.Atanh">;
using BitCast = Onnx<"onnx.BitCast">;
using BitShift = Onnx<"onnx.BitShift">;
using BitwiseAnd = Onnx<"onnx.BitwiseAnd">;
using BitwiseNot = Onnx<"onnx.BitwiseNot">;
using BitwiseOr = Onnx<"onnx.BitwiseOr">;
using BitwiseXor = Onnx<"onnx.BitwiseXor">;
using CastLike = Onnx<"onnx.CastLike">;
using Ceil = Onnx<"onnx.Ceil">;
using Celu = Onnx<"onnx.Celu">;
using Clip = Onnx<"onnx.Clip">;
using Cos = Onnx<"onnx.Cos">;
using Cosh = Onnx<"onnx.Cosh">;
using Div = Onnx<"onnx.Div">;
using Dropout = Onnx<"onnx.Dropout">;
using Elu = Onnx<"onnx.Elu">;
using Equal = Onnx<"onnx.Equal">;
using Erf = Onnx<"onnx.Erf">;
using Exp = Onnx<"onnx.Exp">;
using Floor = Onnx<"onnx.Floor">;
using Gelu = Onnx<"onnx.Gelu">;
using Greater = Onnx<"onnx.Greater">;
using GreaterOrEqual = Onnx<"onnx.GreaterOrEqual">;
using HardSigmoid = Onnx<"onnx.HardSigmoid">;
using HardSwish = Onnx<"onnx.HardSwish">;
using IsInf = Onnx<"onnx.IsInf">;
using IsNaN = Onnx<"onnx.IsNaN">;
using LeakyRelu = Onnx<"onnx.LeakyRelu">;
using Less = Onnx<"onnx.Less">;
using LessOrEqual = Onnx<"onnx.LessOrEqual">;
using Log = Onnx<"onnx.Log">;
using Max = Onnx<"onnx.Max">;
using Mean = Onnx<"onnx.Mean">;
using Min = Onnx<"onnx.Min">;
using Mish = Onnx<"onnx.Mish">;
using Mod = Onnx<"onnx.Mod">;
using Neg = Onnx<"onnx.Neg">;
using Not = Onnx<"onnx.Not">;
using Or = Onnx<"onnx.Or">;
using PRelu = Onnx<"onnx.PRelu">;
using Pow = Onnx<"onnx.Pow">;
using Reciprocal = Onnx<"onnx.Reciprocal">;
using Relu = Onnx<"onnx.Relu">;
using Round = Onnx<"onnx.Round">;
using Selu = Onnx<"onnx.Selu">;
using Shrink = Onnx<"onnx.Shrink">;
using Sigmoid = Onnx<"onnx.Sigmoid">;
using Sign = Onnx<"onnx.Sign">;
using Sin = Onnx<"onnx.Sin">;
using Sinh = Onnx<"onnx.Sinh">;
using Softplus = Onnx<"onnx.Softplus">;
using Softsign = Onnx<"onnx.Softsign">;
using Sqrt = Onnx<"onnx.Sqrt">;
using Sub = Onnx<"onnx.Sub">;
using Sum = Onnx<"onnx.Sum">;
using SwiGLU = Onnx<"onnx.SwiGLU">;
using Swish = Onnx<"onnx.Swish">;
using Tan = Onnx<"onnx.Tan">;
using Tanh = Onnx<"onnx.Tanh">;
using ThresholdedRelu = Onnx<"onnx.ThresholdedRelu">;
using Where = Onnx<"onnx.Where">;
using Xor = Onnx<"onnx.Xor">;

}  // namespace quadrant::inline v0::ops
