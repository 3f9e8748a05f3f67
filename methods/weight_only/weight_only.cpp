#include "quadrant/methods/weight_only.hpp"

#include <fmt/format.h>

#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/scales.hpp"
#include "weight_only/methods.hpp"

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
  const GraphView& graph = context.view();
  return context.emit(ops::Dequantize::kind, {quantized}, std::string(graph.value_name(quantized)),
                      graph.type(quantized).expressed());
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

std::string_view text(Clip clip) {
  switch (clip) {
    case Clip::absmax:
      return "absmax";
    case Clip::minmax:
      return "minmax";
    case Clip::mse:
      return "mse";
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

}  // namespace

Expected<WeightOnly> WeightOnly::make(WeightOnlyOptions options) {
  if (options.bits != 8 && options.bits != 4) {
    return fail(ErrorCode::impossible,
                fmt::format("weight_only stores integers of 8 or 4 bits; {} are not available",
                            options.bits));
  }
  if (options.granularity == Granularity::Kind::block && options.block_size < 2) {
    return fail(ErrorCode::impossible,
                fmt::format("blocks of {}: a block holds 2 weights at least", options.block_size));
  }
  if (!is_scale_type(options.scale_type)) {
    return fail(ErrorCode::impossible, fmt::format("scales are stored as f32 or f16, not as {}",
                                                   to_string(options.scale_type)));
  }
  if (options.narrow_range.value_or(false) && options.symmetry != Symmetry::symmetric) {
    return fail(ErrorCode::impossible,
                fmt::format("a narrow range is for symmetric codes, not for {} ones",
                            text(options.symmetry)));
  }
  return WeightOnly(options);
}

std::string WeightOnly::describe() const {
  const ScaleRule scale = rule();
  return fmt::format("bits={} {} codes={}<{}:{}> granularity={} clip={} scales={} form={}",
                     options_.bits, text(options_.symmetry), to_string(scale.storage),
                     scale.storage_min, scale.storage_max, describe_granularity(options_),
                     text(scale.clip), to_string(scale.scale), text(options_.form));
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
  rule.scale = options_.scale_type;
  return rule;
}

std::optional<Granularity> WeightOnly::groups(const Shape& shape, std::int64_t channel,
                                              std::int64_t contracted) const noexcept {
  if (options_.granularity == Granularity::Kind::tensor) return Granularity::per_tensor();
  const bool has_block = contracted >= 0 && shape[contracted].value_or(0) >= options_.block_size;
  if (options_.granularity == Granularity::Kind::block && has_block) {
    return Granularity::per_block(contracted, options_.block_size);
  }
  if (channel < 0) return std::nullopt;
  return Granularity::per_axis(channel);
}

Expected<Registry> weight_only_registry(WeightOnlyOptions options) {
  QUADRANT_TRY(WeightOnly scheme, WeightOnly::make(options));
  return RegistryBuilder::of(std::move(scheme)).freeze();
}

Expected<QuantizeResult> quantize_weight_only(const Graph& graph, WeightOnlyOptions options,
                                              const QuantizeOptions& run) {
  QUADRANT_TRY(const Registry registry, weight_only_registry(options));
  return quantize(graph, registry, run);
}

}  // namespace quadrant::inline v0
