// Convolutions.
#pragma once

#include <array>

#include "ir/ops/codes.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction conv, conv_transpose;
/// With an activation.
KernelFunction fused_conv;

// Of codes.
KernelFunction conv_integer, qlinear_conv;

inline constexpr std::array convolutions{
    KernelEntry{"conv", conv, HalfFloats::widened},
    KernelEntry{"conv_transpose", conv_transpose, HalfFloats::widened},
    KernelEntry{ops::ConvInteger::kind, conv_integer},
    KernelEntry{ops::QLinearConv::kind, qlinear_conv},
    KernelEntry{"onnx.com.microsoft::FusedConv", fused_conv, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
