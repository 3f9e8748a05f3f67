// Products of matrices, with what is added to them.
#pragma once

#include <array>

#include "quadrant/ir/ops/codes.hpp"
#include "quadrant/ir/ops/functions.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> matmul(const KernelCall& call);
[[nodiscard]] Expected<Tensors> gemm(const KernelCall& call);
[[nodiscard]] Expected<Tensors> linear(const KernelCall& call);
[[nodiscard]] Expected<Tensors> batch_matmul(const KernelCall& call);
/// Also baddbmm, which has an axis more.
[[nodiscard]] Expected<Tensors> addmm(const KernelCall& call);

// Of codes.
[[nodiscard]] Expected<Tensors> matmul_integer(const KernelCall& call);
[[nodiscard]] Expected<Tensors> qlinear_matmul(const KernelCall& call);
[[nodiscard]] Expected<Tensors> matmul_nbits(const KernelCall& call);

// With an activation, or transposed operands.
[[nodiscard]] Expected<Tensors> fused_gemm(const KernelCall& call);
[[nodiscard]] Expected<Tensors> fused_matmul(const KernelCall& call);

// Of the numbers of one matrix.
[[nodiscard]] Expected<Tensors> det(const KernelCall& call);

inline constexpr std::array products{
    KernelEntry{"addmm", addmm, HalfFloats::widened},
    KernelEntry{"baddbmm", addmm, HalfFloats::widened},
    KernelEntry{"batch_matmul", batch_matmul, HalfFloats::widened},
    KernelEntry{"gemm", gemm, HalfFloats::widened},
    KernelEntry{"linear", linear, HalfFloats::widened},
    KernelEntry{"matmul", matmul, HalfFloats::widened},
    KernelEntry{ops::Det::kind, det, HalfFloats::widened},
    KernelEntry{ops::MatMulInteger::kind, matmul_integer},
    KernelEntry{ops::QLinearMatMul::kind, qlinear_matmul, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::FusedGemm", fused_gemm, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::FusedMatMul", fused_matmul, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::MatMulNBits", matmul_nbits, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
