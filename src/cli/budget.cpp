#include "cli/budget.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/resources.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "support/decibels.hpp"

namespace quadrant::cli {

void declare_measuring(CLI::App& command, BudgetOptions& options) {
  add_choice(command, "--measure", options.measure, {"scaled", "full"},
             "How to find errors at the outputs: 'scaled' measures one form of each weight, and "
             "scales it to the others by the weights' own errors; 'full' measures all forms")
      ->capture_default_str();
  declare(command, options.data);
}

void declare(CLI::App& command, BudgetOptions& options) {
  const auto add = [&](const char* name, std::optional<double>& value, const char* unit,
                       const char* about) {
    command.add_option(name, value, about)->type_name(unit);
  };
  add_value(command, "--target-size", options.target_size, "SIZE",
            "Largest size of the file, such as 20MB, within which the error is least: each "
            "weight gets 8 bits, 4 bits or floats");
  add("--target-bits", options.target_bits, "BITS",
      "The same as bits per weight, scales and zero points included");
  add("--min-sqnr", options.min_sqnr, "DB",
      "Least SQNR of the outputs, on the samples; the file is the smallest that has it");
  add("--min-weight-sqnr", options.min_weight_sqnr, "DB",
      "Least SQNR of each weight; needs no data");
  add("--max-error", options.max_error, "SHARE",
      "As --min-sqnr, but as noise power over signal power; without data, the sum over all "
      "weights");
  add_choice(command, "--budget-rule", options.rule, {"search", "hull", "lowest-error", "uniform"},
             "How a budget of size is spent: 'search' finds the best; for comparison, 'hull' (a "
             "price for a byte), 'lowest-error' (those weights first) or 'uniform'")
      ->capture_default_str();
  add_value(command, "--budget-rounds", options.rounds, "N",
            "With samples, how many times to measure the effect of each change of the "
            "choice, and choose again")
      ->check(whole_number(0, 100))
      ->capture_default_str();
  declare_measuring(command, options);
}

Expected<void> check_no_budget(const BudgetOptions& options) {
  const BudgetOptions defaults;
  std::string_view name;
  if (options.data.is_given()) name = options.data.path.empty() ? "--random" : "--data";
  if (options.rule != defaults.rule) name = "--budget-rule";
  if (options.rounds != defaults.rounds) name = "--budget-rounds";
  if (options.measure != defaults.measure) name = "--measure";
  if (name.empty()) return {};
  return fail(ErrorCode::usage, fmt::format("{} needs a budget: --target-size, --target-bits, "
                                            "--min-sqnr, --min-weight-sqnr or --max-error",
                                            name));
}

namespace {

Expected<Budget> parse_budget(const BudgetOptions& options) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::usage, std::move(message));
  };
  Budget budget;
  if (!options.target_size.empty() && options.target_bits) {
    return refuse("--target-size and --target-bits are two budgets for the same: give one");
  }
  if (options.min_sqnr && options.max_error) {
    return refuse("--min-sqnr and --max-error are two limits of the same: give one");
  }
  if (options.min_sqnr && !options.data.is_given()) {
    return refuse(
        "--min-sqnr is measured at the outputs: give samples (--data, --random), or ask for "
        "--min-weight-sqnr");
  }
  if (!options.target_size.empty()) {
    QUADRANT_TRY(budget.file_bytes, parse_bytes("--target-size", options.target_size));
  }
  budget.bits = options.target_bits;
  budget.error = options.max_error;
  if (options.min_sqnr) budget.error = relative_noise_of(*options.min_sqnr);
  if (options.min_weight_sqnr) budget.weight_error = relative_noise_of(*options.min_weight_sqnr);
  for (const BudgetRule rule :
       {BudgetRule::search, BudgetRule::hull, BudgetRule::lowest_error, BudgetRule::uniform}) {
    if (to_string(rule) == options.rule) budget.rule = rule;
  }
  struct Given {
    std::string_view name;
    std::optional<double> number;
    bool is_decibels = false;
  };
  for (const auto& [name, number, is_decibels] :
       {Given{"--target-bits", options.target_bits}, Given{"--max-error", options.max_error},
        Given{"--min-sqnr", options.min_sqnr, true},
        Given{"--min-weight-sqnr", options.min_weight_sqnr, true}}) {
    constexpr double most_decibels = 3000;  // beyond, there is no such power
    const bool is_right = !number || (is_decibels ? std::abs(*number) <= most_decibels
                                                  : std::isfinite(*number) && *number > 0);
    if (!is_right) {
      return refuse(fmt::format("{}: {} is no number {}", name, *number,
                                is_decibels ? "of decibels from -3000 to 3000" : "above zero"));
    }
  }
  if (options.data.is_given()) QUADRANT_CHECK(check(options.data));
  return budget;
}

// A recipe would not say the same.
Expected<void> check_savable(const BudgetOptions& options, const DecisionOptions& decision) {
  if (decision.save_recipe.empty()) return {};
  const BudgetOptions defaults;
  const bool is_by_bits = options.target_bits && !options.min_sqnr && !options.min_weight_sqnr &&
                          !options.max_error && options.rule == defaults.rule &&
                          options.rounds == defaults.rounds && options.measure == defaults.measure;
  if (is_by_bits) return {};
  return fail(ErrorCode::usage,
              "--save-recipe: of budgets a recipe holds --target-bits alone, met as by default");
}

// A recipe with budgets takes what it is given; --scheme alone means all ways that there are.
Expected<void> announce_variants(DecisionOptions& decision) {
  decision.meets_budgets = true;
  if (decision.recipe.scheme.empty()) return {};
  const SchemeTable& known = decision.schemes.known();
  QUADRANT_TRY(const SchemeEntry* const scheme, known.find(decision.recipe.scheme));
  const std::string name(scheme->name);
  QUADRANT_CHECK(check_budget_recipe({.schemes = {{name, name, {}}}}, known));
  decision.takes_variants = true;
  const std::string given = decision.schemes.given_option(*scheme);
  if (given.empty()) return {};
  return fail(ErrorCode::usage,
              fmt::format("a budget chooses for each weight what the scheme does: {} does not "
                          "go with it; --mix says what it may choose from",
                          given));
}

}  // namespace

Expected<void> announce(const BudgetOptions& options, DecisionOptions& decision) {
  decision.meets_budgets = true;
  if (!options.is_given()) return {};
  QUADRANT_CHECK(parse_budget(options));
  QUADRANT_CHECK(check_savable(options, decision));
  decision.budget = TargetBits{options.target_bits};
  return announce_variants(decision);
}

Expected<void> announce_frontier(DecisionOptions& decision) { return announce_variants(decision); }

namespace {

Expected<std::optional<Budget>> read_budget(const BudgetOptions& options, const PreparedRun& run) {
  const Recipe& recipe = run.recipe.recipe;
  BudgetOptions all = options;
  if (!options.is_given()) all.target_bits = recipe.target_bits;
  if (!all.is_given()) {
    QUADRANT_CHECK(check_no_budget(options));
    return std::optional<Budget>();
  }
  QUADRANT_CHECK(check_budget_recipe(recipe, run.context.all_schemes()));
  QUADRANT_TRY(const Budget budget, parse_budget(all));
  return std::optional(budget);
}

}  // namespace

Expected<BudgetMeasuring> measuring(const BudgetOptions& options, const OnnxWriteOptions& format,
                                    const std::string& path, const PreparedRun& run,
                                    Console& console) {
  BudgetMeasuring made;
  made.options = {.measures_all = options.measure == "full",
                  .rounds = options.rounds,
                  .format = format,
                  .path = path};
  if (options.data.is_given()) {
    QUADRANT_TRY(made.data, open_data(options.data, run.graph, console));
    made.options.data = made.data.get();
  }
  return made;
}

Expected<std::optional<MetBudget>> meet_budget(const BudgetOptions& options,
                                               const OnnxWriteOptions& format,
                                               const std::string& path, PreparedRun& run,
                                               Console& console) {
  QUADRANT_TRY(const std::optional<Budget> budget, read_budget(options, run));
  if (!budget) return std::optional<MetBudget>();
  MetBudget made;
  QUADRANT_TRY(made.measuring, measuring(options, format, path, run, console));
  QUADRANT_TRY(made.decision, decide_by_budget(*budget, made.measuring.options, run));
  return std::optional(std::move(made));
}

}  // namespace quadrant::cli
