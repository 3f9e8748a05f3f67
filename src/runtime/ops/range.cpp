#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/dispatch.hpp"
#include "runtime/ops/moves.hpp"
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

}  // namespace

Expected<Tensors> range(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  const ElementType element = call.operand(0).element();
  for (const Tensor& operand : call.operands()) {
    if (operand.element_count() != 1 || operand.element() != element) {
      return KernelCall::refuse("start, limit and delta are not one number each of one type");
    }
  }
  return with_element(element, [&]<class T>() -> Expected<Tensors> {
    if constexpr (std::is_same_v<T, bool>) {
      return KernelCall::refuse("boolean operands");
    } else {
      const T start = call.operand(0).as<T>()[0];
      const T delta = call.operand(2).as<T>()[0];
      if (delta == 0) return KernelCall::refuse("a delta of 0");
      QUADRANT_TRY(Tensor y,
                   Tensor::make(element, {count_of(start, call.operand(1).as<T>()[0], delta)}));
      T value = start;
      for (T& out : y.fill<T>()) {
        out = value;
        value = wrapping_add(value, delta);  // behind the last one it may overflow
      }
      return Tensors{std::move(y)};
    }
  });
}

}  // namespace quadrant::inline v0::interpreted
