// The products of ops.hpp, which differ in the shapes that they take.
#include <fmt/format.h>

#include "quadrant/ir/ops.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/product.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// A and B are the operands `first` and the next; a batch does not broadcast.
Expected<void> check_shapes(const KernelCall& call, std::size_t first, std::int64_t rank) {
  const Shape& a = call.operand(first).shape();
  const Shape& b = call.operand(first + 1).shape();
  if (a.rank() != rank || b.rank() != rank) {
    return KernelCall::refuse(
        fmt::format("matrices of shapes [{}] and [{}], where {} axes are "
                    "wanted",
                    to_string(a), to_string(b), rank));
  }
  if (rank == 3 && !surely_equal(a[0], b[0])) {
    return KernelCall::refuse(
        fmt::format("batches of {} and {}", to_string(a[0]), to_string(b[0])));
  }
  return {};
}

Expected<Tensors> only(Expected<Tensor> result) {
  QUADRANT_TRY(Tensor y, std::move(result));
  return Tensors{std::move(y)};
}

Expected<Tensors> matmul(const KernelCall& call) {
  return only(multiply_numpy({.a = call.operand(0), .b = call.operand(1)}));
}

Expected<Tensors> batch_matmul(const KernelCall& call) {
  QUADRANT_CHECK(check_shapes(call, 0, 3));
  return only(multiply({.a = call.operand(0), .b = call.operand(1)}));
}

Expected<Tensors> addmm(const KernelCall& call) {
  QUADRANT_CHECK(check_shapes(call, 1, call.node().kind() == ops::Baddbmm::kind ? 3 : 2));
  return only(multiply({.a = call.operand(1),
                        .b = call.operand(2),
                        .c = call.operand(0),
                        .alpha = call.attribute_or("alpha", 1.0),
                        .beta = call.attribute_or("beta", 1.0)}));
}

Expected<Tensors> linear(const KernelCall& call) {
  const Tensor& weight = call.operand(1);
  if (weight.rank() != 2) {
    return KernelCall::refuse(
        fmt::format("a weight of shape [{}], which is no matrix", to_string(weight.shape())));
  }
  Tensor x = call.operand(0);
  const bool is_row = x.rank() == 1;
  if (is_row) x = x.reshaped({1, x.extent(0)});
  QUADRANT_TRY(
      Tensor y,
      multiply({.a = std::move(x), .b = weight, .c = call.operand(2), .transpose_b = true}));
  return Tensors{is_row ? y.reshaped({y.extent(1)}) : std::move(y)};
}

}  // namespace

Expected<Tensors> gemm(const KernelCall& call) {
  QUADRANT_CHECK(check_shapes(call, 0, 2));
  const ops::Gemm gemm{call.node()};
  return only(multiply({.a = call.operand(0),
                        .b = call.operand(1),
                        .c = call.operand(2),
                        .transpose_a = gemm.trans_a(),
                        .transpose_b = gemm.trans_b(),
                        .alpha = call.attribute_or("alpha", 1.0),
                        .beta = call.attribute_or("beta", 1.0)}));
}

std::span<const KernelEntry> kernels::in_matmul() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{"matmul", matmul, HalfFloats::widened},
                                  {"batch_matmul", batch_matmul, HalfFloats::widened},
                                  {"linear", linear, HalfFloats::widened},
                                  {"gemm", gemm, HalfFloats::widened},
                                  {"addmm", addmm, HalfFloats::widened},
                                  {"baddbmm", addmm, HalfFloats::widened}});  // has an axis more
  return table;
}

}  // namespace quadrant::inline v0::interpreted
