// Pools: one number for the pixels of a window, channel by channel.
#pragma once

#include <array>

#include "ir/ops/windows.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction max_pool, average_pool, lp_pool;

// The window is the whole image.
KernelFunction global_max_pool, global_average_pool, global_lp_pool;

inline constexpr std::array pools{
    KernelEntry{ops::AveragePool::kind, average_pool, HalfFloats::widened},
    KernelEntry{ops::GlobalAveragePool::kind, global_average_pool, HalfFloats::widened},
    KernelEntry{ops::GlobalLpPool::kind, global_lp_pool, HalfFloats::widened},
    KernelEntry{ops::GlobalMaxPool::kind, global_max_pool, HalfFloats::widened},
    KernelEntry{ops::LpPool::kind, lp_pool, HalfFloats::widened},
    KernelEntry{ops::MaxPool::kind, max_pool, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
