// What plan, explain and quantize share: a model, a scheme, and what to decide on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "cli/recipe_options.hpp"
#include "cli/schemes.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/run.hpp"

namespace quadrant::cli {

/// Of a budget that was given: bits for each weight, if it is one of bits.
struct TargetBits {
  std::optional<double> bits{};
};

struct DecisionOptions {
  /// `known` outlives the options.
  explicit DecisionOptions(const SchemeTable& known) : schemes(known) {}

  std::string model;
  RecipeOptions recipe;
  Schemes schemes;
  ScopeOptions scope;
  std::string gain;        ///< empty: what the recipe says, or else what suits its schemes
  std::string hardware;    ///< what `latency` predicts with; empty: what the recipe says
  std::string policy;      ///< empty: what the recipe says, or else `greedy`
  std::string non_finite;  ///< empty: what the recipe says
  std::string save_recipe;
  std::string format = "qdq";  ///< of `quantize --format`: what is made must be such that it can be
  unsigned threads = 0;        ///< 0: as many as the machine has
  // What a command that meets budgets says of them.
  bool meets_budgets = false;
  std::optional<TargetBits> budget{};  ///< in place of the recipe's
  Destination destination{};
  bool wants_histograms = false;  ///< of activations, for a report
  bool takes_variants = false;    ///< `weight_variants` in place of one scheme
};

/// Adds them to a subcommand, and --json.
void declare(CLI::App& command, DecisionOptions& options, bool& json);
/// Adds --non-finite to a subcommand: `refuse` or `leave`.
void declare_non_finite(CLI::App& command, std::string& choice);
/// Adds --save-recipe to a subcommand, which calls `save_recipe`.
void declare_save_recipe(CLI::App& command, DecisionOptions& options);

/// Checks the options, then reads the model, so that mistakes in the call show before the long
/// work.
[[nodiscard]] Expected<PreparedRun> prepare(const DecisionOptions& options, Console& console);

/// The same for the scheme of `target`, which decides as in `convert --target`: on a model that is
/// made of the one that was read, by what is worth most there, unless the options say otherwise.
[[nodiscard]] Expected<PreparedRun> prepare_for(KernelsTarget target,
                                                const DecisionOptions& options, Console& console);

/// Adds the file of --save-recipe, if there is to be one.
[[nodiscard]] Expected<void> save_recipe(const DecisionOptions& options, const PreparedRun& run,
                                         Console& console);

/// Where the options name a scheme alone, and `plan` is of a budget's `weight_variants`, `run` gets
/// them as its registry. `usage` where the options say more of the scheme.
[[nodiscard]] Expected<void> use_variants_of(const Plan& plan, const DecisionOptions& options,
                                             PreparedRun& run);

}  // namespace quadrant::cli
