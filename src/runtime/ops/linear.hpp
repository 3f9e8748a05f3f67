// Products of matrices, with what is added to them.
#pragma once

#include <array>

#include "ir/ops/codes.hpp"
#include "ir/ops/functions.hpp"
#include "ir/packed_codes.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction matmul, gemm, linear, batch_matmul;
/// Also baddbmm, which has an axis more.
KernelFunction addmm;

// Of codes.
KernelFunction matmul_integer, qlinear_matmul, matmul_nbits, matmul_bnb4;

// With an activation, or transposed operands.
KernelFunction fused_gemm, fused_matmul;

// Of the numbers of one matrix.
KernelFunction det;

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
    KernelEntry{matmul_bnb4_kind, matmul_bnb4, HalfFloats::widened},
    KernelEntry{matmul_nbits_kind, matmul_nbits, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
