#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Operands: a condition, what is taken where it holds, and what elsewhere; all three broadcast.
Expected<Tensors> where(const KernelCall& call) {
  const Tensor& condition = call.operand(0);
  const Tensor& x = call.operand(1);
  const Tensor& y = call.operand(2);
  QUADRANT_CHECK(check_alike(x, y));
  if (condition.element() != ElementType::boolean) {
    return KernelCall::refuse(
        fmt::format("a condition of type {}", to_string(condition.element())));
  }
  QUADRANT_TRY(Shape shape, broadcast_shape(std::array{condition, x, y}));
  const std::array strides{broadcast_strides(condition.shape(), shape),
                           broadcast_strides(x.shape(), shape),
                           broadcast_strides(y.shape(), shape)};
  QUADRANT_TRY(Tensor result, Tensor::make(x.element(), std::move(shape)));
  return with_width(x.element(), [&]<class T>() -> Expected<Tensors> {
    const bool* const conditions = condition.as<bool>().data();
    const T* const xs = x.as<T>().data();
    const T* const ys = y.as<T>().data();
    T* const out = result.fill<T>().data();
    for_each_run(result.shape(), strides,
                 [&](std::int64_t position, const std::array<std::int64_t, 3>& offsets,
                     std::int64_t length, const std::array<std::int64_t, 3>& steps) {
                   for (std::int64_t i = 0; i < length; ++i) {
                     out[position + i] = conditions[offsets[0] + i * steps[0]]
                                             ? xs[offsets[1] + i * steps[1]]
                                             : ys[offsets[2] + i * steps[2]];
                   }
                 });
    return Tensors{std::move(result)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_where() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::Where::kind, where}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
