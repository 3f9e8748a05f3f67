// Products of matrices of codes.
#include "ir/ops/codes.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/codes.hpp"
#include "runtime/ops/product.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Sums of products of codes less their zero points, as float64. A list of parameters has one for
// each row of A and for each column of B.
Expected<Tensor> sums_of_products(const Tensor& a, const Tensor& a_zero_point, const Tensor& b,
                                  const Tensor& b_zero_point) {
  QUADRANT_TRY(Tensor left, centered(a, along_axis(a_zero_point, 1)));
  QUADRANT_TRY(Tensor right, centered(b, b_zero_point));
  return multiply_numpy({.a = std::move(left), .b = std::move(right)});
}

Expected<Tensors> matmul_integer(const KernelCall& call) {
  QUADRANT_TRY(const Tensor sums, sums_of_products(call.operand(0), call.operand(2),
                                                   call.operand(1), call.operand(3)));
  QUADRANT_TRY(Tensor y, to_int32(sums));
  return Tensors{std::move(y)};
}

Expected<Tensors> qlinear_matmul(const KernelCall& call) {
  QUADRANT_TRY(const Tensor sums, sums_of_products(call.operand(0), call.operand(2),
                                                   call.operand(3), call.operand(5)));
  QUADRANT_TRY(Tensor y, requantized(sums, {.a_scale = along_axis(call.operand(1), 1),
                                            .b_scale = call.operand(4),
                                            .y_scale = along_axis(call.operand(6), 1),
                                            .y_zero_point = along_axis(call.operand(7), 1)}));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_integer_matmul() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::MatMulInteger::kind, matmul_integer},
                                  {ops::QLinearMatMul::kind, qlinear_matmul, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
