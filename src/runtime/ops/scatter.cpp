// Operations that replace elements by their indices, or reduce others into them.
#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/places.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/indices.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

enum class Combination : std::uint8_t { none, add, multiply, smallest, largest };

Expected<Combination> combination_of(const KernelCall& call) {
  const auto name = call.attribute_or<std::string>("reduction", "none");
  if (name == "none") return Combination::none;
  if (name == "add") return Combination::add;
  if (name == "mul") return Combination::multiply;
  if (name == "min") return Combination::smallest;
  if (name == "max") return Combination::largest;
  return KernelCall::refuse(fmt::format("the reduction '{}'", name));
}

// What two booleans make is what the numbers 0 and 1 make, and a sum is at most 1.
template <class T, class Function>
T combined(T a, T b, Function function) {
  if constexpr (std::is_same_v<T, bool>) {
    return function(static_cast<int>(a), static_cast<int>(b)) != 0;
  } else {
    return function(a, b);
  }
}

// Reduces `count` elements into those from `out` on.
template <class T>
void reduce_into(Combination reduction, const T* in, std::int64_t count, T* out) {
  const auto each = [&](auto function) {
    std::transform(out, out + count, in, out, [&](T a, T b) { return combined(a, b, function); });
  };
  switch (reduction) {
    case Combination::none:
      std::copy_n(in, count, out);
      return;
    case Combination::add:
      return each([](auto a, auto b) { return wrapping_add(a, b); });
    case Combination::multiply:
      return each([](auto a, auto b) { return wrapping_multiply(a, b); });
    case Combination::smallest:
      return each([](auto a, auto b) { return smaller(a, b); });
    case Combination::largest:
      return each([](auto a, auto b) { return larger(a, b); });
  }
}

// Operand 0, with the slices of `size` elements of operand 2 at `offsets`, in order.
Expected<Tensors> scatter(const KernelCall& call, const Integers& offsets, std::int64_t size) {
  const Tensor& x = call.operand(0);
  const Tensor& updates = call.operand(2);
  if (x.element() != updates.element()) {
    return KernelCall::refuse(fmt::format("updates of type {} for a tensor of {}",
                                          to_string(updates.element()), to_string(x.element())));
  }
  QUADRANT_TRY(const Combination reduction, combination_of(call));
  return with_element(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
    std::ranges::copy(x.as<T>(), y.fill<T>().begin());
    const T* in = updates.as<T>().data();
    for (const std::int64_t offset : offsets) {
      reduce_into(reduction, in, size, y.fill<T>().data() + offset);
      in += size;
    }
    return Tensors{std::move(y)};
  });
}

Expected<Tensors> scatter_elements(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  const Shape& shape = call.operand(0).shape();
  const Tensor& indices = call.operand(1);
  if (call.operand(2).shape() != indices.shape()) {
    return KernelCall::refuse(fmt::format("updates of shape [{}] for indices of [{}]",
                                          to_string(call.operand(2).shape()),
                                          to_string(indices.shape())));
  }
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, 0, shape.rank()));
  QUADRANT_TRY(const Integers offsets, offsets_along(shape, indices, axis));
  return scatter(call, offsets, 1);
}

Expected<Tensors> scatter_nd(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  const Tensor& indices = call.operand(1);
  QUADRANT_TRY(const Slices slices, slices_of(call.operand(0).shape(), indices, 0));
  Integers wanted = extents_between(indices.shape(), 0, indices.rank() - 1);
  wanted.insert(wanted.end(), slices.extents.begin(), slices.extents.end());
  if (call.operand(2).shape() != Shape(wanted)) {
    return KernelCall::refuse(fmt::format("updates of shape [{}], where [{}] is wanted",
                                          to_string(call.operand(2).shape()),
                                          to_string(Shape(wanted))));
  }
  return scatter(call, slices.offsets, slices.size);
}

}  // namespace

std::span<const KernelEntry> kernels::in_scatter() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::Scatter::kind, scatter_elements, HalfFloats::widened},
       {ops::ScatterElements::kind, scatter_elements, HalfFloats::widened},
       {ops::ScatterND::kind, scatter_nd, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
