#include "weight_only/stored.hpp"

#include <fmt/format.h>

#include "quadrant/numerics/scales.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

std::uint64_t packed_bytes(std::uint64_t elements, ElementType storage) {
  return (elements * static_cast<std::uint64_t>(bit_width(storage)) + 7) / 8;
}

}  // namespace

StorageChange stored_size(const WeightOnly& scheme, const Constant& weight, const Shape& shape,
                          const ScaleGroups& groups) {
  const auto count = static_cast<std::uint64_t>(weight.element_count());
  const auto scales = static_cast<std::uint64_t>(
      parameter_shape(shape, groups.granularity).element_count().value_or(0));
  const ElementType storage = scheme.rule().storage;
  const auto scale_bytes = static_cast<std::uint64_t>(byte_width(scheme.rule().scale));
  // A scale for each group, and a zero point: formats store those even where all are zero, but not
  // for blocks.
  const bool is_zero = scheme.rule().symmetry != Symmetry::asymmetric &&
                       integer_range(storage).value_or(IntegerRange{}).min < 0;
  const bool has_zero_points = !is_zero || groups.granularity.kind != Granularity::Kind::block;
  return {weight.byte_size(), packed_bytes(count, storage) + scales * scale_bytes +
                                  (has_zero_points ? packed_bytes(scales, storage) : 0)};
}

Expected<void> examine_weight(const WeightOnly& scheme, const Constant& weight,
                              const ScaleGroups& groups, DataContext& context) {
  QUADRANT_TRY(ParameterScan scan, scan_parameters(weight, groups.granularity, scheme.rule()));
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
                                                  ElementType expressed, const ScaleGroups& groups,
                                                  const RewriteContext& context) {
  const ScaleRule rule = scheme.rule();
  auto type = std::make_shared<UniformType>();
  type->storage = rule.storage;
  type->expressed = expressed;
  type->granularity = groups.granularity;
  type->storage_min = rule.storage_min;
  type->storage_max = rule.storage_max;
  type->scales = context.prepared(node.id, 0);
  type->zero_points = context.prepared(node.id, 1);
  return type;
}

}  // namespace quadrant::inline v0::weight_only
