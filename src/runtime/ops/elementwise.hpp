// Operations that compute each element of the result from the same element of the operands.
#pragma once

#include <array>

#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

// Functions of a number.
KernelFunction abs, neg, sign, ceil, floor, round, sqrt, exp, log, reciprocal, erf, sin, cos, tan,
    asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh;

// Activations.
KernelFunction relu, leaky_relu, prelu, thresholded_relu, hard_sigmoid, hard_swish, shrink, sigmoid,
    swish, swiglu, elu, selu, celu, softplus, softsign, mish, gelu, bias_gelu, fast_gelu,
    quick_gelu;

// Arithmetic.
KernelFunction add, sub, multiply, div, mod, pow, max, min, sum, mean;

// Comparisons, booleans and bits.
KernelFunction equal, less, less_or_equal, greater, greater_or_equal, detect_nan, detect_infinity,
    logical_and, logical_or, logical_xor, logical_not, bitwise_and, bitwise_or, bitwise_xor,
    bitwise_not, bit_shift;

// Choices, bounds and types.
KernelFunction where, clip, cast, cast_like, bit_cast;

inline constexpr std::array elementwise{
    KernelEntry{"add", add, HalfFloats::widened},
    KernelEntry{"cast", cast},
    KernelEntry{"multiply", multiply, HalfFloats::widened},
    KernelEntry{ops::Abs::kind, abs, HalfFloats::widened},
    KernelEntry{ops::Acos::kind, acos, HalfFloats::widened},
    KernelEntry{ops::Acosh::kind, acosh, HalfFloats::widened},
    KernelEntry{ops::And::kind, logical_and},
    KernelEntry{ops::Asin::kind, asin, HalfFloats::widened},
    KernelEntry{ops::Asinh::kind, asinh, HalfFloats::widened},
    KernelEntry{ops::Atan::kind, atan, HalfFloats::widened},
    KernelEntry{ops::Atanh::kind, atanh, HalfFloats::widened},
    KernelEntry{ops::BitCast::kind, bit_cast},
    KernelEntry{ops::BitShift::kind, bit_shift},
    KernelEntry{ops::BitwiseAnd::kind, bitwise_and},
    KernelEntry{ops::BitwiseNot::kind, bitwise_not},
    KernelEntry{ops::BitwiseOr::kind, bitwise_or},
    KernelEntry{ops::BitwiseXor::kind, bitwise_xor},
    KernelEntry{ops::CastLike::kind, cast_like},
    KernelEntry{ops::Ceil::kind, ceil, HalfFloats::widened},
    KernelEntry{ops::Celu::kind, celu, HalfFloats::widened},
    KernelEntry{ops::Clip::kind, clip, HalfFloats::widened},
    KernelEntry{ops::Cos::kind, cos, HalfFloats::widened},
    KernelEntry{ops::Cosh::kind, cosh, HalfFloats::widened},
    KernelEntry{ops::Div::kind, div, HalfFloats::widened},
    KernelEntry{ops::Elu::kind, elu, HalfFloats::widened},
    KernelEntry{ops::Equal::kind, equal, HalfFloats::widened},
    KernelEntry{ops::Erf::kind, erf, HalfFloats::widened},
    KernelEntry{ops::Exp::kind, exp, HalfFloats::widened},
    KernelEntry{ops::Floor::kind, floor, HalfFloats::widened},
    KernelEntry{ops::Gelu::kind, gelu, HalfFloats::widened},
    KernelEntry{ops::Greater::kind, greater, HalfFloats::widened},
    KernelEntry{ops::GreaterOrEqual::kind, greater_or_equal, HalfFloats::widened},
    KernelEntry{ops::HardSigmoid::kind, hard_sigmoid, HalfFloats::widened},
    KernelEntry{ops::HardSwish::kind, hard_swish, HalfFloats::widened},
    KernelEntry{ops::IsInf::kind, detect_infinity, HalfFloats::widened},
    KernelEntry{ops::IsNaN::kind, detect_nan, HalfFloats::widened},
    KernelEntry{ops::LeakyRelu::kind, leaky_relu, HalfFloats::widened},
    KernelEntry{ops::Less::kind, less, HalfFloats::widened},
    KernelEntry{ops::LessOrEqual::kind, less_or_equal, HalfFloats::widened},
    KernelEntry{ops::Log::kind, log, HalfFloats::widened},
    KernelEntry{ops::Max::kind, max, HalfFloats::widened},
    KernelEntry{ops::Mean::kind, mean, HalfFloats::widened},
    KernelEntry{ops::Min::kind, min, HalfFloats::widened},
    KernelEntry{ops::Mish::kind, mish, HalfFloats::widened},
    KernelEntry{ops::Mod::kind, mod, HalfFloats::widened},
    KernelEntry{ops::Neg::kind, neg, HalfFloats::widened},
    KernelEntry{ops::Not::kind, logical_not},
    KernelEntry{ops::Or::kind, logical_or},
    KernelEntry{ops::PRelu::kind, prelu, HalfFloats::widened},
    KernelEntry{ops::Pow::kind, pow},  // its operands may be of different types
    KernelEntry{ops::Reciprocal::kind, reciprocal, HalfFloats::widened},
    KernelEntry{ops::Relu::kind, relu, HalfFloats::widened},
    KernelEntry{ops::Round::kind, round, HalfFloats::widened},
    KernelEntry{ops::Selu::kind, selu, HalfFloats::widened},
    KernelEntry{ops::Shrink::kind, shrink, HalfFloats::widened},
    KernelEntry{ops::Sigmoid::kind, sigmoid, HalfFloats::widened},
    KernelEntry{ops::Sign::kind, sign, HalfFloats::widened},
    KernelEntry{ops::Sin::kind, sin, HalfFloats::widened},
    KernelEntry{ops::Sinh::kind, sinh, HalfFloats::widened},
    KernelEntry{ops::Softplus::kind, softplus, HalfFloats::widened},
    KernelEntry{ops::Softsign::kind, softsign, HalfFloats::widened},
    KernelEntry{ops::Sqrt::kind, sqrt, HalfFloats::widened},
    KernelEntry{ops::Sub::kind, sub, HalfFloats::widened},
    KernelEntry{ops::Sum::kind, sum, HalfFloats::widened},
    KernelEntry{ops::SwiGLU::kind, swiglu, HalfFloats::widened},
    KernelEntry{ops::Swish::kind, swish, HalfFloats::widened},
    KernelEntry{ops::Tan::kind, tan, HalfFloats::widened},
    KernelEntry{ops::Tanh::kind, tanh, HalfFloats::widened},
    KernelEntry{ops::ThresholdedRelu::kind, thresholded_relu, HalfFloats::widened},
    KernelEntry{ops::Where::kind, where},
    KernelEntry{ops::Xor::kind, logical_xor},
    KernelEntry{"onnx.com.microsoft::BiasGelu", bias_gelu, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::FastGelu", fast_gelu, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::Gelu", gelu, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::QuickGelu", quick_gelu, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
