#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/ops/places.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// The numbers of a tensor of any type, without what is behind the point.
Expected<Integers> whole_numbers_of(const Tensor& tensor) {
  Integers numbers;
  if (is_float(tensor.element())) {
    QUADRANT_TRY(const auto reals, reals_of(tensor));
    std::ranges::transform(reals, std::back_inserter(numbers), converted<std::int64_t, double>);
    return numbers;
  }
  QUADRANT_CHECK(with_element(tensor.element(), [&]<class T>() -> Expected<Tensors> {
    std::ranges::transform(tensor.as<T>(), std::back_inserter(numbers), converted<std::int64_t, T>);
    return Tensors{};
  }));
  return numbers;
}

Expected<Tensors> one_hot(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  const Tensor& indices = call.operand(0);
  const Tensor& values = call.operand(2);  // off, on
  QUADRANT_TRY(const Integers depths, whole_numbers_of(call.operand(1)));
  if (depths.size() != 1 || depths[0] < 0 || values.element_count() != 2) {
    return KernelCall::refuse("the depth is not one number, or the values are not two");
  }
  const std::int64_t depth = depths[0];
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, -1, indices.rank() + 1));
  Integers extents = extents_between(indices.shape(), 0, indices.rank());
  extents.insert(extents.begin() + axis, depth);
  const Tensor both = values.reshaped({2});
  QUADRANT_TRY(Tensor y, take_box(Shape(extents), both,
                                  {0, Integers(static_cast<std::size_t>(indices.rank() + 1), 0)}));
  if (y.element_count() == 0) return Tensors{std::move(y)};
  QUADRANT_TRY(const Integers list, whole_numbers_of(indices));
  const std::int64_t inner = count_between(indices.shape(), axis, indices.rank());
  return with_width(y.element(), [&]<class T>() -> Expected<Tensors> {
    const T on = values.as<T>()[1];
    T* out = y.fill<T>().data();
    for (std::int64_t i = 0; i < indices.element_count(); ++i) {
      const std::int64_t index = list[static_cast<std::size_t>(i)];
      // One that is outside is nowhere.
      if (index < -depth || index >= depth) continue;
      const std::int64_t hot = index < 0 ? index + depth : index;
      out[(i / inner * depth + hot) * inner + i % inner] = on;
    }
    return Tensors{y};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_one_hot() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::OneHot::kind, one_hot}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
