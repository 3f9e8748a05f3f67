// Operations that make one number of several along an axis, or of all up to each.
#pragma once

#include <array>

#include "quadrant/ir/ops/places.hpp"
#include "quadrant/ir/ops/reductions.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> reduce_l1(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_l2(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_log_sum(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_log_sum_exp(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_max(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_mean(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_min(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_prod(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_sum(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reduce_sum_square(const KernelCall& call);

[[nodiscard]] Expected<Tensors> arg_max(const KernelCall& call);
[[nodiscard]] Expected<Tensors> arg_min(const KernelCall& call);
[[nodiscard]] Expected<Tensors> cumulative_product(const KernelCall& call);
[[nodiscard]] Expected<Tensors> cumulative_sum(const KernelCall& call);
[[nodiscard]] Expected<Tensors> top_k(const KernelCall& call);

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
