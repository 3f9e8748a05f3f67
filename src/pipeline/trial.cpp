#include "pipeline/trial.hpp"

#include <algorithm>
#include <utility>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/ranks.hpp"
#include "recipe/name_pattern.hpp"

namespace quadrant::inline v0 {

Recipe with_settings(Recipe recipe, const OptimizeSettings& settings) {
  for (SchemeChoice& choice : recipe.schemes) {
    if (choice.scheme != "static_affine") continue;
    for (const auto& [key, value] : settings.options) choice.options[key] = value;
  }
  if (settings.optimizations.empty()) {
    recipe.model.clear();
  } else {
    recipe.model["optimize"] = settings.optimizations;
  }
  std::vector<std::string> patterns;  // before the caller's own, which are the last
  patterns.reserve(settings.excluded.size());
  for (const FloatPart& part : settings.excluded) patterns.push_back(pattern_of(part.name));
  recipe.exclude.insert(recipe.exclude.begin(), patterns.begin(), patterns.end());
  return recipe;
}

Expected<PreparedRun> TrialSubject::prepared(const OptimizeSettings& settings,
                                             const DataSet& fitted) const {
  RunRequest made = request;
  made.recipe.recipe = with_settings(std::move(made.recipe.recipe), settings);
  made.inputs.samples = &fitted;
  QUADRANT_TRY(CheckedRun checked, check_run(std::move(made), context));
  return prepare(std::move(checked), model, context);
}

Expected<Trial> TrialSubject::made(const OptimizeSettings& settings, const DataSet& fitted) const {
  QUADRANT_TRY(PreparedRun run, prepared(settings, fitted));
  QUADRANT_TRY(QuantizeResult quantized, run.quantize());
  const Summary summary = summarize(run.graph, run.registry, quantized);
  OptimizeAttempt attempt{.settings = settings,
                          .judged = {},
                          .fitted = {},
                          .weights = summary.eligible.count,
                          .quantized = summary.eligible_quantized.count,
                          .is_float = quantized.analysis.plan.values.empty()};
  return Trial{std::move(quantized.graph), std::move(attempt)};
}

Expected<OptimizeFigure> TrialSubject::figure(const Graph& graph, Judges judges,
                                              const std::string& name, Ranks* ranks) const {
  CompareOptions comparing;
  comparing.names = {.first = request.model, .second = name};
  comparing.names.labels = options.labels_name;
  comparing.executor = context.executor;
  comparing.ranks = ranks;
  comparing.labels = std::move(judges.labels);
  Graph real = graph;
  make_borders_real(real);
  const Interpreter interpreter({}, context.run_memory);
  QUADRANT_TRY(const Comparison comparison,
               compare(model, real, interpreter, *judges.samples, comparing));
  OptimizeFigure made{.before = comparison.first, .after = comparison.second};
  for (const ValueAgreement& output : comparison.outputs) made.outputs.push_back(output.agreement);
  return made;
}

}  // namespace quadrant::inline v0
