// The encodings of weights and biases, which follow from their contents.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/float16.hpp"
#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "static_affine/coded_bias.hpp"
#include "static_affine/encodings.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// Half of what 32 bits hold is left to the sum of products.
constexpr double largest_bias_code = 1 << 30;

Value constant_member(const Query& query) {
  for (const Value member : query.members) {
    if (query.graph->constant(member.node) != nullptr) return member;
  }
  return {};
}

// What the weight's scales have to go with, in one of its readers.
struct Demand {
  float data_scale;
  const Constant* bias;  ///< added in the scale of the products
};

Expected<float> only_scale(const UniformType& type) {
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
  return scales.front();
}

// As far as that follows from the data alone, and not from what shares its parameters.
Expected<std::optional<float>> likely_scale(const StaticAffineOptions& options,
                                            const GraphView& graph, Value data) {
  if (activation_refusal(options, graph, data) != nullptr) return std::optional<float>();
  const AffineForm form = StaticAffine(options).activation();
  Query query{.graph = &graph, .constraint = &form};
  const std::array members{data};
  query.members = members;
  QUADRANT_TRY(const auto type, activation_type(options, query));
  QUADRANT_TRY(const float scale, only_scale(*type));
  return std::optional(scale);
}

Expected<std::vector<Demand>> demands_on(const StaticAffineOptions& options, const Query& query,
                                         Value weight) {
  std::vector<Demand> demands;
  if (options.bias_bits != 32) return demands;
  for (const Use& use : query.graph->uses(weight.node)) {
    const NodeRef user{query.graph, use.user};
    const Product* const product = find_product(user);
    if (product == nullptr || use.operand != product->weight) continue;
    const Constant* const bias = coded_bias(user, *product, query.constraint->granularity, true);
    if (bias == nullptr) continue;
    if (!query.sources.empty()) {
      QUADRANT_TRY(const float scale, only_scale(*query.sources.front()));
      demands.push_back({scale, bias});
      continue;
    }
    QUADRANT_TRY(const auto scale,
                 likely_scale(options, *query.graph, user.operand(product->data)));
    if (scale) demands.push_back({*scale, bias});
  }
  return demands;
}

// Raises scales where the codes of a bias, in the scale of the products, would leave 32 bits.
Expected<void> make_room_for_bias(std::vector<float>& scales, float data_scale,
                                  const Constant& bias) {
  const auto count = static_cast<std::int64_t>(scales.size());
  if (count != 1 && bias.element_count() != count) return {};
  QUADRANT_TRY(const std::vector<double> values, read_reals(bias));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto needed = static_cast<float>(std::abs(values[i]) / largest_bias_code / data_scale);
    float& scale = scales[count == 1 ? 0 : i];
    if (std::isfinite(needed)) scale = std::max(scale, needed);
  }
  return {};
}

// Where the weight's scale made room, it does.
Expected<void> check_fits(const Constant& bias, const std::vector<float>& scales,
                          std::string_view name) {
  QUADRANT_TRY(const std::vector<double> values, read_reals(bias));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto scale = static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
    const double code = std::nearbyint(values[i] / scale);
    if (!std::isfinite(values[i]) || std::abs(code) <= std::numeric_limits<std::int32_t>::max()) {
      continue;
    }
    return fail(ErrorCode::impossible,
                fmt::format("element {}, {}, does not fit into 32 bits in the scale {} of the "
                            "products that it is added to: exclude the operation that reads it",
                            i, values[i], scale),
                {.tensor = std::string(name)});
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
                                       const EncodingRule& rule, CodeSign sign) {
  QUADRANT_TRY(const auto encodings, find_encodings(contents, granularity, rule));
  QUADRANT_TRY(UniformType type, uniform_type(encodings, contents.shape(), granularity, sign));
  type.expressed = contents.element();
  return type;
}

}  // namespace

FoundType weight_type(const StaticAffineOptions& options, const Query& query) {
  const Value weight = constant_member(query);
  if (weight.is_absent()) return nullptr;
  const Constant& contents = *query.graph->constant(weight.node);
  QUADRANT_TRY(const auto prescribed, prescribed_type(options, query));
  WeightPairs pairs;
  if (prescribed == nullptr && options.saturation != Saturation::allow) {
    pairs = pairs_of(options, *query.graph, weight, query.constraint->granularity);
  }
  UniformType type;
  if (prescribed != nullptr) {
    type = *prescribed;
  } else {
    EncodingRule rule = options.weights;
    // Codes that no scale keeps apart from one another are small enough in any pair.
    const bool has_one_scale = rule.symmetry != EncodingSymmetry::asymmetric;
    if (pairs.have_two_scales ||
        (!pairs.orders.empty() &&
         (options.saturation == Saturation::seven_bits || !has_one_scale))) {
      rule.bits = 7;
    }
    QUADRANT_TRY(type, type_of_contents(contents, query.constraint->granularity, rule,
                                        options.unsigned_weights ? CodeSign::unsigned_codes
                                                                 : CodeSign::signed_codes));
  }
  QUADRANT_TRY(std::vector<float> scales, read_scales(type.scales));
  const std::vector<float> found = scales;
  if (prescribed == nullptr && contents.element() == ElementType::float16) {
    for (float& scale : scales) scale = std::max(scale, float16_spacing);
  }
  QUADRANT_TRY(const std::vector<Demand> demands, demands_on(options, query, weight));
  for (const Demand& demand : demands) {
    // So that the scale of the products is a normal number.
    for (float& scale : scales) {
      scale = std::max(scale, std::numeric_limits<float>::min() / demand.data_scale);
    }
    QUADRANT_CHECK(make_room_for_bias(scales, demand.data_scale, *demand.bias));
  }
  if (!pairs.orders.empty() && options.saturation == Saturation::avoid && !type.zero_points) {
    QUADRANT_TRY(scales, exact_pair_scales(contents, type.granularity, std::move(scales),
                                           type.storage_min, type.storage_max, pairs.orders));
  }
  if (scales == found) return std::make_shared<const UniformType>(std::move(type));
  if (prescribed == nullptr) return with_scales(type, scales);
  const auto changed = std::ranges::mismatch(scales, found);
  return fail(ErrorCode::impossible,
              fmt::format("the scale {} is prescribed for it; with it the bias of the product does "
                          "not fit into 32 bits: {} would do",
                          *changed.in2, *changed.in1),
              {.tensor = std::string(query.graph->value_name(weight))});
}

FoundType bias_type(const StaticAffineOptions& options, const Query& query) {
  if (query.sources.size() != 2) {
    QUADRANT_TRY(auto prescribed, prescribed_type(options, query));
    if (prescribed != nullptr) return prescribed;
    const Constant& contents = *query.graph->constant(query.members.front().node);
    EncodingRule rule = options.activations;
    rule.bits = options.bias_bits;
    QUADRANT_TRY(UniformType type, type_of_contents(contents, query.constraint->granularity, rule,
                                                    CodeSign::signed_codes));
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
  const Value bias = query.members.front();
  QUADRANT_CHECK(
      check_fits(*query.graph->constant(bias.node), scales, query.graph->value_name(bias)));
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
