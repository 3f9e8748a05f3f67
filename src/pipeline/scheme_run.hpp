// What the schemes of the library do in a run besides their methods: data, transforms, remarks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/scheme_choice.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

/// What a scheme is set up with.
struct SchemeSubject {
  const RunRequest& request;
  const RunContext& context;
  Graph graph;                  ///< a scheme may change it before the phases: fold, equalize
  bool has_calibrated = false;  ///< a scheme found ranges by calibration
  bool is_transformed = false;  ///< a scheme has done to `graph` what the recipe's model says
  SchemeSteps steps{};          ///< a scheme may set them
  SchemeData weights{};         ///< what weight_only knows of the model, if it does
  std::shared_ptr<RoundingLog> rounding{};
  StatisticsTable statistics{};  ///< what the model says of its values itself
  /// Values that the model wants statistics of. A scheme takes those away that it has some of; the
  /// others are told.
  std::vector<LeftAlone> ungathered{};
};

/// The choices of one scheme in a recipe, with what is done to the float model before.
struct SchemeChoices {
  std::span<const SchemeChoice> choices;
  const OptionValues& model;
};

/// A row for each scheme that does more than `make_registry`.
struct SchemeRun {
  std::string_view scheme;
  /// Mistakes that show without a model, before the long work.
  Expected<void> (*check)(const RunRequest& request, const SchemeChoices& choices);
  /// The choices' methods for this subject, and what is done around the phases.
  Expected<Registry> (*make)(SchemeSubject& subject, const SchemeChoices& choices);
};

[[nodiscard]] std::span<const SchemeRun> scheme_runs();
/// Of the scheme; null: it has none.
[[nodiscard]] const SchemeRun* find_scheme_run(std::string_view scheme);

/// That the options of each choice go together. Where one is called as its scheme, the message says
/// no name.
[[nodiscard]] Expected<void> check_options(std::span<const SchemeChoice> choices);

}  // namespace quadrant::inline v0
