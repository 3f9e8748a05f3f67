#include "weight_only/stored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/float16.hpp"
#include "ir/scales.hpp"
#include "numerics/moved_weight.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"

namespace quadrant::inline v0::weight_only {

namespace {

// The axis that sums of products keep of the weight that `node` makes; -1 where they do not tell.
std::int64_t channel_of(NodeRef node) {
  for (const Use& use : node.graph->uses(node.id)) {
    const NodeRef reader{node.graph, use.user};
    const Product* const product = find_product(reader);
    if (product == nullptr || product->weight != use.operand) continue;
    const Shape& shape = node.type(use.result).shape;
    return product->channel(reader, shape).value_or(-1);
  }
  return -1;
}

Expected<NumberFormat> format_of(const WeightOnly& scheme, NodeRef node, const Constant& weight,
                                 const Granularity& groups) {
  QUADRANT_TRY(NumberFormat format, scheme.format(groups, weight.shape().rank(), channel_of(node)));
  format.expressed = weight.element();
  return format;
}

// What files hold the part as: constants hold the same numbers as float32.
ElementType stored_as(const FormatPart& part, const NumberFormat& format) {
  if (part.values > 0) return std::get<StoredTable>(format.code).values;
  const auto* const real = part.level ? std::get_if<FloatScale>(&part.level->type) : nullptr;
  return real ? real->type : ElementType::undefined;
}

bool has_only_zeros(const Constant& weight) {
  const auto reals = read_reals(weight);
  return reals && std::ranges::all_of(*reals, [](double real) { return real == 0; });
}

// What holds them.
std::string float32_ones(const FormatPart& part, const NumberFormat& format) {
  if (part.values == 0) return "scales of float32 hold them";
  if (!format.scales.empty()) return "a table of float32 holds them";
  const Granularity& groups = part.groups;
  std::string of = "tensor";
  if (groups.kind == Granularity::Kind::axis) of = "channel";
  if (groups.kind == Granularity::Kind::block) of = fmt::format("block={}", groups.block_size);
  return fmt::format("the type 'table<{} x f32>[{}] : f32' holds them", part.values, of);
}

// Why what the format holds as float16 does not do for the weight; empty where it does.
std::string beyond_float16(const ScaledFormat& format, const Constant& weight) {
  const std::vector<FormatPart> parts = parts_of(format.format);
  const std::vector<Constant> contents = contents_of(format);
  for (std::size_t i = 0; i < std::min(parts.size(), contents.size()); ++i) {
    if (stored_as(parts[i], format.format) != ElementType::float16) continue;
    const auto numbers = read_scales(contents[i]);
    if (!numbers || numbers->empty()) continue;
    const auto magnitude = [](float number) { return std::fabs(number); };
    const float largest = std::ranges::max(*numbers | std::views::transform(magnitude));
    const bool is_table = parts[i].values > 0;
    const std::string_view what = is_table ? "the numbers of its table" : "its scales";
    // What is held is the nearest there is, and down to so much of it where codes are searched for.
    constexpr float searched = 0.7F;
    if (largest >= searched * largest_float16) {
      return fmt::format("{} are too large for float16 numbers: {}", what,
                         float32_ones(parts[i], format.format));
    }
    // So few steps of float16's smallest numbers are left that rounding to them shows. Offsets may
    // be as small as they like.
    constexpr float least = 0x1p-18F;
    const bool counts = is_table || i < format.scales.size();
    if (counts && largest < least && weight.element() != ElementType::float16 &&
        !has_only_zeros(weight)) {
      return fmt::format("{} are too small for float16 numbers: {}", what,
                         float32_ones(parts[i], format.format));
    }
  }
  return {};
}

// Which constant, perhaps moved, it is.
std::string_view name_of(NodeRef node) { return node.graph->value_name(moved_from(node).result()); }

// Whether something is known of the inputs of the weight that the node makes.
bool has_moments(const WeightOnly& scheme, NodeRef node) {
  const WeightOnlyOptions& options = scheme.options();
  // They lie as the constant does.
  return options.moments != nullptr && options.rounding != Rounding::nearest && keeps_order(node) &&
         options.moments->find(name_of(node)) != nullptr;
}

// What that is; null: nothing.
Expected<std::shared_ptr<const SecondMoments>> moments_of(const WeightOnly& scheme, NodeRef node) {
  if (!has_moments(scheme, node)) return std::shared_ptr<const SecondMoments>();
  return scheme.options().moments->load(name_of(node));
}

// What the weight is to come near to, where that is known: itself otherwise.
Expected<Constant> aim_of(const WeightOnly& scheme, NodeRef node, const Constant& weight) {
  if (!has_moments(scheme, node)) return weight;
  const auto& aims = scheme.options().moments->aims;
  const auto found = aims.find(name_of(node));
  const bool fits = found != aims.end() && found->second.element_count() == weight.element_count();
  if (!fits) return weight;
  const NodeRef source = moved_from(node);
  return moved_weight(node, found->second.reshaped(source.type().shape));
}

// What a scheme of someone's own made of the weight, before anything is done with it.
Expected<void> check_encoded(const EncodedConstant& encoded, const Constant& weight,
                             const NumberFormat& format) {
  const bool is_made = encoded.codes && encoded.quantization;
  const bool fits =
      is_made && encoded.codes.shape() == weight.shape() &&
      (is_uniform(format) || scaled_format(encoded.quantization).format == format) &&
      encoded.codes.element() == encoded.quantization.storage() &&
      contents_of(scaled_format(encoded.quantization)).size() == parts_of(format).size();
  if (fits) return {};
  return fail(ErrorCode::usage, fmt::format("`encode` gave no codes of its shape in the format {}",
                                            to_string(format)));
}

// What rounding by moments came to.
void tell(const WeightOnly& scheme, NodeRef node, const EncodedConstant& encoded) {
  const auto& on_rounded = scheme.options().on_rounded;
  if (on_rounded && encoded.rounded) on_rounded(name_of(node), *encoded.rounded);
}

// Keeps the codes, and then the contents of their type.
Expected<void> encode_weight(const WeightOnly& scheme, NodeRef node, const Constant& weight,
                             const NumberFormat& format, DataContext& context) {
  QUADRANT_TRY(auto moments, moments_of(scheme, node));
  auto encoded = scheme.encode(
      {.name = name_of(node), .real = weight, .format = format, .moments = moments.get()});
  moments = nullptr;
  if (!encoded) {
    if (encoded.error().code != ErrorCode::impossible) return fail(std::move(encoded).error());
    context.refuse(std::move(encoded).error().message);
    return {};
  }
  auto status = check_encoded(*encoded, weight, format);
  if (!status) {
    status.error().place.tensor = name_of(node);
    return status;
  }
  const std::string why_not = beyond_float16(scaled_format(encoded->quantization), weight);
  if (!why_not.empty()) {
    context.refuse(why_not);
    return {};
  }
  tell(scheme, node, *encoded);
  context.keep(std::move(encoded->codes));
  for (Constant& part : contents_of(scaled_format(encoded->quantization))) {
    context.keep(std::move(part));
  }
  return {};
}

std::shared_ptr<const UniformType> uniform_type(const WeightOnly& scheme, const Constant& weight,
                                                const Granularity& groups, Constant scales,
                                                Constant zero_points) {
  const ScaleRule rule = scheme.rule();
  UniformType type;
  type.storage = rule.storage;
  type.expressed = weight.element();
  type.granularity = groups;
  type.storage_min = rule.storage_min;
  type.storage_max = rule.storage_max;
  type.scales = std::move(scales);
  type.zero_points = std::move(zero_points);
  return std::make_shared<const UniformType>(std::move(type));
}

}  // namespace

Expected<void> round_by(const SecondMoments& moments, const WeightOnly& scheme,
                        std::string_view name, const Constant& weight, EncodedConstant& encoded) {
  const bool is_symmetric = !scheme.has_type() && scheme.options().symmetry != Symmetry::asymmetric;
  auto rounded = round_constant(
      weight, moments, encoded,
      {.rounding = scheme.options().rounding,
       .keeps_zero_points = is_symmetric,
       .least_scale = weight.element() == ElementType::float16 ? float16_spacing : 0.0F});
  if (!rounded) {
    rounded.error().place.tensor = name;
    return fail(std::move(rounded).error());
  }
  return {};
}

StorageChange stored_size(const WeightOnly& scheme, const Constant& weight, const Shape& shape,
                          const Granularity& groups) {
  if (scheme.has_type()) {
    const auto format = scheme.format(groups, shape.rank());
    return {weight.byte_size(), format ? stored_bytes(*format, shape) : weight.byte_size()};
  }
  const ScaleRule rule = scheme.rule();
  const bool has_zero_points = rule.symmetry == Symmetry::asymmetric ||
                               integer_range(rule.storage).value_or(IntegerRange{}).min == 0;
  return {weight.byte_size(),
          stored_bytes(shape, groups, rule.storage, rule.scale, has_zero_points)};
}

Expected<void> examine_weight(const WeightOnly& scheme, NodeRef node, const Constant& given,
                              const Granularity& groups, DataContext& context) {
  QUADRANT_TRY(const Constant weight, aim_of(scheme, node, given));
  if (scheme.has_type()) {
    QUADRANT_TRY(const NumberFormat format, format_of(scheme, node, weight, groups));
    return encode_weight(scheme, node, weight, format, context);
  }
  QUADRANT_TRY(ParameterScan scan, scan_parameters(weight, groups, scheme.rule()));
  if (scan.non_finite) {
    context.refuse(fmt::format("element {} is {}, read as float32", scan.non_finite->index,
                               scan.non_finite->value));
    return {};
  }
  if (!has_moments(scheme, node)) {
    context.keep(std::move(scan.scales));
    context.keep(std::move(scan.zero_points));
    return {};
  }
  auto type =
      uniform_type(scheme, weight, groups, std::move(scan.scales), std::move(scan.zero_points));
  QUADRANT_TRY(Constant codes, quantized(weight, type));
  EncodedConstant encoded{std::move(codes), std::move(type)};
  QUADRANT_TRY(auto moments, moments_of(scheme, node));
  QUADRANT_CHECK(round_by(*moments, scheme, name_of(node), weight, encoded));
  moments = nullptr;
  tell(scheme, node, encoded);
  const auto rounded = encoded.quantization.uniform();
  context.keep(rounded->scales);
  context.keep(rounded->zero_points);
  context.keep(std::move(encoded.codes));
  return {};
}

Expected<StoredWeight> stored_weight(const WeightOnly& scheme, NodeRef node, const Constant& weight,
                                     const Granularity& groups, const RewriteContext& context) {
  if (scheme.has_type()) {
    QUADRANT_TRY(NumberFormat format, format_of(scheme, node, weight, groups));
    std::vector<Constant> contents(parts_of(format).size());
    for (std::size_t i = 0; i < contents.size(); ++i) {
      contents[i] = context.prepared(node.id, i + 1);
    }
    return StoredWeight{context.prepared(node.id, 0), with_contents(std::move(format), contents)};
  }
  auto type = uniform_type(scheme, weight, groups, context.prepared(node.id, 0),
                           context.prepared(node.id, 1));
  Constant codes = context.prepared(node.id, 2);  // where there were moments
  if (!codes) {
    QUADRANT_TRY(codes, quantized(weight, type));
  }
  return StoredWeight{std::move(codes), std::move(type)};
}

}  // namespace quadrant::inline v0::weight_only
