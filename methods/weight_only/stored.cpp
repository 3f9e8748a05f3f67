#include "weight_only/stored.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "quadrant/ir/scales.hpp"
#include "quadrant/numerics/convert.hpp"
#include "quadrant/numerics/encode_constant.hpp"
#include "quadrant/numerics/scales.hpp"

namespace quadrant::inline v0::weight_only {

namespace {

// Keeps the codes, and then the parts of their type.
Expected<void> encode_weight(const Constant& weight, const NumberFormat& format,
                             DataContext& context) {
  auto encoded = encode_constant(weight, format);
  if (!encoded) {
    if (encoded.error().code != ErrorCode::impossible) return fail(std::move(encoded).error());
    context.refuse(std::move(encoded).error().message);
    return {};
  }
  context.keep(std::move(encoded->codes));
  for (Constant& part : parts(encoded->quantization)) context.keep(std::move(part));
  return {};
}

}  // namespace

StorageChange stored_size(const WeightOnly& scheme, const Constant& weight, const Shape& shape,
                          const Granularity& groups) {
  if (const auto format = scheme.format(groups, shape.rank())) {
    return {weight.byte_size(),
            static_cast<std::uint64_t>(std::ceil(stored_bits(*format, shape) / 8))};
  }
  const ScaleRule rule = scheme.rule();
  const bool has_zero_points = rule.symmetry == Symmetry::asymmetric ||
                               integer_range(rule.storage).value_or(IntegerRange{}).min == 0;
  return {weight.byte_size(),
          stored_bytes(shape, groups, rule.storage, rule.scale, has_zero_points)};
}

Expected<void> examine_weight(const WeightOnly& scheme, const Constant& weight,
                              const Granularity& groups, DataContext& context) {
  if (const auto format = scheme.format(groups, weight.shape().rank())) {
    return encode_weight(weight, *format, context);
  }
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

Expected<StoredWeight> stored_weight(const WeightOnly& scheme, NodeRef node, const Constant& weight,
                                     const Granularity& groups, const RewriteContext& context) {
  if (auto format = scheme.format(groups, weight.shape().rank())) {
    format->expressed = weight.element();
    std::vector<Constant> parts;
    while (Constant part = context.prepared(node.id, parts.size() + 1)) {
      parts.push_back(std::move(part));
    }
    return StoredWeight{context.prepared(node.id, 0), quantization_of(*format, parts)};
  }
  const ScaleRule rule = scheme.rule();
  auto type = std::make_shared<UniformType>();
  type->storage = rule.storage;
  type->expressed = weight.element();
  type->granularity = groups;
  type->storage_min = rule.storage_min;
  type->storage_max = rule.storage_max;
  type->scales = context.prepared(node.id, 0);
  type->zero_points = context.prepared(node.id, 1);
  QUADRANT_TRY(Constant codes, quantized(weight, type));
  return StoredWeight{std::move(codes), std::move(type)};
}

}  // namespace quadrant::inline v0::weight_only
