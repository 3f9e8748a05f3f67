// Where the largest or smallest element along an axis is.
#include "ir/ops/reductions.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Goes over `lanes` row by row, a row being the elements of one index along the axis. Of equal
// elements the first is taken, or the last. NaN beats any number, as in numpy.
template <class T, class Better>
void find_best(std::span<const T> x, const Lanes& lanes, bool take_last, Better better,
               std::span<std::int64_t> indices) {
  const auto inner = static_cast<std::size_t>(lanes.inner);
  const auto cycle = static_cast<std::size_t>(lanes.length) * inner;
  std::vector<T> best(inner);
  for (; !indices.empty(); indices = indices.subspan(inner), x = x.subspan(cycle)) {
    std::ranges::copy(x.first(inner), best.begin());
    std::ranges::fill(indices.first(inner), 0);
    for (std::size_t row = inner; row < cycle; row += inner) {
      for (std::size_t i = 0; i < inner; ++i) {
        const T value = x[row + i];
        const bool wins = better(value, best[i]) || (is_nan(value) && !is_nan(best[i]));
        if (!wins && !(take_last && value == best[i])) continue;
        best[i] = value;
        indices[i] = static_cast<std::int64_t>(row / inner);
      }
    }
  }
}

template <class Better>
Expected<Tensors> arg_best(const KernelCall& call, Better better) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, 0, x.rank()));
  std::vector<std::int64_t> extents(x.extents().begin(), x.extents().end());
  if (call.attribute_or<std::int64_t>("keepdims", 1) != 0) {
    extents[static_cast<std::size_t>(axis)] = 1;
  } else {
    extents.erase(extents.begin() + axis);
  }
  QUADRANT_TRY(Tensor indices, Tensor::make(ElementType::int64, Shape(extents)));
  if (indices.element_count() == 0) return Tensors{std::move(indices)};
  if (x.element_count() == 0) {
    return KernelCall::refuse(
        fmt::format("no elements along axis {} of shape [{}]", axis, to_string(x.shape())));
  }
  const bool take_last = call.attribute_or<std::int64_t>("select_last_index", 0) != 0;
  const Lanes lanes = lanes_along(x.shape(), axis);
  return with_number(x.element(), [&]<class T>() -> Expected<Tensors> {
    find_best(x.as<T>(), lanes, take_last, better, indices.fill<std::int64_t>());
    return Tensors{std::move(indices)};
  });
}

Expected<Tensors> arg_max(const KernelCall& call) { return arg_best(call, std::greater<>()); }

Expected<Tensors> arg_min(const KernelCall& call) { return arg_best(call, std::less<>()); }

}  // namespace

std::span<const KernelEntry> kernels::in_arg_max() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::ArgMax::kind, arg_max, HalfFloats::widened},
                                  {ops::ArgMin::kind, arg_min, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
