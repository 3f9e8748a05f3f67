// Operations of any number of operands of one type, which broadcast together.
#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// `function` of the first two, then of what comes out and the third, and so on.
template <class Function>
Expected<Tensors> fold(const KernelCall& call, Function function) {
  return with_number(call.operand(0).element(), [&]<class T>() -> Expected<Tensors> {
    Tensors result{call.operand(0)};
    for (const Tensor& operand : call.operands().subspan(1)) {
      QUADRANT_TRY(result,
                   map_pairs<T>(result[0], operand, [&](T a, T b) { return function(a, b); }));
    }
    return result;
  });
}

Expected<Tensors> max(const KernelCall& call) {
  return fold(call, [](auto a, auto b) { return larger(a, b); });
}

Expected<Tensors> min(const KernelCall& call) {
  return fold(call, [](auto a, auto b) { return smaller(a, b); });
}

Expected<Tensors> sum(const KernelCall& call) {
  return fold(call, [](auto a, auto b) { return wrapping_add(a, b); });
}

Expected<Tensors> mean(const KernelCall& call) {
  QUADRANT_TRY(const Tensors total, sum(call));
  return with_real(total[0].element(), [&]<class T>() {
    const auto count = static_cast<T>(call.operand_count());
    return map_each<T>(total[0], [&](T value) { return value / count; });
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_variadic() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Max::kind, max, HalfFloats::widened},
                                  {ops::Min::kind, min, HalfFloats::widened},
                                  {ops::Sum::kind, sum, HalfFloats::widened},
                                  {ops::Mean::kind, mean, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
