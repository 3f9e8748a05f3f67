#include <fmt/format.h>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> compress(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  // Without an axis the elements lie along one.
  Tensor x = call.operand(0);
  std::int64_t axis = 0;
  if (call.node().graph->attribute(call.node().id, "axis") == nullptr) {
    x = x.reshaped({x.element_count()});
  } else {
    QUADRANT_TRY(axis, axis_attribute(call, 0, x.rank()));
  }
  const Tensor& condition = call.operand(1);
  if (condition.element() != ElementType::boolean) {
    return KernelCall::refuse(
        fmt::format("a condition of type {}", to_string(condition.element())));
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; const bool keep : condition.as<bool>()) {
    if (keep) kept.push_back(i);
    ++i;
  }
  if (!kept.empty() && kept.back() >= x.extent(axis)) {
    return KernelCall::refuse(fmt::format("the condition keeps element {} of an axis that has {}",
                                          kept.back(), x.extent(axis)));
  }
  std::vector<std::int64_t> extents = extents_between(x.shape(), 0, x.rank());
  extents[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(kept.size());
  QUADRANT_TRY(Tensor y, take_indices(x, Shape(extents), [&](std::int64_t along, std::int64_t i) {
                 return along == axis ? kept[static_cast<std::size_t>(i)] : i;
               }));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_compress() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::Compress::kind, compress}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
