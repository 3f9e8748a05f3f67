// Operations whose operands say which elements to take or to replace.
#pragma once

#include <array>

#include "quadrant/ir/ops/places.hpp"
#include "quadrant/ir/ops/windows.hpp"
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
    KernelEntry{ops::Compress::kind, compress},
    KernelEntry{ops::GatherElements::kind, gather_elements},
    KernelEntry{ops::GatherND::kind, gather_nd},
    KernelEntry{ops::MaxUnpool::kind, max_unpool},
    KernelEntry{ops::NonZero::kind, non_zero, HalfFloats::widened},
    KernelEntry{ops::OneHot::kind, one_hot},
    KernelEntry{ops::Scatter::kind, scatter_elements, HalfFloats::widened},
    KernelEntry{ops::ScatterElements::kind, scatter_elements, HalfFloats::widened},
    KernelEntry{ops::ScatterND::kind, scatter_nd, HalfFloats::widened},
    KernelEntry{ops::TensorScatter::kind, tensor_scatter},
    KernelEntry{ops::Unique::kind, unique, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::GatherBlockQuantized", gather_block_quantized,
                HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
