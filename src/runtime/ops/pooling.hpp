// Pools: one number for the pixels of a window, channel by channel.
#pragma once

#include <array>

#include "quadrant/ir/ops/windows.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> max_pool(const KernelCall& call);
[[nodiscard]] Expected<Tensors> average_pool(const KernelCall& call);
[[nodiscard]] Expected<Tensors> lp_pool(const KernelCall& call);

// The window is the whole image.
[[nodiscard]] Expected<Tensors> global_max_pool(const KernelCall& call);
[[nodiscard]] Expected<Tensors> global_average_pool(const KernelCall& call);
[[nodiscard]] Expected<Tensors> global_lp_pool(const KernelCall& call);

inline constexpr std::array pools{
    KernelEntry{ops::AveragePool::kind, average_pool, HalfFloats::widened},
    KernelEntry{ops::GlobalAveragePool::kind, global_average_pool, HalfFloats::widened},
    KernelEntry{ops::GlobalLpPool::kind, global_lp_pool, HalfFloats::widened},
    KernelEntry{ops::GlobalMaxPool::kind, global_max_pool, HalfFloats::widened},
    KernelEntry{ops::LpPool::kind, lp_pool, HalfFloats::widened},
    KernelEntry{ops::MaxPool::kind, max_pool, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
