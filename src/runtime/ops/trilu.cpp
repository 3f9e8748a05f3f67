#include <algorithm>

#include "ir/ops/places.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> trilu(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  if (x.rank() < 2) return KernelCall::refuse("an operand that is no matrix");
  QUADRANT_TRY(const auto diagonal, integer_parameter(call, 1, {}));
  const bool upper = call.attribute_or<std::int64_t>("upper", 1) != 0;
  const std::int64_t rows = x.extent(x.rank() - 2);
  const std::int64_t columns = x.extent(x.rank() - 1);
  // Diagonals further out than the corners are as good as these.
  const std::int64_t k = std::clamp(diagonal.value_or(0), -rows - 1, columns + 1);
  return with_width(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
    std::ranges::copy(x.as<T>(), y.fill<T>().begin());
    if (y.element_count() == 0) return Tensors{std::move(y)};
    std::int64_t row = 0;
    for (auto out = y.fill<T>().begin(); out != y.fill<T>().end(); out += columns) {
      // In the upper half, elements from the diagonal on are kept; in the lower, those up to it.
      const std::int64_t edge = std::clamp(row + k + (upper ? 0 : 1), std::int64_t{0}, columns);
      if (upper) {
        std::fill_n(out, edge, T{0});
      } else {
        std::fill(out + edge, out + columns, T{0});
      }
      row = (row + 1) % rows;
    }
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_trilu() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::Trilu::kind, trilu}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
