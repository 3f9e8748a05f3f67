#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/places.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> non_zero(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  std::vector<std::int64_t> positions;
  QUADRANT_CHECK(with_element(x.element(), [&]<class T>() -> Expected<Tensors> {
    for (std::int64_t position = 0; const T value : x.as<T>()) {
      if (value != T{0}) positions.push_back(position);
      ++position;
    }
    return Tensors{};
  }));
  // A scalar is at index 0 of an axis of its own.
  const Shape shape = x.rank() == 0 ? Shape{1} : x.shape();
  const auto count = static_cast<std::int64_t>(positions.size());
  QUADRANT_TRY(Tensor y, Tensor::make(ElementType::int64, {shape.rank(), count}));
  std::int64_t* out = y.fill<std::int64_t>().data();
  // The last axis first: what is left of a position counts the axes in front of it.
  for (std::int64_t axis = shape.rank(); axis-- > 0;) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t& position = positions[static_cast<std::size_t>(i)];
      out[axis * count + i] = position % shape[axis].value();
      position /= shape[axis].value();
    }
  }
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_non_zero() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::NonZero::kind, non_zero, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
