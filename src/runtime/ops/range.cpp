#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/places.hpp"
#include "quadrant/ir/ops.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// How many numbers there are from `start` on in front of `limit`.
template <class T>
std::int64_t count_of(T start, T limit, T delta) {
  if (is_nan(start) || is_nan(limit) || (delta > 0 ? start >= limit : start <= limit)) return 0;
  if constexpr (std::is_integral_v<T>) {
    // Differences fit unsigned numbers, whatever their sign is.
    const auto distance = [](T from, T to) {
      return from < to ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                       : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
    };
    const std::uint64_t count = (distance(start, limit) - 1) / distance(0, delta) + 1;
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(count, most));
  } else {
    return converted<std::int64_t>(std::ceil(
        (static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
  }
}

// `start`, `limit` and `delta` hold one number each, of one type.
Expected<Tensor> numbers_between(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  Tensor y;
  const auto made = with_element(start.element(), [&]<class T>() -> Expected<Tensors> {
    if constexpr (std::is_same_v<T, bool>) {
      return KernelCall::refuse("boolean operands");
    } else {
      const T step = delta.as<T>()[0];
      if (step == 0) return KernelCall::refuse("a delta of 0");
      T value = start.as<T>()[0];
      QUADRANT_TRY(y, Tensor::make(start.element(), {count_of(value, limit.as<T>()[0], step)}));
      for (T& out : y.fill<T>()) {
        out = value;
        value = wrapping_add(value, step);  // behind the last one it may overflow
      }
      return Tensors{};
    }
  });
  if (!made) return fail(made.error());
  return y;
}

Expected<Tensors> range(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  const ElementType element = call.operand(0).element();
  for (const Tensor& operand : call.operands()) {
    if (operand.element_count() != 1 || operand.element() != element) {
      return KernelCall::refuse("start, limit and delta are not one number each of one type");
    }
  }
  // Half floats are added up as float32 (opset 27), unless another type is asked for.
  const auto stash = call.attribute_or<std::int64_t>("stash_type", 1);
  if (is_half_float(element) && numbered_element_type(stash) != ElementType::float32) {
    return KernelCall::refuse(fmt::format("stash_type is {}, where 1 is known", stash));
  }
  QUADRANT_TRY(const Tensor start, widened(call.operand(0)));
  QUADRANT_TRY(const Tensor limit, widened(call.operand(1)));
  QUADRANT_TRY(const Tensor delta, widened(call.operand(2)));
  QUADRANT_TRY(Tensor y, numbers_between(start, limit, delta));
  if (is_half_float(element)) {
    QUADRANT_TRY(y, rounded_to(element, y));
  }
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_range() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::Range::kind, range}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
