// The largest or smallest elements along an axis, and where they are.
#include <numeric>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// By value, NaN being larger than any number; of equal ones the first comes first. A strict order,
// as sorting needs.
template <class T>
bool comes_first(T a, T b, std::int64_t a_index, std::int64_t b_index, bool largest) {
  const auto above = [](T x, T y) { return x > y || (is_nan(x) && !is_nan(y)); };
  if (above(a, b)) return largest;
  if (above(b, a)) return !largest;
  return a_index < b_index;
}

// The indices of the first `k` of `lane` in that order, in front of `indices`.
template <class T>
void select(std::span<const T> lane, std::int64_t k, bool largest,
            std::vector<std::int64_t>& indices) {
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  const auto first = [&](std::int64_t a, std::int64_t b) {
    return comes_first(lane[static_cast<std::size_t>(a)], lane[static_cast<std::size_t>(b)], a, b,
                       largest);
  };
  const auto end = indices.begin() + k;
  std::nth_element(indices.begin(), end, indices.end(), first);
  std::sort(indices.begin(), end, first);
}

template <class T>
void select_lanes(const Tensor& x, const Lanes& lanes, std::int64_t k, bool largest, Tensor& values,
                  Tensor& indices) {
  const T* const from = x.as<T>().data();
  T* const to = values.fill<T>().data();
  std::int64_t* const where = indices.fill<std::int64_t>().data();
  std::vector<T> lane(static_cast<std::size_t>(lanes.length));
  std::vector<std::int64_t> order(static_cast<std::size_t>(lanes.length));
  for (std::int64_t outer = 0; outer < lanes.outer; ++outer) {
    for (std::int64_t inner = 0; inner < lanes.inner; ++inner) {
      for (std::int64_t i = 0; i < lanes.length; ++i) {
        lane[static_cast<std::size_t>(i)] = from[(outer * lanes.length + i) * lanes.inner + inner];
      }
      select(std::span<const T>(lane), k, largest, order);
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t index = order[static_cast<std::size_t>(i)];
        const std::int64_t at = (outer * k + i) * lanes.inner + inner;
        to[at] = lane[static_cast<std::size_t>(index)];
        where[at] = index;
      }
    }
  }
}

// K is an operand, before opset 10 an attribute. Sorted, whether or not that is asked for.
Expected<Tensors> top_k(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const auto k, integer_parameter(call, 1, "k"));
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, -1, x.rank()));
  if (!k || *k < 0 || *k > x.extent(axis)) {
    return KernelCall::refuse(fmt::format("{} elements of the {} along axis {}",
                                          k ? fmt::format("{}", *k) : "an unknown number of",
                                          x.extent(axis), axis));
  }
  std::vector<std::int64_t> extents(x.extents().begin(), x.extents().end());
  extents[static_cast<std::size_t>(axis)] = *k;
  QUADRANT_TRY(Tensor values, Tensor::make(x.element(), Shape(extents)));
  QUADRANT_TRY(Tensor indices, Tensor::make(ElementType::int64, Shape(extents)));
  if (values.element_count() == 0) return Tensors{std::move(values), std::move(indices)};
  const bool largest = call.attribute_or<std::int64_t>("largest", 1) != 0;
  const Lanes lanes = lanes_along(x.shape(), axis);
  return with_number(x.element(), [&]<class T>() -> Expected<Tensors> {
    select_lanes<T>(x, lanes, *k, largest, values, indices);
    return Tensors{std::move(values), std::move(indices)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_top_k() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::TopK::kind, top_k, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
