#include "quadrant/methods/weight_only.hpp"

#include <fmt/format.h>

#include <charconv>

#include "quadrant/ir/ops.hpp"
#include "weight_only/methods.hpp"

namespace quadrant::inline v0 {

QUADRANT_METHODS(WeightOnly) {
  weight_only::register_parameters(*this);
  weight_only::register_transparent(*this);
  weight_only::register_matmul(*this);
  weight_only::register_gemm(*this);
  weight_only::register_conv(*this);
}

QUADRANT_DEQUANTIZER(WeightOnly)(Value quantized, RewriteContext& context) const {
  const GraphView& graph = context.view();
  return context.emit(ops::Dequantize::kind, {quantized}, std::string(graph.value_name(quantized)),
                      graph.type(quantized).expressed());
}

std::string ChannelWise::print() const { return fmt::format("axis={}", axis); }

std::optional<ChannelWise> ChannelWise::parse(std::string_view text) {
  constexpr std::string_view prefix = "axis=";
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  ChannelWise parsed;
  const char* const first = text.data();
  const char* const end = first + text.size();
  const auto [stop, error] = std::from_chars(first, end, parsed.axis);
  if (error != std::errc{} || stop != end || parsed.axis < 0) return std::nullopt;
  return parsed;
}

Expected<WeightOnly> WeightOnly::make(WeightOnlyOptions options) {
  if (options.bits != 8) {
    return fail(
        ErrorCode::impossible,
        fmt::format("weight_only stores 8-bit integers; {} bits are not available", options.bits));
  }
  return WeightOnly(options);
}

std::string WeightOnly::describe() const {
  return fmt::format("bits={} granularity=channel symmetric", options_.bits);
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
