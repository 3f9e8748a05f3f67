#include "weight_only/stored.hpp"

#include <fmt/format.h>

#include "quadrant/ir/scales.hpp"
#include "quadrant/numerics/scales.hpp"

namespace quadrant::inline v0::weight_only {

StorageChange stored_size(const WeightOnly& scheme, const Constant& weight, const Shape& shape,
                          const Granularity& groups) {
  const ScaleRule rule = scheme.rule();
  const bool has_zero_points = rule.symmetry == Symmetry::asymmetric ||
                               integer_range(rule.storage).value_or(IntegerRange{}).min == 0;
  return {weight.byte_size(),
          stored_bytes(shape, groups, rule.storage, rule.scale, has_zero_points)};
}

Expected<void> examine_weight(const WeightOnly& scheme, const Constant& weight,
                              const Granularity& groups, DataContext& context) {
  QUADRANT_TRY(ParameterScan scan, scan_parameters(weight, groups, scheme.rule()));
  if (scan.non_finite) {
    context.refuse(fmt::format("element {} is {}, read as float32", scan.non_finite->index,
                               scan.non_finite->value));
  } else {
    context.keep(std::move(scan.scales));
    context.keep(std::move(scan.zero_points));
  }
  return {};
}

std::shared_ptr<const UniformType> quantized_type(const WeightOnly& scheme, NodeRef node,
                                                  ElementType expressed, const Granularity& groups,
                                                  const RewriteContext& context) {
  const ScaleRule rule = scheme.rule();
  auto type = std::make_shared<UniformType>();
  type->storage = rule.storage;
  type->expressed = expressed;
  type->granularity = groups;
  type->storage_min = rule.storage_min;
  type->storage_max = rule.storage_max;
  type->scales = context.prepared(node.id, 0);
  type->zero_points = context.prepared(node.id, 1);
  return type;
}

}  // namespace quadrant::inline v0::weight_only
