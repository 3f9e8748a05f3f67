// The encodings of weights and biases, which follow from their contents.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "quadrant/ir/scales.hpp"
#include "quadrant/numerics/find_encoding.hpp"
#include "static_affine/encodings.hpp"
#include "static_affine/real_values.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// Half of what 32 bits hold is left to the sum of products.
constexpr float largest_bias_code = 1 << 30;

Value constant_member(const Query& query) {
  for (const Value member : query.members) {
    if (query.graph->constant(member.node) != nullptr) return member;
  }
  return {};
}

// The constants that are added to products with the weight.
std::vector<const Constant*> biases_of(const GraphView& graph, Value weight) {
  std::vector<const Constant*> biases;
  for (const Use& use : graph.uses(weight.node)) {
    const NodeRef user{&graph, use.user};
    for (std::size_t i = 0; i < user.operands().size(); ++i) {
      if (i == use.operand) continue;
      const Constant* const other = user.operand_constant(i);
      if (other != nullptr && is_float(other->element())) biases.push_back(other);
    }
  }
  return biases;
}

// Raises scales where the codes of a bias, in the scale of the products, would leave 32 bits.
Expected<void> make_room_for_bias(std::vector<float>& scales, float data_scale,
                                  const Constant& bias) {
  const auto count = static_cast<std::int64_t>(scales.size());
  if (count != 1 && bias.element_count() != count) return {};
  QUADRANT_TRY(const std::vector<float> values, read_reals(bias));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float needed = std::abs(values[i]) / largest_bias_code / data_scale;
    float& scale = scales[count == 1 ? 0 : i];
    if (std::isfinite(needed)) scale = std::max(scale, needed);
  }
  return {};
}

std::shared_ptr<const UniformType> with_scales(const UniformType& type,
                                               const std::vector<float>& scales) {
  UniformType changed = type;
  changed.scales = make_scales(ElementType::float32, type.scales.shape(), scales);
  return std::make_shared<const UniformType>(std::move(changed));
}

Expected<UniformType> type_of_contents(const Constant& contents, const Granularity& granularity,
                                       const EncodingRule& rule) {
  QUADRANT_TRY(const auto encodings, find_encodings(contents, granularity, rule));
  QUADRANT_TRY(UniformType type,
               uniform_type(encodings, contents.shape(), granularity, CodeSign::signed_codes));
  type.expressed = contents.element();
  return type;
}

Expected<float> only_scale(const UniformType& type) {
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
  return scales.front();
}

}  // namespace

FoundType weight_type(const StaticAffineOptions& options, const Query& query) {
  const Value weight = constant_member(query);
  if (weight.is_absent()) return nullptr;
  const Constant& contents = *query.graph->constant(weight.node);
  QUADRANT_TRY(const auto prescribed, prescribed_type(options, query));
  if (prescribed != nullptr && query.sources.empty()) return prescribed;
  UniformType type;
  if (prescribed != nullptr) {
    type = *prescribed;
  } else {
    QUADRANT_TRY(type, type_of_contents(contents, query.constraint->granularity, options.weights));
  }
  if (query.sources.empty()) return std::make_shared<const UniformType>(std::move(type));
  QUADRANT_TRY(const float data_scale, only_scale(*query.sources.front()));
  QUADRANT_TRY(std::vector<float> scales, read_scales(type.scales));
  const std::vector<float> found = scales;
  // So that the scale of the products is a normal number.
  for (float& scale : scales) {
    scale = std::max(scale, std::numeric_limits<float>::min() / data_scale);
  }
  for (const Constant* const bias : biases_of(*query.graph, weight)) {
    QUADRANT_CHECK(make_room_for_bias(scales, data_scale, *bias));
  }
  if (prescribed != nullptr) {
    if (scales == found) return prescribed;
    const auto changed = std::ranges::mismatch(scales, found);
    return fail(ErrorCode::impossible,
                fmt::format("the scale {} is prescribed for it; with it, and the data's scale {}, "
                            "the bias of the product does not fit into 32 bits: {} would do",
                            *changed.in2, data_scale, *changed.in1),
                {.tensor = std::string(query.graph->value_name(weight))});
  }
  return with_scales(type, scales);
}

FoundType bias_type(const StaticAffineOptions& options, const Query& query) {
  if (query.sources.size() != 2) {
    QUADRANT_TRY(auto prescribed, prescribed_type(options, query));
    if (prescribed != nullptr) return prescribed;
    const Constant& contents = *query.graph->constant(query.members.front().node);
    EncodingRule rule = options.activations;
    rule.bits = options.bias_bits;
    QUADRANT_TRY(UniformType type, type_of_contents(contents, query.constraint->granularity, rule));
    return std::make_shared<const UniformType>(std::move(type));
  }
  QUADRANT_TRY(const float data_scale, only_scale(*query.sources[0]));
  QUADRANT_TRY(std::vector<float> scales, read_scales(query.sources[1]->scales));
  for (float& scale : scales) {
    scale *= data_scale;
    if (std::isnormal(scale)) continue;
    return fail(ErrorCode::impossible,
                fmt::format("the scale of its products with the data would be {}: exclude the "
                            "operation that reads it",
                            scale),
                {.tensor = std::string(query.graph->value_name(query.members.front()))});
  }
  const auto range = integer_range(ElementType::int32).value_or(IntegerRange{});
  UniformType type{.storage = ElementType::int32,
                   .expressed = query.graph->type(query.members.front()).element,
                   .granularity = query.constraint->granularity,
                   .storage_min = range.min,
                   .storage_max = range.max,
                   .scales = {},
                   .zero_points = {}};
  const Shape shape =
      parameter_shape(query.graph->type(query.members.front()).shape, type.granularity);
  type.scales = make_scales(ElementType::float32, shape, scales);
  return std::make_shared<const UniformType>(std::move(type));
}

}  // namespace quadrant::inline v0::static_affine
