#include "pipeline/optimizations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "quadrant/calibration/correct_bias.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

// The weight as it is after quantization; empty where that leaves it alone.
Expected<Constant> real_of_codes(const Graph& graph, const Graph& quantized, Value weight) {
  for (const Use& use : graph.uses(weight.node)) {
    if (!quantized.contains(use.user)) continue;
    const Value read = quantized.operands(use.user)[use.operand];
    const Constant* const codes = quantized.constant(read.node);
    const Quantization& type = quantized.type(read).quantization;
    if (codes != nullptr && type) return dequantized(*codes, type);
  }
  return Constant{};
}

}  // namespace

void tell(std::string_view what, const std::vector<LeftAlone>& left, const RunContext& context) {
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < std::min(most, left.size()); ++i) {
    context.note(fmt::format("{}: {}", what, left[i].reason), {.tensor = left[i].name});
  }
  if (left.size() > most) {
    context.note(fmt::format("{}: {} more", what, left.size() - most));
  }
}

bool Optimizations::has(std::string_view name) const {
  return std::ranges::find(names, name) != names.end();
}

Optimizations optimizations_of(const OptionValues& model) {
  Optimizations wanted;
  if (const auto* const names = given<std::vector<std::string>>(model, "optimize")) {
    wanted.names = *names;
  }
  if (const auto* const relu6 = given<std::string>(model, "relu6")) wanted.relu6 = *relu6;
  const auto* const sequential = given<bool>(model, "sequential");
  wanted.sequential = sequential != nullptr && *sequential;
  const auto* const rank = given<std::int64_t>(model, "low_rank");
  wanted.low_rank = rank == nullptr ? 0 : static_cast<std::size_t>(*rank);
  return wanted;
}

Expected<void> check_samples(const Optimizations& wanted, const RunInputs& inputs) {
  for (const std::string_view name : {"bc", "migrate"}) {
    if (!wanted.has(name) || inputs.has_samples()) continue;
    if (inputs.has_statistics()) {
      return fail(ErrorCode::usage,
                  fmt::format("optimize {} runs the model: it needs samples, not statistics", name),
                  {.file = inputs.calibration});
    }
    return fail(ErrorCode::usage,
                fmt::format("optimize {} measures what layers compute: it needs samples", name), {},
                Remedy::give_samples);
  }
  if (wanted.sequential && !inputs.has_samples()) {
    return fail(ErrorCode::usage, "sequential rounding runs the model: it needs samples", {},
                Remedy::give_samples);
  }
  return {};
}

Expected<void> check(const Optimizations& wanted) {
  if (wanted.has("bc") && wanted.has("bc-analytic")) {
    return fail(ErrorCode::usage,
                "optimize: bc and bc-analytic correct the same shifts: leave out one of them");
  }
  if (wanted.relu6 != "exact" && !wanted.has("cle")) {
    return fail(ErrorCode::usage, "relu6 is for optimize cle");
  }
  return {};
}

Expected<MomentsTable> transform(Graph& graph, const Optimizations& wanted, const std::string& path,
                                 const RunContext& context) {
  const auto note = [&](std::string message) { context.note(std::move(message), {.file = path}); };
  QUADRANT_TRY(FoldReport folded, fold_batch_norm(graph));
  if (!folded.folded.empty()) {
    note(fmt::format("normalizations are folded into {} in front of them, with their names",
                     counted(folded.folded.size(), "layer")));
  }
  tell("batch normalization is not folded", folded.left, context);
  if (wanted.has("rotate")) {
    QUADRANT_TRY(const RotationReport rotated, rotate_streams(graph));
    for (const RotationReport::Stream& stream : rotated.rotated) {
      context.note(fmt::format("rotate: a stream of {} channels, {} at a time, from {} to {}",
                               stream.channels, stream.block, counted(stream.makers, "constant"),
                               counted(stream.readers, "product")),
                   {.file = path, .tensor = stream.value});
    }
    tell("rotate: it stays as it is", rotated.left, context);
    if (rotated.rotated.empty() && rotated.left.empty()) {
      note("rotate: nothing is normalized along its last axis, as a transformer's stream is");
    }
  }
  give_own_biases(graph, {.add_missing = wanted.correct_biases()});
  if (wanted.has("cle")) {
    const ClipTreatment clips =
        wanted.relu6 == "relu" ? ClipTreatment::as_relu : ClipTreatment::per_channel;
    QUADRANT_TRY(const EqualizationReport equalized,
                 equalize(graph, folded.moments, {.clip = clips}));
    note(fmt::format("cle: {} of layers equalized in {}", counted(equalized.pairs.size(), "pair"),
                     counted(equalized.rounds, "round")));
  }
  if (wanted.has("hba")) {
    QUADRANT_TRY(const AbsorptionReport absorbed, absorb_high_biases(graph, folded.moments));
    if (!absorbed.obstacle.empty()) {
      context.warn("hba: " + absorbed.obstacle, {.file = path});
    }
    note(fmt::format("hba: high biases of {} absorbed", counted(absorbed.pairs.size(), "layer")));
    tell("hba: its biases are not absorbed", absorbed.left, context);
  }
  return std::move(folded.moments);
}

Expected<void> correct_from_moments(Graph& graph, const MomentsTable& moments,
                                    const Registry& registry, const QuantizeOptions& run,
                                    const RunContext& context) {
  QUADRANT_TRY(const QuantizeResult supposed, quantize(graph, registry, run));
  const auto as_quantized = [&](Value weight) {
    return real_of_codes(graph, supposed.graph, weight);
  };
  QUADRANT_TRY(const BiasCorrectionReport corrected,
               correct_bias_analytic(graph, moments, as_quantized));
  context.note(fmt::format("bc-analytic: the biases of {} corrected",
                           counted(corrected.corrected.size(), "layer")));
  tell("bc-analytic: its bias is not corrected", corrected.left, context);
  return {};
}

Expected<void> correct_on_samples(const Graph& graph, Graph& quantized, const RunInputs& inputs,
                                  const RunContext& context) {
  QUADRANT_TRY(const auto samples, open_samples(inputs, graph, context));
  const Interpreter interpreter({}, context.run_memory);
  QUADRANT_TRY(const CorrectBiasReport corrected,
               correct_bias(quantized, graph, interpreter, *samples,
                            {.executor = context.executor, .sink = context.sink}));
  context.note(
      fmt::format("bc: the biases of {} corrected", counted(corrected.corrected.size(), "layer")));
  tell("bc: its bias is not corrected", corrected.left, context);
  return {};
}

}  // namespace quadrant::inline v0
