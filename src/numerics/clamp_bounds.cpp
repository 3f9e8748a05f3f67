#include "numerics/clamp_bounds.hpp"

#include <limits>

#include "ir/ops/elementwise.hpp"
#include "numerics/reals.hpp"

namespace quadrant::inline v0 {

std::optional<double> known_number(NodeRef node, std::uint32_t index, std::string_view attribute,
                                   double fallback) {
  if (node.operand(index).is_absent()) return node.attribute_or(attribute, fallback);
  const Constant* const constant = node.operand_constant(index);
  if (constant == nullptr || constant->element_count() != 1 || !is_float(constant->element())) {
    return std::nullopt;
  }
  const auto values = read_reals(*constant);
  return values ? std::optional(values->front()) : std::nullopt;
}

std::optional<ClampBounds> clamp_bounds(NodeRef node) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double largest = std::numeric_limits<float>::max();
  if (node.kind() == ops::Relu::kind) return ClampBounds{0, infinity};
  if (node.kind() != ops::Clip::kind) return std::nullopt;
  const auto low = known_number(node, 1, "min", -infinity);
  const auto high = known_number(node, 2, "max", infinity);
  if (!low || !high || !(*low <= *high)) return std::nullopt;
  return ClampBounds{*low <= -largest ? -infinity : *low, *high >= largest ? infinity : *high};
}

}  // namespace quadrant::inline v0
