// Operations between real values and codes.
#pragma once

#include <array>

#include "quadrant/ir/ops/codes.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> const_fake_quant(const KernelCall& call);
[[nodiscard]] Expected<Tensors> fake_quant(const KernelCall& call);
[[nodiscard]] Expected<Tensors> fake_quantize(const KernelCall& call);
[[nodiscard]] Expected<Tensors> quantize(const KernelCall& call);
[[nodiscard]] Expected<Tensors> dequantize(const KernelCall& call);
[[nodiscard]] Expected<Tensors> storage_cast(const KernelCall& call);
[[nodiscard]] Expected<Tensors> quantize_linear(const KernelCall& call);
[[nodiscard]] Expected<Tensors> dequantize_linear(const KernelCall& call);
[[nodiscard]] Expected<Tensors> dynamic_quantize_linear(const KernelCall& call);

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
