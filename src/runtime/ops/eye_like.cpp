#include <algorithm>

#include "ir/ops/places.hpp"
#include "quadrant/ir/ops.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/ops/scalar.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> eye_like(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  if (x.rank() != 2) return KernelCall::refuse("an operand that is no matrix");
  const auto number = call.attribute_or<std::int64_t>("dtype", 0);
  const ElementType element =
      number == 0 ? x.element() : numbered_element_type(number).value_or(ElementType::undefined);
  const std::int64_t rows = x.extent(0);
  const std::int64_t columns = x.extent(1);
  QUADRANT_TRY(Tensor y, filled(element, x.shape()));
  // Row i has its 1 in column i + k.
  const std::int64_t k = std::clamp(call.attribute_or<std::int64_t>("k", 0), -rows, columns);
  const std::int64_t first_row = std::max<std::int64_t>(-k, 0);
  const std::int64_t first_column = std::max<std::int64_t>(k, 0);
  const std::int64_t length = std::min(rows - first_row, columns - first_column);
  QUADRANT_TRY(const Tensor one, scalar_of(element, 1));
  copy_box({length}, one, {0, {0}}, y, {first_row * columns + first_column, {columns + 1}});
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_eye_like() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::EyeLike::kind, eye_like}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
