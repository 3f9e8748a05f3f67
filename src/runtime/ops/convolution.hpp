// Convolutions.
#pragma once

#include <array>

#include "quadrant/ir/ops/codes.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> conv(const KernelCall& call);
[[nodiscard]] Expected<Tensors> conv_transpose(const KernelCall& call);
/// With an activation.
[[nodiscard]] Expected<Tensors> fused_conv(const KernelCall& call);

// Of codes.
[[nodiscard]] Expected<Tensors> conv_integer(const KernelCall& call);
[[nodiscard]] Expected<Tensors> qlinear_conv(const KernelCall& call);

inline constexpr std::array convolutions{
    KernelEntry{"conv", conv, HalfFloats::widened},
    KernelEntry{"conv_transpose", conv_transpose, HalfFloats::widened},
    KernelEntry{ops::ConvInteger::kind, conv_integer},
    KernelEntry{ops::QLinearConv::kind, qlinear_conv},
    KernelEntry{"onnx.com.microsoft::FusedConv", fused_conv, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
