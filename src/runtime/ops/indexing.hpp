// Operations whose operands say which elements to take or to replace.
#pragma once

#include <array>

#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> gather(const KernelCall& call);
[[nodiscard]] Expected<Tensors> gather_elements(const KernelCall& call);
[[nodiscard]] Expected<Tensors> gather_nd(const KernelCall& call);
[[nodiscard]] Expected<Tensors> scatter_elements(const KernelCall& call);
[[nodiscard]] Expected<Tensors> scatter_nd(const KernelCall& call);
[[nodiscard]] Expected<Tensors> tensor_scatter(const KernelCall& call);
[[nodiscard]] Expected<Tensors> gather_block_quantized(const KernelCall& call);
[[nodiscard]] Expected<Tensors> one_hot(const KernelCall& call);
[[nodiscard]] Expected<Tensors> non_zero(const KernelCall& call);
[[nodiscard]] Expected<Tensors> compress(const KernelCall& call);
[[nodiscard]] Expected<Tensors> unique(const KernelCall& call);
[[nodiscard]] Expected<Tensors> max_unpool(const KernelCall& call);

inline constexpr std::array indexing{
    KernelEntry{"gather", gather},
    KernelEntry{"onnx.Compress", compress},
    KernelEntry{"onnx.GatherElements", gather_elements},
    KernelEntry{"onnx.GatherND", gather_nd},
    KernelEntry{"onnx.MaxUnpool", max_unpool},
    KernelEntry{"onnx.NonZero", non_zero, HalfFloats::widened},
    KernelEntry{"onnx.OneHot", one_hot},
    KernelEntry{"onnx.Scatter", scatter_elements, HalfFloats::widened},
    KernelEntry{"onnx.ScatterElements", scatter_elements, HalfFloats::widened},
    KernelEntry{"onnx.ScatterND", scatter_nd, HalfFloats::widened},
    KernelEntry{"onnx.TensorScatter", tensor_scatter},
    KernelEntry{"onnx.Unique", unique, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::GatherBlockQuantized", gather_block_quantized,
                HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
