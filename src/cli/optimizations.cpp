#include "cli/optimizations.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/choices.hpp"
#include "cli/data_options.hpp"
#include "cli/runtimes.hpp"
#include "quadrant/calibration/correct_bias.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/numerics/convert.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/left_alone.hpp"
#include "quadrant/transforms/absorb_bias.hpp"
#include "quadrant/transforms/correct_bias_analytic.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "quadrant/transforms/fold_batch_norm.hpp"
#include "quadrant/transforms/own_biases.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

// In one line each, the first few of them.
void tell(std::string_view what, const std::vector<LeftAlone>& left, Sink& sink) {
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < std::min(most, left.size()); ++i) {
    sink.report(
        {Severity::note, fmt::format("{}: {}", what, left[i].reason), {.tensor = left[i].name}});
  }
  if (left.size() > most) {
    sink.report({Severity::note, fmt::format("{}: {} more", what, left.size() - most), Place{}});
  }
}

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

bool Optimizations::has(std::string_view name) const {
  return std::ranges::find(names, name) != names.end();
}

Optimizations optimizations_of(const OptionValues& model) {
  Optimizations wanted;
  if (const auto* const names = given<std::vector<std::string>>(model, "optimize")) {
    wanted.names = *names;
  }
  if (const auto* const relu6 = given<std::string>(model, "relu6")) wanted.relu6 = *relu6;
  return wanted;
}

void add_relu6(CLI::App& command, Optimizations& wanted) {
  const auto options = recipe_model_options();
  const auto& relu6 = *std::ranges::find(options, "relu6", &OptionSpec::key);
  std::vector<std::string> words;
  words.reserve(relu6.words.size());
  for (const OptionWord& word : relu6.words) words.emplace_back(word.word);
  add_choice(command, "--relu6", wanted.relu6, words, std::string(relu6.summary))
      ->capture_default_str();
}

Expected<void> check(const Optimizations& wanted) {
  if (wanted.has("bc") && wanted.has("bc-analytic")) {
    return fail(ErrorCode::usage,
                "--optimize: bc and bc-analytic correct the same shifts: leave out one of them");
  }
  if (wanted.relu6 != "exact" && !wanted.has("cle")) {
    return fail(ErrorCode::usage, "--relu6 is for --optimize cle");
  }
  return {};
}

Expected<MomentsTable> transform(Graph& graph, const Optimizations& wanted, const std::string& path,
                                 Sink& sink) {
  const auto note = [&](std::string message) {
    sink.report({Severity::note, std::move(message), {.file = path}});
  };
  QUADRANT_TRY(FoldReport folded, fold_batch_norm(graph));
  if (!folded.folded.empty()) {
    note(fmt::format("normalizations are folded into {} in front of them, with their names",
                     counted(folded.folded.size(), "layer")));
  }
  tell("batch normalization is not folded", folded.left, sink);
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
      sink.report({Severity::warning, "hba: " + absorbed.obstacle, {.file = path}});
    }
    note(fmt::format("hba: high biases of {} absorbed", counted(absorbed.pairs.size(), "layer")));
    tell("hba: its biases are not absorbed", absorbed.left, sink);
  }
  return std::move(folded.moments);
}

Expected<void> correct_from_moments(Graph& graph, const MomentsTable& moments,
                                    const Registry& registry, const QuantizeOptions& run,
                                    Sink& sink) {
  QUADRANT_TRY(const QuantizeResult supposed, quantize(graph, registry, run));
  const auto as_quantized = [&](Value weight) {
    return real_of_codes(graph, supposed.graph, weight);
  };
  QUADRANT_TRY(const BiasCorrectionReport corrected,
               correct_bias_analytic(graph, moments, as_quantized));
  sink.report({Severity::note,
               fmt::format("bc-analytic: the biases of {} corrected",
                           counted(corrected.corrected.size(), "layer")),
               Place{}});
  tell("bc-analytic: its bias is not corrected", corrected.left, sink);
  return {};
}

Expected<void> correct_on_samples(const Graph& graph, Graph& quantized, const std::string& samples,
                                  Executor& executor, Console& console) {
  QUADRANT_TRY(const auto data, open_samples(samples, graph, console));
  QUADRANT_TRY(const auto interpreter, make_interpreter(console));
  QUADRANT_TRY(const CorrectBiasReport corrected,
               correct_bias(quantized, graph, *interpreter, *data,
                            {.executor = &executor, .sink = &console}));
  console.report(
      {Severity::note,
       fmt::format("bc: the biases of {} corrected", counted(corrected.corrected.size(), "layer")),
       Place{}});
  tell("bc: its bias is not corrected", corrected.left, console);
  return {};
}

}  // namespace quadrant::cli
