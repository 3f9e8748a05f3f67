// Budgets of a prepared run: each weight in the form that costs least for what it takes.
//
//   auto decided = decide_by_budget({.bits = 4.5}, {}, *prepared);
//   auto quantized = prepared->quantize({.plan = &decided->outcome.plan});
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/engine/budgets/budget.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/scheme_choice.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The ways to store a weight among which a budget chooses where nobody says others than a scheme.
/// Those of weight_only are the preset `mixed-4.5bit`: 8 bits and 4, for channels and for blocks of
/// 16 to 128. Every one of them is run by ONNX Runtime. `usage` for a scheme that has none.
[[nodiscard]] Expected<std::vector<SchemeChoice>> weight_variants(
    std::string_view scheme = "weight_only", const SchemeTable& schemes = known_schemes());
/// Whether a plan is of these variants, and not of the run's own schemes.
[[nodiscard]] bool is_of_variants(const Plan& plan, std::span<const SchemeChoice> variants);
/// Gives the run these variants to choose from.
[[nodiscard]] Expected<void> use_variants(PreparedRun& run, std::span<const SchemeChoice> variants);

struct WeightBudgetOptions {
  /// Samples of `run.graph` to measure errors of outputs on. Null: errors of weights count. Not
  /// owned; outlives the decision.
  const DataSet* data = nullptr;
  bool measures_all =
      false;       ///< each form of each weight alone; else others in the ratio of errors
  int rounds = 3;  ///< with samples: how often what each change does is measured again
  OnnxWriteOptions format{};  ///< how the result would be written
  std::string path{};         ///< where it would be; empty: where the model is
};

/// What is decided on under budgets: the run's weights in all their forms, measured. Refers to the
/// run, which stays where it is.
class WeightBudget {
 public:
  /// Reads all weights. Takes those with NaN or infinity out of the run, or refuses them, as its
  /// recipe says. `usage` where one of the schemes is no way to store a weight.
  [[nodiscard]] static Expected<std::unique_ptr<WeightBudget>> make(
      PreparedRun& run, const WeightBudgetOptions& options);
  ~WeightBudget();
  WeightBudget(const WeightBudget&) = delete;
  WeightBudget& operator=(const WeightBudget&) = delete;

  [[nodiscard]] const BudgetStudy& study() const noexcept;
  [[nodiscard]] bool has_data() const noexcept;

 private:
  struct Parts;
  [[nodiscard]] static Expected<std::unique_ptr<WeightBudget>> make_in(
      PreparedRun& run, const WeightBudgetOptions& options);
  explicit WeightBudget(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// What a budget decided, and on what.
struct BudgetDecision {
  std::unique_ptr<WeightBudget> subject;
  BudgetOutcome outcome;
};

/// `impossible` where it cannot be met.
[[nodiscard]] Expected<BudgetDecision> decide_by_budget(const Budget& budget,
                                                        const WeightBudgetOptions& options,
                                                        PreparedRun& run);

/// `usage` for a recipe whose schemes are not all ways to store a weight, or that names a gain.
[[nodiscard]] Expected<void> check_budget_recipe(const Recipe& recipe,
                                                 const SchemeTable& schemes = known_schemes());

}  // namespace quadrant::inline v0
