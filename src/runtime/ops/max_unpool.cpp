#include <fmt/format.h>

#include "ir/ops/windows.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/ops/window.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// What the pool that is undone was given: of operand 2, or as large as its window covers.
Expected<Shape> unpooled_shape(const KernelCall& call) {
  const Shape& pooled = call.operand(0).shape();
  if (call.has(2)) {
    QUADRANT_TRY(Integers extents, integers_of(call.operand(2)));
    return Shape(extents);
  }
  const auto taps = call.attribute_or("kernel_shape", Integers());
  if (pooled.rank() < 3 || static_cast<std::int64_t>(taps.size()) != pooled.rank() - 2) {
    return KernelCall::refuse(
        fmt::format("a window of {} axes for an operand that has {}", taps.size(), pooled.rank()));
  }
  QUADRANT_TRY(const Window window,
               transposed_window(call, pooled.known_extents().subspan(2), taps));
  Integers extents = extents_between(pooled, 0, 2);
  for (const WindowAxis& axis : window) extents.push_back(axis.image);
  return Shape(extents);
}

Expected<Tensors> max_unpool(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  if (indices.shape() != x.shape()) {
    return KernelCall::refuse(fmt::format("indices of shape [{}] for elements of [{}]",
                                          to_string(indices.shape()), to_string(x.shape())));
  }
  QUADRANT_TRY(Shape shape, unpooled_shape(call));
  QUADRANT_TRY(const Integers places, integers_of(indices));
  return with_width(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, filled(x.element(), std::move(shape)));
    const auto out = y.fill<T>();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0 || places[i] >= y.element_count()) {
        return KernelCall::refuse(
            fmt::format("index {} into {} elements", places[i], y.element_count()));
      }
      out[static_cast<std::size_t>(places[i])] = x.as<T>()[i];
    }
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_max_unpool() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::MaxUnpool::kind, max_unpool}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
