// What the schemes of the library do in a run besides their methods: data, transforms, remarks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "pipeline/name_scope.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// What a scheme is set up with.
struct SchemeSubject {
  const RunRequest& request;
  const RunContext& context;
  Graph graph;                   ///< a scheme may change it before the phases: fold, equalize
  std::uint64_t model_hash = 0;  ///< of the model as it was read, where inputs are of a model
  bool has_calibrated = false;   ///< a scheme found ranges by calibration
  bool is_transformed = false;   ///< a scheme has done to `graph` what the recipe's model says
  SchemeSteps steps{};           ///< a scheme may set them
  SchemeData weights{};          ///< what weight_only knows of the model, if it does
  std::shared_ptr<RoundingLog> rounding{};
  std::shared_ptr<LowRankReport> low_rank{};  ///< filled in by a step
  StatisticsTable statistics{};               ///< what the model says of its values itself
  /// By which a scheme has found ranges, if one has.
  std::shared_ptr<const StatisticsTable> observed{};
  /// Values that the model wants statistics of. A scheme takes those away that it has some of; the
  /// others are told.
  std::vector<LeftAlone> ungathered{};
};

/// The choices of one scheme in a recipe, with what is done to the float model before.
struct SchemeChoices {
  std::span<const SchemeChoice> choices;  ///< at least one
  const OptionValues& model;
  const SchemeTable& schemes;  ///< which the scheme is of

  [[nodiscard]] Expected<Registry> make_registry(const SchemeData& data = {}) const {
    return quadrant::make_registry(choices, data, schemes);
  }
};

/// A row for each scheme of the library; schemes of others share one.
struct SchemeRun {
  std::string_view scheme;
  /// Mistakes that show without a model, before the long work.
  Expected<void> (*check)(const RunRequest& request, const SchemeChoices& choices);
  /// The choices' methods for this subject, and what is done around the phases.
  Expected<Registry> (*make)(SchemeSubject& subject, const SchemeChoices& choices);
};

[[nodiscard]] const SchemeRun& scheme_run_of(std::string_view scheme);
/// Which patterns are the recipe's own: they come first.
[[nodiscard]] ScopeOrigin origin_of(const RunRequest& request);

/// That the options of each choice go together. Where one is called as its scheme, the message says
/// no name.
[[nodiscard]] Expected<void> check_options(const SchemeChoices& choices);

}  // namespace quadrant::inline v0
