// Operations between float values and codes.
#pragma once

#include <array>

#include "ir/ops/codes.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction const_fake_quant, fake_quant, fake_quantize, quantize, dequantize, storage_cast,
    quantize_linear, dequantize_linear, dynamic_quantize_linear;

// Scales and values may be of different types, which the kernels see to. Those of a fake_quantize
// are of one; OpenVINO computes half floats in float32, too.
inline constexpr std::array quantization{
    KernelEntry{"const_fake_quant", const_fake_quant},
    KernelEntry{"dequantize", dequantize},
    KernelEntry{"fake_quant", fake_quant},
    KernelEntry{"fake_quantize", fake_quantize, HalfFloats::widened},
    KernelEntry{ops::DequantizeLinear::kind, dequantize_linear},
    KernelEntry{ops::DynamicQuantizeLinear::kind, dynamic_quantize_linear},
    KernelEntry{ops::QuantizeLinear::kind, quantize_linear},
    KernelEntry{"onnx.com.microsoft::DequantizeLinear", dequantize_linear},
    KernelEntry{"onnx.com.microsoft::QuantizeLinear", quantize_linear},
    KernelEntry{"quantize", quantize},
    KernelEntry{"storage_cast", storage_cast},
};

}  // namespace quadrant::inline v0::interpreted
