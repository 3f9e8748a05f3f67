// --target-size and its like: what a budget makes of a model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "cli/data_options.hpp"
#include "cli/decision.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/pipeline/optimize.hpp"

namespace quadrant::cli {

struct BudgetOptions {
  std::string target_size;  ///< bytes, with a unit; empty: none
  std::optional<double> target_bits{};
  std::optional<double> min_sqnr{};
  std::optional<double> min_weight_sqnr{};
  std::optional<double> max_error{};
  std::string rule = "search";
  std::string measure = "scaled";
  int rounds = 3;
  DataOptions data;

  [[nodiscard]] bool is_given() const noexcept {
    return !target_size.empty() || target_bits || min_sqnr || min_weight_sqnr || max_error;
  }
};

/// Adds the options that say how to measure: --measure, and those of DataOptions.
void declare_measuring(CLI::App& command, BudgetOptions& options);
/// Adds the budgets, and those.
void declare(CLI::App& command, BudgetOptions& options);
/// To be called before the model is read: mistakes that show without it, and what `decision` has to
/// know of a budget. With --scheme weight-only alone, a budget chooses from `weight_variants`.
[[nodiscard]] Expected<void> announce(const BudgetOptions& options, DecisionOptions& decision);
/// The same for a command that shows what all budgets would get.
[[nodiscard]] Expected<void> announce_frontier(DecisionOptions& decision);
/// That no option is given which is of use to a budget alone.
[[nodiscard]] Expected<void> check_no_budget(const BudgetOptions& options);

/// How errors are measured, and the samples for that.
struct BudgetMeasuring {
  std::unique_ptr<DataSet> data;  ///< null: none
  WeightBudgetOptions options;    ///< refers to it
};
/// `format`, `path`: how, and where, the result would be written.
[[nodiscard]] Expected<BudgetMeasuring> measuring(const BudgetOptions& options,
                                                  const OnnxWriteOptions& format,
                                                  const std::string& path, const PreparedRun& run,
                                                  Console& console);

/// What a budget decided; the samples outlive the decision.
struct MetBudget {
  BudgetMeasuring measuring;
  BudgetDecision decision;
};
/// Meets the budget of the options, or else of the recipe; empty: there is none.
[[nodiscard]] Expected<std::optional<MetBudget>> meet_budget(const BudgetOptions& options,
                                                             const OnnxWriteOptions& format,
                                                             const std::string& path,
                                                             PreparedRun& run, Console& console);

}  // namespace quadrant::cli
