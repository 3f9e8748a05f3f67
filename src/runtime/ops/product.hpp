// What products of matrices are made of.
#pragma once

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

/// alpha A' B' + beta C. A `[..., M, K]` and B `[..., K, N]`, or with their last two axes swapped,
/// have leading axes that broadcast; C, which may be absent, broadcasts to the result
/// `[..., M, N]`. All are of one element type: floats, or integers of 32 or 64 bits, which
/// wrap around.
struct Product {
  Tensor a;
  Tensor b;
  Tensor c;
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 1;
};

/// Refuses what does not fit.
[[nodiscard]] Expected<Tensor> multiply(const Product& product);

/// As numpy's matmul: a one-dimensional operand is a row (A) or a column (B), and the result does
/// not have that axis.
[[nodiscard]] Expected<Tensor> multiply_numpy(Product product);

/// The kernel of `gemm`: FusedGemm is that with an activation.
[[nodiscard]] Expected<Tensors> gemm(const KernelCall& call);

}  // namespace quadrant::inline v0::interpreted
