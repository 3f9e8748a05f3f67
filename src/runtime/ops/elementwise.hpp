// Operations that compute each element of the result from the same element of the operands.
#pragma once

#include <array>

#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

// Functions of a number.
[[nodiscard]] Expected<Tensors> abs(const KernelCall& call);
[[nodiscard]] Expected<Tensors> neg(const KernelCall& call);
[[nodiscard]] Expected<Tensors> sign(const KernelCall& call);
[[nodiscard]] Expected<Tensors> ceil(const KernelCall& call);
[[nodiscard]] Expected<Tensors> floor(const KernelCall& call);
[[nodiscard]] Expected<Tensors> round(const KernelCall& call);
[[nodiscard]] Expected<Tensors> sqrt(const KernelCall& call);
[[nodiscard]] Expected<Tensors> exp(const KernelCall& call);
[[nodiscard]] Expected<Tensors> log(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reciprocal(const KernelCall& call);
[[nodiscard]] Expected<Tensors> erf(const KernelCall& call);
[[nodiscard]] Expected<Tensors> sin(const KernelCall& call);
[[nodiscard]] Expected<Tensors> cos(const KernelCall& call);
[[nodiscard]] Expected<Tensors> tan(const KernelCall& call);
[[nodiscard]] Expected<Tensors> asin(const KernelCall& call);
[[nodiscard]] Expected<Tensors> acos(const KernelCall& call);
[[nodiscard]] Expected<Tensors> atan(const KernelCall& call);
[[nodiscard]] Expected<Tensors> sinh(const KernelCall& call);
[[nodiscard]] Expected<Tensors> cosh(const KernelCall& call);
[[nodiscard]] Expected<Tensors> tanh(const KernelCall& call);
[[nodiscard]] Expected<Tensors> asinh(const KernelCall& call);
[[nodiscard]] Expected<Tensors> acosh(const KernelCall& call);
[[nodiscard]] Expected<Tensors> atanh(const KernelCall& call);

// Activations.
[[nodiscard]] Expected<Tensors> relu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> leaky_relu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> prelu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> thresholded_relu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> hard_sigmoid(const KernelCall& call);
[[nodiscard]] Expected<Tensors> hard_swish(const KernelCall& call);
[[nodiscard]] Expected<Tensors> shrink(const KernelCall& call);
[[nodiscard]] Expected<Tensors> sigmoid(const KernelCall& call);
[[nodiscard]] Expected<Tensors> swish(const KernelCall& call);
[[nodiscard]] Expected<Tensors> swiglu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> elu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> selu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> celu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> softplus(const KernelCall& call);
[[nodiscard]] Expected<Tensors> softsign(const KernelCall& call);
[[nodiscard]] Expected<Tensors> mish(const KernelCall& call);
[[nodiscard]] Expected<Tensors> gelu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> bias_gelu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> fast_gelu(const KernelCall& call);
[[nodiscard]] Expected<Tensors> quick_gelu(const KernelCall& call);

// Arithmetic.
[[nodiscard]] Expected<Tensors> add(const KernelCall& call);
[[nodiscard]] Expected<Tensors> sub(const KernelCall& call);
[[nodiscard]] Expected<Tensors> multiply(const KernelCall& call);
[[nodiscard]] Expected<Tensors> div(const KernelCall& call);
[[nodiscard]] Expected<Tensors> mod(const KernelCall& call);
[[nodiscard]] Expected<Tensors> pow(const KernelCall& call);
[[nodiscard]] Expected<Tensors> max(const KernelCall& call);
[[nodiscard]] Expected<Tensors> min(const KernelCall& call);
[[nodiscard]] Expected<Tensors> sum(const KernelCall& call);
[[nodiscard]] Expected<Tensors> mean(const KernelCall& call);

// Comparisons, booleans and bits.
[[nodiscard]] Expected<Tensors> equal(const KernelCall& call);
[[nodiscard]] Expected<Tensors> less(const KernelCall& call);
[[nodiscard]] Expected<Tensors> less_or_equal(const KernelCall& call);
[[nodiscard]] Expected<Tensors> greater(const KernelCall& call);
[[nodiscard]] Expected<Tensors> greater_or_equal(const KernelCall& call);
[[nodiscard]] Expected<Tensors> detect_nan(const KernelCall& call);
[[nodiscard]] Expected<Tensors> detect_infinity(const KernelCall& call);
[[nodiscard]] Expected<Tensors> logical_and(const KernelCall& call);
[[nodiscard]] Expected<Tensors> logical_or(const KernelCall& call);
[[nodiscard]] Expected<Tensors> logical_xor(const KernelCall& call);
[[nodiscard]] Expected<Tensors> logical_not(const KernelCall& call);
[[nodiscard]] Expected<Tensors> bitwise_and(const KernelCall& call);
[[nodiscard]] Expected<Tensors> bitwise_or(const KernelCall& call);
[[nodiscard]] Expected<Tensors> bitwise_xor(const KernelCall& call);
[[nodiscard]] Expected<Tensors> bitwise_not(const KernelCall& call);
[[nodiscard]] Expected<Tensors> bit_shift(const KernelCall& call);

// Choices, bounds and types.
[[nodiscard]] Expected<Tensors> where(const KernelCall& call);
[[nodiscard]] Expected<Tensors> clip(const KernelCall& call);
[[nodiscard]] Expected<Tensors> cast(const KernelCall& call);
[[nodiscard]] Expected<Tensors> cast_like(const KernelCall& call);
[[nodiscard]] Expected<Tensors> bit_cast(const KernelCall& call);

inline constexpr std::array elementwise{
    KernelEntry{"add", add, HalfFloats::widened},
    KernelEntry{"cast", cast},
    KernelEntry{"multiply", multiply, HalfFloats::widened},
    KernelEntry{"onnx.Abs", abs, HalfFloats::widened},
    KernelEntry{"onnx.Acos", acos, HalfFloats::widened},
    KernelEntry{"onnx.Acosh", acosh, HalfFloats::widened},
    KernelEntry{"onnx.And", logical_and},
    KernelEntry{"onnx.Asin", asin, HalfFloats::widened},
    KernelEntry{"onnx.Asinh", asinh, HalfFloats::widened},
    KernelEntry{"onnx.Atan", atan, HalfFloats::widened},
    KernelEntry{"onnx.Atanh", atanh, HalfFloats::widened},
    KernelEntry{"onnx.BitCast", bit_cast},
    KernelEntry{"onnx.BitShift", bit_shift},
    KernelEntry{"onnx.BitwiseAnd", bitwise_and},
    KernelEntry{"onnx.BitwiseNot", bitwise_not},
    KernelEntry{"onnx.BitwiseOr", bitwise_or},
    KernelEntry{"onnx.BitwiseXor", bitwise_xor},
    KernelEntry{"onnx.CastLike", cast_like},
    KernelEntry{"onnx.Ceil", ceil, HalfFloats::widened},
    KernelEntry{"onnx.Celu", celu, HalfFloats::widened},
    KernelEntry{"onnx.Clip", clip, HalfFloats::widened},
    KernelEntry{"onnx.Cos", cos, HalfFloats::widened},
    KernelEntry{"onnx.Cosh", cosh, HalfFloats::widened},
    KernelEntry{"onnx.Div", div, HalfFloats::widened},
    KernelEntry{"onnx.Elu", elu, HalfFloats::widened},
    KernelEntry{"onnx.Equal", equal, HalfFloats::widened},
    KernelEntry{"onnx.Erf", erf, HalfFloats::widened},
    KernelEntry{"onnx.Exp", exp, HalfFloats::widened},
    KernelEntry{"onnx.Floor", floor, HalfFloats::widened},
    KernelEntry{"onnx.Gelu", gelu, HalfFloats::widened},
    KernelEntry{"onnx.Greater", greater, HalfFloats::widened},
    KernelEntry{"onnx.GreaterOrEqual", greater_or_equal, HalfFloats::widened},
    KernelEntry{"onnx.HardSigmoid", hard_sigmoid, HalfFloats::widened},
    KernelEntry{"onnx.HardSwish", hard_swish, HalfFloats::widened},
    KernelEntry{"onnx.IsInf", detect_infinity, HalfFloats::widened},
    KernelEntry{"onnx.IsNaN", detect_nan, HalfFloats::widened},
    KernelEntry{"onnx.LeakyRelu", leaky_relu, HalfFloats::widened},
    KernelEntry{"onnx.Less", less, HalfFloats::widened},
    KernelEntry{"onnx.LessOrEqual", less_or_equal, HalfFloats::widened},
    KernelEntry{"onnx.Log", log, HalfFloats::widened},
    KernelEntry{"onnx.Max", max, HalfFloats::widened},
    KernelEntry{"onnx.Mean", mean, HalfFloats::widened},
    KernelEntry{"onnx.Min", min, HalfFloats::widened},
    KernelEntry{"onnx.Mish", mish, HalfFloats::widened},
    KernelEntry{"onnx.Mod", mod, HalfFloats::widened},
    KernelEntry{"onnx.Neg", neg, HalfFloats::widened},
    KernelEntry{"onnx.Not", logical_not},
    KernelEntry{"onnx.Or", logical_or},
    KernelEntry{"onnx.PRelu", prelu, HalfFloats::widened},
    KernelEntry{"onnx.Pow", pow},  // its operands may be of different types
    KernelEntry{"onnx.Reciprocal", reciprocal, HalfFloats::widened},
    KernelEntry{"onnx.Relu", relu, HalfFloats::widened},
    KernelEntry{"onnx.Round", round, HalfFloats::widened},
    KernelEntry{"onnx.Selu", selu, HalfFloats::widened},
    KernelEntry{"onnx.Shrink", shrink, HalfFloats::widened},
    KernelEntry{"onnx.Sigmoid", sigmoid, HalfFloats::widened},
    KernelEntry{"onnx.Sign", sign, HalfFloats::widened},
    KernelEntry{"onnx.Sin", sin, HalfFloats::widened},
    KernelEntry{"onnx.Sinh", sinh, HalfFloats::widened},
    KernelEntry{"onnx.Softplus", softplus, HalfFloats::widened},
    KernelEntry{"onnx.Softsign", softsign, HalfFloats::widened},
    KernelEntry{"onnx.Sqrt", sqrt, HalfFloats::widened},
    KernelEntry{"onnx.Sub", sub, HalfFloats::widened},
    KernelEntry{"onnx.Sum", sum, HalfFloats::widened},
    KernelEntry{"onnx.SwiGLU", swiglu, HalfFloats::widened},
    KernelEntry{"onnx.Swish", swish, HalfFloats::widened},
    KernelEntry{"onnx.Tan", tan, HalfFloats::widened},
    KernelEntry{"onnx.Tanh", tanh, HalfFloats::widened},
    KernelEntry{"onnx.ThresholdedRelu", thresholded_relu, HalfFloats::widened},
    KernelEntry{"onnx.Where", where},
    KernelEntry{"onnx.Xor", logical_xor},
    KernelEntry{"onnx.com.microsoft::BiasGelu", bias_gelu, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::FastGelu", fast_gelu, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::Gelu", gelu, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::QuickGelu", quick_gelu, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
