// Operations whose operands say which elements to take or to replace.
#pragma once

#include <array>

#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "ir/packed_codes.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction gather, gather_elements, gather_nd, scatter_elements, scatter_nd, tensor_scatter,
    gather_block_quantized, one_hot, non_zero, compress, unique, max_unpool;

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
    KernelEntry{gather_block_quantized_kind, gather_block_quantized, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
