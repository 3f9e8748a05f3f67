// Operations that hand on what they are given.
#include <algorithm>

#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> identity(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  return Tensors{call.operand(0)};
}

// Outside of training all elements are kept, and the mask, which says which ones are, is all true.
Expected<Tensors> dropout(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  const auto is_not_zero = [](std::byte byte) { return byte != std::byte{0}; };
  if (std::ranges::any_of(call.operand(2).bytes(), is_not_zero) &&
      (!call.has(1) || std::ranges::any_of(call.operand(1).bytes(), is_not_zero))) {
    return KernelCall::refuse("dropout in training drops elements by chance");
  }
  if (call.result_count() < 2) return Tensors{x};
  QUADRANT_TRY(Tensor mask, Tensor::make(ElementType::boolean, x.shape()));
  std::ranges::fill(mask.fill<bool>(), true);
  return Tensors{x, std::move(mask)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_pass_on() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{"identity", identity},
                                                            {"coupled_ref", identity},
                                                            {"stats", identity},
                                                            {"stats_ref", identity},
                                                            {ops::Dropout::kind, dropout}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
