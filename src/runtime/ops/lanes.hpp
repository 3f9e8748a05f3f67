// A tensor seen along one of its axes, or along the axes from one on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/dispatch.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

/// `outer * inner` lanes of `length` elements, which lie `inner` apart.
struct Lanes {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
};

[[nodiscard]] inline Lanes lanes_along(const Shape& shape, std::int64_t axis) {
  return {.outer = count_between(shape, 0, axis),
          .length = shape[axis].value(),
          .inner = count_between(shape, axis + 1, shape.rank())};
}

/// The axes from `axis` on are one.
[[nodiscard]] inline Lanes lanes_from(const Shape& shape, std::int64_t axis) {
  return {.outer = count_between(shape, 0, axis),
          .length = count_between(shape, axis, shape.rank())};
}

/// Calls `function(lane)` for each lane of operand 0, which is real, to compute it in place: what
/// it leaves is the result.
template <class Function>
[[nodiscard]] Expected<Tensors> map_lanes(const KernelCall& call, const Lanes& lanes,
                                          Function function) {
  const Tensor& x = call.operand(0);
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor result, Tensor::make(x.element(), x.shape()));
    const std::span<T> y = result.fill<T>();
    std::ranges::copy(x.as<T>(), y.begin());
    if (y.empty()) return Tensors{std::move(result)};
    const auto length = static_cast<std::size_t>(lanes.length);
    const auto inner = static_cast<std::size_t>(lanes.inner);
    std::vector<T> lane(inner == 1 ? 0 : length);
    for (std::size_t first = 0; first < y.size(); first += length * inner) {
      if (inner == 1) {
        function(y.subspan(first, length));
        continue;
      }
      for (std::size_t i = first; i < first + inner; ++i) {
        for (std::size_t k = 0; k < length; ++k) lane[k] = y[i + k * inner];
        function(std::span(lane));
        for (std::size_t k = 0; k < length; ++k) y[i + k * inner] = lane[k];
      }
    }
    return Tensors{std::move(result)};
  });
}

}  // namespace quadrant::inline v0::interpreted
