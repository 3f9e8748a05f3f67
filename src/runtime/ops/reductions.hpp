// Operations that make one number of several along an axis, or of all up to each.
#pragma once

#include <array>

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
    KernelEntry{"onnx.ArgMax", arg_max, HalfFloats::widened},
    KernelEntry{"onnx.ArgMin", arg_min, HalfFloats::widened},
    KernelEntry{"onnx.CumProd", cumulative_product, HalfFloats::widened},
    KernelEntry{"onnx.CumSum", cumulative_sum, HalfFloats::widened},
    KernelEntry{"onnx.ReduceL1", reduce_l1, HalfFloats::widened},
    KernelEntry{"onnx.ReduceL2", reduce_l2, HalfFloats::widened},
    KernelEntry{"onnx.ReduceLogSum", reduce_log_sum, HalfFloats::widened},
    KernelEntry{"onnx.ReduceLogSumExp", reduce_log_sum_exp, HalfFloats::widened},
    KernelEntry{"onnx.ReduceMax", reduce_max, HalfFloats::widened},
    KernelEntry{"onnx.ReduceMean", reduce_mean, HalfFloats::widened},
    KernelEntry{"onnx.ReduceMin", reduce_min, HalfFloats::widened},
    KernelEntry{"onnx.ReduceProd", reduce_prod, HalfFloats::widened},
    KernelEntry{"onnx.ReduceSum", reduce_sum, HalfFloats::widened},
    KernelEntry{"onnx.ReduceSumSquare", reduce_sum_square, HalfFloats::widened},
    KernelEntry{"onnx.TopK", top_k, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
