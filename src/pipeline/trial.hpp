// Settings of a search, tried: a model made with them, and how it agrees with the float model.
#pragma once

#include <string>

#include "pipeline/search_samples.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] Recipe with_settings(Recipe recipe, const OptimizeSettings& settings);

/// What was made with settings.
struct Trial {
  Graph graph;
  OptimizeAttempt attempt;  ///< without figures
};

/// What is to be tried on: refers to all of it.
struct TrialSubject {
  const RunRequest& request;
  const Graph& model;
  const OptimizeOptions& options;
  const RunContext& context;

  /// Up to the phases, fitted on these samples.
  [[nodiscard]] Expected<PreparedRun> prepared(const OptimizeSettings& settings,
                                               const DataSet& fitted) const;
  [[nodiscard]] Expected<Trial> made(const OptimizeSettings& settings, const DataSet& fitted) const;
  /// How `graph`, called `name` in messages, agrees with the float model; `ranks` that share the
  /// samples, or null.
  [[nodiscard]] Expected<OptimizeFigure> figure(const Graph& graph, Judges judges,
                                                const std::string& name, Ranks* ranks) const;
};

}  // namespace quadrant::inline v0
