#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/ops/places.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// Rows in groups of equals: group `g` is rows `order[starts[g]]` up to `order[starts[g + 1]]`.
struct Groups {
  Integers order;
  Integers starts;

  [[nodiscard]] std::size_t count() const { return starts.size() - 1; }
  /// The first row of the operand that belongs to the group.
  [[nodiscard]] std::int64_t first(std::size_t group) const {
    return order[static_cast<std::size_t>(starts[group])];
  }
};

// NaN comes last, and is the same as NaN.
template <class T>
int compare(T a, T b) {
  if (is_nan(a) || is_nan(b)) return static_cast<int>(is_nan(a)) - static_cast<int>(is_nan(b));
  return a < b ? -1 : static_cast<int>(b < a);
}

// `rows` rows of `length` elements each, grouped from the smallest to the largest.
template <class T>
Groups groups_of(const T* elements, std::int64_t rows, std::int64_t length) {
  const auto compare_rows = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t i = 0; i < length; ++i) {
      const int order = compare(elements[a * length + i], elements[b * length + i]);
      if (order != 0) return order;
    }
    return 0;
  };
  Groups groups{.order = all_axes(rows), .starts = {}};
  std::ranges::stable_sort(groups.order,
                           [&](std::int64_t a, std::int64_t b) { return compare_rows(a, b) < 0; });
  for (std::size_t i = 0; i < groups.order.size(); ++i) {
    if (i == 0 || compare_rows(groups.order[i - 1], groups.order[i]) != 0) {
      groups.starts.push_back(static_cast<std::int64_t>(i));
    }
  }
  groups.starts.push_back(rows);
  return groups;
}

// `x` with the axis in front.
Expected<Tensor> with_axis_in_front(const Tensor& x, std::int64_t axis) {
  Integers extents = extents_between(x.shape(), 0, x.rank());
  Layout layout{.offset = 0, .steps = x.shape().strides()};
  std::rotate(extents.begin(), extents.begin() + axis, extents.begin() + axis + 1);
  std::rotate(layout.steps.begin(), layout.steps.begin() + axis, layout.steps.begin() + axis + 1);
  return take_box(Shape(extents), x, layout);
}

Tensor list_of(const Integers& integers) {
  return Tensor::from_values<std::int64_t>(ElementType::int64,
                                           {static_cast<std::int64_t>(integers.size())}, integers);
}

// What Unique gives, the groups being listed in the order `listed`.
Expected<Tensors> results_of(const Tensor& x, std::int64_t axis, const Groups& groups,
                             const std::vector<std::size_t>& listed) {
  Integers firsts;
  Integers counts;
  Integers inverse(groups.order.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const auto begin = static_cast<std::size_t>(groups.starts[listed[i]]);
    const auto end = static_cast<std::size_t>(groups.starts[listed[i] + 1]);
    firsts.push_back(groups.order[begin]);
    counts.push_back(static_cast<std::int64_t>(end - begin));
    for (std::size_t member = begin; member < end; ++member) {
      inverse[static_cast<std::size_t>(groups.order[member])] = static_cast<std::int64_t>(i);
    }
  }
  Integers extents = extents_between(x.shape(), 0, x.rank());
  extents[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(listed.size());
  QUADRANT_TRY(Tensor y, take_indices(x, Shape(extents), [&](std::int64_t along, std::int64_t i) {
                 return along == axis ? firsts[static_cast<std::size_t>(i)] : i;
               }));
  return Tensors{std::move(y), list_of(firsts), list_of(inverse), list_of(counts)};
}

Expected<Tensors> unique(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  // Without an axis the elements lie along one.
  Tensor x = call.operand(0);
  std::int64_t axis = 0;
  if (call.node().graph->attribute(call.node().id, "axis") == nullptr) {
    x = x.reshaped({x.element_count()});
  } else {
    QUADRANT_TRY(axis, axis_attribute(call, 0, x.rank()));
  }
  const std::int64_t rows = x.extent(axis);
  if (x.element_count() == 0 && rows > 0) {
    return KernelCall::refuse(
        fmt::format("a tensor of shape [{}], which has no elements", to_string(x.shape())));
  }
  QUADRANT_TRY(const Tensor table, with_axis_in_front(x, axis));
  return with_element(x.element(), [&]<class T>() -> Expected<Tensors> {
    const Groups groups =
        groups_of(table.as<T>().data(), rows, rows == 0 ? 0 : x.element_count() / rows);
    std::vector<std::size_t> listed(groups.count());
    std::iota(listed.begin(), listed.end(), std::size_t{0});
    if (call.attribute_or<std::int64_t>("sorted", 1) == 0) {
      std::ranges::sort(listed, {}, [&](std::size_t group) { return groups.first(group); });
    }
    return results_of(x, axis, groups, listed);
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_unique() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Unique::kind, unique, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
