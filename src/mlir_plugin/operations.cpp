#include "mlir_plugin/operations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/work.hpp"
#include "mlir_plugin/seen.hpp"
#include "quadrant/ir/operations.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

using Axes = std::vector<std::int64_t>;

Axes axes_of(NodeRef node) { return node.attribute_or(MlirBroadcast::axes, Axes()); }

std::optional<Granularity> repeated_groups(NodeRef node, const Granularity& wanted) {
  if (wanted.kind == Granularity::Kind::tensor) return wanted;
  const Axes axes = axes_of(node);
  const auto found = std::ranges::find(axes, wanted.axis);
  if (found == axes.end()) return std::nullopt;
  Granularity groups = wanted;
  groups.axis = found - axes.begin();
  return groups;
}

Origin repeated_elements(NodeRef node, std::uint32_t /*result*/) {
  return [axes = axes_of(node)](std::span<const std::int64_t> at,
                                std::span<std::int64_t> from) -> std::uint32_t {
    for (std::size_t i = 0; i < axes.size(); ++i) from[i] = at[static_cast<std::size_t>(axes[i])];
    return 0;
  };
}

std::int64_t products_of(NodeRef node) noexcept {
  return saturating_multiply(counted_elements(node.type().shape),
                             node.attribute_or(MlirProduct::terms, std::int64_t{0}));
}

constinit const Move repeat{repeated_groups, repeated_elements,
                            "the axis is one along which the operand is repeated"};

}  // namespace

std::span<const Operation> own_operations() noexcept {
  static constexpr std::array rows{
      Operation{.kind = MlirBroadcast::kind,
                .family = Family::move,
                .operands = {1, 1},
                .results = {1, 1},
                .traits = {Trait::takes_elements, Trait::stays_in_range},
                .move = &repeat},
      Operation{.kind = MlirLookup::kind,
                .family = Family::place,
                .operands = {1, any_number},
                .results = {1, 1},
                .roles = {"t"}},
      Operation{.kind = MlirProduct::kind,
                .family = Family::product,
                .operands = {2, any_number},
                .results = {1, 1},
                .work = products_of}};
  return rows;
}

}  // namespace quadrant::inline v0::mlir_plugin
