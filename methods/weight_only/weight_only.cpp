#include "quadrant/methods/weight_only.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/scales.hpp"
#include "numerics/clip_words.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/ops.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/stored.hpp"

namespace quadrant::inline v0 {

QUADRANT_METHODS(WeightOnly) {
  weight_only::register_parameters(*this);
  weight_only::register_moves(*this);
  weight_only::register_lookup(*this);
  weight_only::register_products(*this);
  weight_only::register_einsum(*this);
  weight_only::register_recurrent(*this);
  weight_only::register_addition(*this);
}

QUADRANT_DEQUANTIZER(WeightOnly)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}

Expected<EncodedConstant> WeightOnly::encode(const WeightToEncode& weight) const {
  QUADRANT_TRY(EncodedConstant encoded, encode_constant(weight.real, weight.format));
  if (weight.moments != nullptr) {
    auto rounded = weight_only::round_by(*weight.moments, *this, weight.name, weight.real, encoded);
    // Moments of another weight are a mistake of whoever gave them, and no reason to stay float.
    const bool is_mistake = !rounded && rounded.error().code == ErrorCode::impossible;
    if (is_mistake) rounded.error().code = ErrorCode::usage;
    QUADRANT_CHECK(std::move(rounded));
  }
  return encoded;
}

namespace {

using Form = WeightOnlyOptions::Form;

bool is_narrow(const WeightOnlyOptions& options) {
  if (options.symmetry != Symmetry::symmetric) return false;
  return options.narrow_range.value_or(options.bits == 8);
}

bool is_unsigned(const WeightOnlyOptions& options) {
  return options.unsigned_codes.value_or(options.symmetry == Symmetry::asymmetric);
}

// docs/accuracy.md has what each rule leaves of 4 bits.
Clip clip(const WeightOnlyOptions& options) {
  if (options.clip) return *options.clip;
  if (options.symmetry == Symmetry::asymmetric) return Clip::minmax;
  const bool clips_much = options.symmetry == Symmetry::symmetric && options.bits == 4;
  return clips_much ? Clip::mse : Clip::absmax;
}

std::string_view text(Symmetry symmetry) {
  switch (symmetry) {
    case Symmetry::symmetric:
      return "symmetric";
    case Symmetry::signed_scale:
      return "signed-scale";
    case Symmetry::asymmetric:
      return "asymmetric";
  }
  return {};
}

std::string_view text(Form form) {
  switch (form) {
    case Form::front:
      return "front";
    case Form::behind:
      return "behind";
    case Form::fewest:
      return "fewest";
  }
  return {};
}

std::string describe_granularity(const WeightOnlyOptions& options) {
  switch (options.granularity) {
    case Granularity::Kind::tensor:
      return "tensor";
    case Granularity::Kind::axis:
      return "channel";
    case Granularity::Kind::block:
      return fmt::format("block:{}", options.block_size);
  }
  return {};
}

// Axes of the groups of a weight of that rank. Without a channel, that is the axis beside blocks.
FormatAxes axes_of(const Granularity& groups, std::int64_t rank, std::int64_t channel) {
  if (groups.kind != Granularity::Kind::block) return {groups.axis, groups.axis == 0 ? 1 : 0};
  if (channel >= 0 && channel != groups.axis) return {channel, groups.axis};
  return {
      groups.axis + 1 < rank && groups.axis == 0 ? 1 : std::max<std::int64_t>(groups.axis - 1, 0),
      groups.axis};
}

}  // namespace

namespace {

// Weights differ in which axis is summed: text that names one is for a single tensor.
bool names_axes(const NumberFormat& format, const FormatAxes& given) {
  const auto is_named = [&](const Granularity& groups) {
    return groups.kind != Granularity::Kind::tensor && groups.axis != given.channel &&
           groups.axis != given.block;
  };
  const auto* const table = std::get_if<StoredTable>(&format.code);
  return std::ranges::any_of(format.scales, is_named, &ScaleLevel::groups) ||
         std::ranges::any_of(format.offsets, is_named, &ScaleLevel::groups) ||
         (table != nullptr && is_named(table->groups));
}

// Levels of smaller groups become one of these, or none behind such a level: of channels where a
// weight has no whole block, and of all of it where a move makes one group of it, as an axis of
// extent 1 that it drops.
void take_groups(std::vector<ScaleLevel>& levels, const Granularity& groups) {
  for (ScaleLevel& level : levels) {
    if (level.groups.kind > groups.kind) level.groups = groups;
  }
  const auto [rest, end] = std::ranges::unique(levels, {}, &ScaleLevel::groups);
  levels.erase(rest, end);
}

}  // namespace

Expected<WeightOnly> WeightOnly::make_of_type(WeightOnlyOptions options) {
  WeightOnly made(std::move(options));
  QUADRANT_CHECK(made.format_along({}));  // whose axes are those of matrices, for messages
  constexpr FormatAxes unlike_others{1000, 1001};
  QUADRANT_TRY(const NumberFormat format, made.format_along(unlike_others));
  if (names_axes(format, unlike_others)) {
    return fail(ErrorCode::usage,
                fmt::format("the type '{}' names axes, which differ from weight to weight: "
                            "'channel' and 'block=N' are along those of each",
                            made.options_.type));
  }
  if (const int bits = bit_width(format.code); bits < 2 || bits > 16) {
    return fail(ErrorCode::impossible, fmt::format("codes of {} bits: they have 2 to 16", bits));
  }
  if (!quadrant::is_uniform(format) && made.options_.form != Form::front) {
    return fail(
        ErrorCode::impossible,
        fmt::format("{} is not uniform: its scales stay in front of the operation, form 'front'",
                    made.options_.type));
  }
  return made;
}

Expected<NumberFormat> WeightOnly::format_along(const FormatAxes& axes) const {
  QUADRANT_TRY(NumberFormat format, parse_number_format(options_.type, axes));
  if (options_.granularity == Granularity::Kind::block) {
    const bool has_channels =
        format.scales.size() == 1 && innermost_groups(format).kind == Granularity::Kind::axis;
    if (has_channels) {  // `int8` in blocks
      for (auto* const levels : {&format.scales, &format.offsets}) {
        if (levels->empty()) continue;
        levels->back().groups = Granularity::per_block(axes.block, options_.block_size);
      }
    }
    QUADRANT_TRY(format, with_block_size(std::move(format), options_.block_size));
  }
  if (options_.scale_type) {
    QUADRANT_TRY(format, with_scale_type(std::move(format), *options_.scale_type));
  }
  return format;
}

Expected<NumberFormat> WeightOnly::format(const Granularity& groups, std::int64_t rank,
                                          std::int64_t channel) const {
  QUADRANT_TRY(NumberFormat format, format_along(axes_of(groups, rank, channel)));
  if (groups.kind < innermost_groups(format).kind) {
    for (auto* const levels : {&format.scales, &format.offsets}) take_groups(*levels, groups);
  }
  return format;
}

WeightOnly::WeightOnly(WeightOnlyOptions options) : options_(std::move(options)) {
  if (!has_type()) return;
  const auto format = format_along({});
  is_uniform_ = format && quadrant::is_uniform(*format);
}

ElementType WeightOnly::storage_type(const Granularity& /*groups*/) const {
  if (!has_type()) return rule().storage;
  const auto format = format_along({});
  return format ? storage_element(*format) : ElementType::undefined;
}

std::optional<TensorType> WeightOnly::type_of(const Granularity& groups,
                                              const TensorType& real) const {
  if (!real.shape.is_ranked()) return std::nullopt;
  if (has_type()) {
    auto format = this->format(groups, real.shape.rank());
    if (!format) return std::nullopt;
    format->expressed = real.element;
    return type_without_numbers(*std::move(format), real.shape);
  }
  const ScaleRule asked = rule();
  const bool is_signed = asked.storage_min < 0;
  // Codes without a sign have zero in the middle.
  const bool has_zeros = asked.symmetry == Symmetry::asymmetric || !is_signed;
  NumberFormat format{.code = IntegerCode{bit_width(asked.storage), is_signed, asked.storage_min,
                                          asked.storage_max},
                      .scales = {{groups, FloatScale{asked.scale}}},
                      .offset = has_zeros ? Offset::zero_point : Offset::none,
                      .expressed = real.element};
  return type_without_numbers(std::move(format), real.shape);
}

Expected<void> WeightOnly::check() const {
  return make(options_).map([](const WeightOnly& /*checked*/) {});
}

Expected<WeightOnly> WeightOnly::make(WeightOnlyOptions options) {
  if (!options.type.empty()) return make_of_type(std::move(options));
  if (options.bits != 8 && options.bits != 4) {
    return fail(ErrorCode::impossible,
                fmt::format("weight_only stores integers of 8 or 4 bits; {} are not available",
                            options.bits));
  }
  if (options.granularity == Granularity::Kind::block && options.block_size < 2) {
    return fail(ErrorCode::impossible,
                fmt::format("blocks of {}: a block holds 2 weights at least", options.block_size));
  }
  if (options.scale_type && !is_scale_type(*options.scale_type)) {
    return fail(ErrorCode::impossible, fmt::format("scales are stored as f32 or f16, not as {}",
                                                   to_string(*options.scale_type)));
  }
  if (options.narrow_range.value_or(false) && options.symmetry != Symmetry::symmetric) {
    return fail(ErrorCode::impossible,
                fmt::format("a narrow range is for symmetric codes, not for {} ones",
                            text(options.symmetry)));
  }
  return WeightOnly(options);
}

std::string WeightOnly::describe() const {
  if (has_type()) {
    const auto format = format_along({});
    return fmt::format("type={} ({})", options_.type, format ? to_string(*format) : "none");
  }
  const ScaleRule scale = rule();
  return fmt::format("bits={} {} codes={}<{}:{}> granularity={} clip={} scales={} form={}",
                     options_.bits, text(options_.symmetry), to_string(scale.storage),
                     scale.storage_min, scale.storage_max, describe_granularity(options_),
                     to_string(scale.clip), to_string(scale.scale), text(options_.form));
}

ScaleRule WeightOnly::rule() const noexcept {
  const bool four = options_.bits == 4;
  ScaleRule rule;
  if (is_unsigned(options_)) {
    rule.storage = four ? ElementType::uint4 : ElementType::uint8;
  } else {
    rule.storage = four ? ElementType::int4 : ElementType::int8;
  }
  const IntegerRange range = integer_range(rule.storage).value_or(IntegerRange{});
  rule.storage_min = range.min + (is_narrow(options_) ? 1 : 0);
  rule.storage_max = range.max;
  rule.symmetry = options_.symmetry;
  rule.clip = clip(options_);
  rule.scale = options_.scale_type.value_or(ElementType::float32);
  return rule;
}

std::optional<Granularity> WeightOnly::groups(const Shape& shape, std::int64_t channel,
                                              std::int64_t contracted) const {
  if (has_type()) {
    const auto groups = groups_of_type(channel, contracted);
    const bool is_short = groups && groups->kind == Granularity::Kind::block && channel >= 0 &&
                          shape[contracted].value_or(groups->block_size) < groups->block_size;
    if (!is_short) return groups;
    // Filters of few inputs: each of their positions would have scales of its own.
    return Granularity::per_axis(channel);
  }
  if (options_.granularity == Granularity::Kind::tensor) return Granularity::per_tensor();
  const bool has_block = contracted >= 0 && shape[contracted].value_or(0) >= options_.block_size;
  if (options_.granularity == Granularity::Kind::block && has_block) {
    return Granularity::per_block(contracted, options_.block_size);
  }
  if (channel < 0) return std::nullopt;
  return Granularity::per_axis(channel);
}

std::optional<Granularity> WeightOnly::groups_of_type(std::int64_t channel,
                                                      std::int64_t contracted) const {
  // Whichever axis the format has, the weight has to have.
  const auto format =
      format_along({std::max<std::int64_t>(channel, 0), std::max<std::int64_t>(contracted, 0)});
  if (!format) return std::nullopt;
  const Granularity groups = code_groups(*format);
  const bool lacks_axis = (groups.kind == Granularity::Kind::axis && channel < 0) ||
                          (groups.kind == Granularity::Kind::block && contracted < 0);
  return lacks_axis ? std::nullopt : std::optional(groups);
}

Expected<Registry> weight_only_registry(WeightOnlyOptions options) {
  QUADRANT_TRY(WeightOnly scheme, WeightOnly::make(std::move(options)));
  return RegistryBuilder::of(std::move(scheme)).freeze();
}

Expected<QuantizeResult> quantize_weight_only(const Graph& graph, WeightOnlyOptions options,
                                              const QuantizeOptions& run) {
  QUADRANT_TRY(const Registry registry, weight_only_registry(std::move(options)));
  return quantize(graph, registry, run);
}

}  // namespace quadrant::inline v0
