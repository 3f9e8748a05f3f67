#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> constant_of_shape(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  QUADRANT_TRY(std::vector<std::int64_t> extents, integers_of(call.operand(0)));
  Tensor value;
  if (const Attribute* given = call.node().graph->attribute(call.node().id, "value")) {
    const auto* constant = std::get_if<Constant>(given);
    if (constant == nullptr) return KernelCall::refuse("the attribute value is no tensor");
    QUADRANT_TRY(value, Tensor::from_constant(*constant));
  }
  const ElementType element = value ? value.element() : ElementType::float32;
  QUADRANT_TRY(Tensor y, filled(element, Shape(extents), value));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_constant_of_shape() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::ConstantOfShape::kind, constant_of_shape}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
