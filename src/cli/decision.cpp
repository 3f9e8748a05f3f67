#include "cli/decision.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/resources.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/recipe/recipe.hpp"

namespace quadrant::cli {
namespace {

// The recipe, with what other options say besides.
Expected<NamedRecipe> with_options(NamedRecipe meant, const DecisionOptions& options) {
  Recipe& recipe = meant.recipe;
  if (!options.gain.empty()) {
    recipe.gain = options.gain;
    // The recipe's went with its own gain.
    if (options.gain != "latency") recipe.hardware.clear();
  }
  if (!options.hardware.empty()) {
    if (recipe.gain != "latency") {
      return fail(ErrorCode::usage,
                  "--hardware is the profile for --gain latency: it needs that option");
    }
    recipe.hardware = options.hardware;
  }
  if (!options.policy.empty()) recipe.policy = options.policy;
  if (options.takes_variants) {
    QUADRANT_TRY(recipe.schemes, weight_variants(options.recipe.scheme, options.schemes.known()));
  }
  if (options.budget) recipe.target_bits = options.budget->bits;
  if (!options.non_finite.empty()) {
    recipe.non_finite =
        options.non_finite == "leave" ? NonFinitePolicy::leave_float : NonFinitePolicy::refuse;
  }
  const auto& [include, exclude] = options.scope;
  recipe.include.insert(recipe.include.end(), include.begin(), include.end());
  recipe.exclude.insert(recipe.exclude.end(), exclude.begin(), exclude.end());
  return meant;
}

Expected<NamedRecipe> meant_by(const DecisionOptions& options) {
  QUADRANT_TRY(NamedRecipe recipe, recipe_of(options.recipe, options.schemes));
  return with_options(std::move(recipe), options);
}

// With what the command adds.
RunRequest request_of(NamedRecipe meant, const DecisionOptions& options) {
  return {.recipe = std::move(meant),
          .inputs = options.schemes.inputs(),
          .model = options.model,
          .own_includes = options.scope.include.size(),
          .own_excludes = options.scope.exclude.size(),
          .owns_hardware = !options.hardware.empty(),
          .destination = options.destination,
          .as_matmul_nbits = options.format == "matmulnbits",
          .wants_histograms = options.wants_histograms};
}

Expected<void> check_budget(const NamedRecipe& meant) {
  if (!meant.recipe.target_bits) return {};
  return fail(ErrorCode::impossible,
              fmt::format("'target_bits' asks for {} bits a weight: that is for quantize and plan; "
                          "'quadrant explain --plan' explains what they decide",
                          *meant.recipe.target_bits),
              {.file = meant.label});
}

// What is saved can be read: of bits, options may say more than a recipe.
Expected<void> check_savable(const DecisionOptions& options, const Recipe& recipe) {
  if (options.save_recipe.empty()) return {};
  auto status = check(recipe, options.schemes.known());
  if (!status) status.error().message = "--save-recipe: " + status.error().message;
  return status;
}

}  // namespace

void declare_non_finite(CLI::App& command, std::string& choice) {
  add_choice(command, "--non-finite", choice, {"refuse", "leave"},
             "Weights with NaN or infinity: 'refuse' the model, or 'leave' them in float")
      ->default_str("refuse");
}

void declare_save_recipe(CLI::App& command, DecisionOptions& options) {
  add_value(command, "--save-recipe", options.save_recipe, "FILE",
            "Save these options as a recipe, for --recipe: all but the model and its data");
}

void declare(CLI::App& command, DecisionOptions& options, bool& json) {
  add_model(command, options.model);
  declare(command, options.recipe);
  add_choice(
      command, "--gain", options.gain, {"bytes", "latency", "operations", "unit"},
      "Gain model: 'bytes' saved, 'latency' in predicted nanoseconds, 'operations' on integers "
      "instead of floats, or 'unit', consumed operands (default: what suits the scheme)");
  add_value(command, "--hardware", options.hardware, "NAME|FILE",
            "Hardware profile for --gain latency: one of 'quadrant list hardware', or a file "
            "of measure_hardware.py");
  add_choice(command, "--policy", options.policy, {"greedy", "optimal"},
             "Selection policy: 'greedy' (the default), or 'optimal', the selection of the largest "
             "gain, with a bound on what any could gain");
  declare(command, options.scope);
  declare_json(command, json);
  declare_threads(command, options.threads);
  options.schemes.declare(command);
}

Expected<PreparedRun> prepare(const DecisionOptions& options, Console& console) {
  console.use_threads(options.threads);
  const RunContext& context = console.context();
  QUADRANT_TRY(NamedRecipe meant, meant_by(options));
  if (!options.meets_budgets) QUADRANT_CHECK(check_budget(meant));
  QUADRANT_TRY(CheckedRun checked, check_run(request_of(std::move(meant), options), context));
  QUADRANT_CHECK(check_savable(options, checked.recipe));
  QUADRANT_TRY(Graph graph, read_model(options.model, context));
  return quadrant::prepare(std::move(checked), std::move(graph), context);
}

Expected<PreparedRun> prepare_for(KernelsTarget target, const DecisionOptions& options,
                                  Console& console) {
  console.use_threads(options.threads);
  NamedRecipe meant;
  meant.label = scheme_of(target);
  QUADRANT_CHECK(options.schemes.check_given(std::array{meant.label}, {}));
  meant.recipe.gain = "operations";
  QUADRANT_TRY(meant, with_options(std::move(meant), options));
  QUADRANT_TRY(Graph graph, read_model(options.model, console.context()));
  return prepare_for_target(target, request_of(std::move(meant), options), std::move(graph),
                            console.context());
}

Expected<void> save_recipe(const DecisionOptions& options, const PreparedRun& run,
                           Console& console) {
  if (options.save_recipe.empty()) return {};
  return console.write_text(options.save_recipe, print_recipe(run.recipe.recipe));
}

Expected<void> use_variants_of(const Plan& plan, const DecisionOptions& options, PreparedRun& run) {
  if (options.recipe.scheme.empty()) return {};
  const SchemeTable& known = options.schemes.known();
  QUADRANT_TRY(const SchemeEntry* const scheme, known.find(options.recipe.scheme));
  if (scheme->variants == nullptr) return {};
  QUADRANT_TRY(const std::vector<SchemeChoice> variants, scheme->variants());
  if (!is_of_variants(plan, variants)) return {};
  const std::string given = options.schemes.given_option(*scheme);
  if (given.empty()) return use_variants(run, variants);
  return fail(ErrorCode::usage,
              fmt::format("--plan is of a budget, which chose bits, blocks and scales for each "
                          "weight: {} does not go with it",
                          given));
}

}  // namespace quadrant::cli
