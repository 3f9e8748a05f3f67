#include "ir/ops/reductions.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// `combine` of all elements up to each, beginning with `neutral`, along the axis that operand 1
// names: without the element itself where `exclusive`, from the end where `reverse`.
template <class Combine>
Expected<Tensors> accumulated(const KernelCall& call, int neutral, Combine combine) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const auto given, integer_parameter(call, 1, "axis"));
  QUADRANT_TRY(const std::int64_t axis, axis_below(given.value_or(0), x.rank()));
  const bool exclusive = call.attribute_or<std::int64_t>("exclusive", 0) != 0;
  const bool reverse = call.attribute_or<std::int64_t>("reverse", 0) != 0;
  QUADRANT_TRY(Tensor results, Tensor::make(x.element(), x.shape()));
  if (x.element_count() == 0) return Tensors{std::move(results)};
  const Lanes lanes = lanes_along(x.shape(), axis);
  return with_number(x.element(), [&]<class T>() -> Expected<Tensors> {
    const T* const from = x.as<T>().data();
    T* const to = results.fill<T>().data();
    const std::int64_t step = reverse ? -lanes.inner : lanes.inner;
    for (std::int64_t lane = 0; lane < lanes.outer * lanes.inner; ++lane) {
      const std::int64_t first =
          lane / lanes.inner * lanes.length * lanes.inner + lane % lanes.inner;
      std::int64_t at = reverse ? first + (lanes.length - 1) * lanes.inner : first;
      auto so_far = static_cast<Wide<T>>(neutral);
      for (std::int64_t i = 0; i < lanes.length; ++i, at += step) {
        const Wide<T> next = combine(so_far, static_cast<Wide<T>>(from[at]));
        to[at] = static_cast<T>(exclusive ? so_far : next);
        so_far = next;
      }
    }
    return Tensors{std::move(results)};
  });
}

Expected<Tensors> cumulative_sum(const KernelCall& call) {
  return accumulated(call, 0, [](auto sum, auto next) { return wrapping_add(sum, next); });
}

Expected<Tensors> cumulative_product(const KernelCall& call) {
  return accumulated(call, 1,
                     [](auto product, auto next) { return wrapping_multiply(product, next); });
}

}  // namespace

std::span<const KernelEntry> kernels::in_cumulative_sum() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::CumSum::kind, cumulative_sum, HalfFloats::widened},
                                  {ops::CumProd::kind, cumulative_product, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
