// Operations that are about shapes, whatever the elements are.
#include <algorithm>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> shape_of(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Shape& shape = call.operand(0).shape();
  const std::int64_t rank = shape.rank();
  // Beyond the ends means the ends.
  const auto axis = [&](std::string_view name, std::int64_t fallback) {
    const auto index = call.attribute_or<std::int64_t>(name, fallback);
    return std::clamp(index < 0 ? index + rank : index, std::int64_t{0}, rank);
  };
  const std::int64_t first = axis("start", 0);
  const std::int64_t last = std::max(first, axis("end", rank));
  const std::vector<std::int64_t> extents = extents_between(shape, first, last);
  return Tensors{Tensor::from_values<std::int64_t>(ElementType::int64, {last - first}, extents)};
}

Expected<Tensors> size_of(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const std::array count{call.operand(0).element_count()};
  return Tensors{Tensor::from_values<std::int64_t>(ElementType::int64, Shape::scalar(), count)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_shape_of() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::ShapeOf::kind, shape_of}, {ops::Size::kind, size_of}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
