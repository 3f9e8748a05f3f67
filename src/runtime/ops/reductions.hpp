// Operations that make one number of several along an axis, or of all up to each.
#pragma once

#include <array>

#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction reduce_l1, reduce_l2, reduce_log_sum, reduce_log_sum_exp, reduce_max, reduce_mean,
    reduce_min, reduce_prod, reduce_sum, reduce_sum_square;

KernelFunction arg_max, arg_min, cumulative_product, cumulative_sum, top_k;

inline constexpr std::array reductions{
    KernelEntry{ops::ArgMax::kind, arg_max, HalfFloats::widened},
    KernelEntry{ops::ArgMin::kind, arg_min, HalfFloats::widened},
    KernelEntry{ops::CumProd::kind, cumulative_product, HalfFloats::widened},
    KernelEntry{ops::CumSum::kind, cumulative_sum, HalfFloats::widened},
    KernelEntry{ops::ReduceL1::kind, reduce_l1, HalfFloats::widened},
    KernelEntry{ops::ReduceL2::kind, reduce_l2, HalfFloats::widened},
    KernelEntry{ops::ReduceLogSum::kind, reduce_log_sum, HalfFloats::widened},
    KernelEntry{ops::ReduceLogSumExp::kind, reduce_log_sum_exp, HalfFloats::widened},
    KernelEntry{ops::ReduceMax::kind, reduce_max, HalfFloats::widened},
    KernelEntry{ops::ReduceMean::kind, reduce_mean, HalfFloats::widened},
    KernelEntry{ops::ReduceMin::kind, reduce_min, HalfFloats::widened},
    KernelEntry{ops::ReduceProd::kind, reduce_prod, HalfFloats::widened},
    KernelEntry{ops::ReduceSum::kind, reduce_sum, HalfFloats::widened},
    KernelEntry{ops::ReduceSumSquare::kind, reduce_sum_square, HalfFloats::widened},
    KernelEntry{ops::TopK::kind, top_k, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
