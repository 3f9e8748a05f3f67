// Searches over prepared runs: for a budget of bytes, and for the static quantization that is
// accurate enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/engine/budgets/budget.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// Budgets of a prepared run: each weight in the form that costs least for what it takes.
//
//   auto decided = decide_by_budget({.bits = 4.5}, {}, *prepared);
//   auto quantized = prepared->quantize({.plan = &decided->outcome.plan});

/// The ways to store a weight among which a budget chooses where only a scheme is named. Those of
/// weight_only are the preset `mixed-4.5bit`: 8 bits and 4, for channels and for blocks of 16 to
/// 128. Every one of them is run by ONNX Runtime. `usage` for a scheme that has none.
[[nodiscard]] Expected<std::vector<SchemeChoice>> weight_variants(
    std::string_view scheme = "weight_only", const SchemeTable& schemes = known_schemes());
/// Whether a plan is of these variants, and not of the run's own schemes.
[[nodiscard]] bool is_of_variants(const Plan& plan, std::span<const SchemeChoice> variants);
/// Gives the run these variants to choose from.
[[nodiscard]] Expected<void> use_variants(PreparedRun& run, std::span<const SchemeChoice> variants);

struct WeightBudgetOptions {
  /// Samples of `run.graph` to measure errors of outputs on. Null: errors of weights count. Of
  /// eight and more a quarter is held back: a choice within a size that is fitted to the others is
  /// not taken where a plain one is better on these. Not owned; outlives the decision.
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
  /// So many samples are for judging alone.
  [[nodiscard]] std::size_t held_back() const noexcept;

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

// Searches for the static quantization that is accurate enough: encodings, equalization, bias
// correction, widths, and at last the fewest operations that have to stay float.

/// What stays float for the accuracy's sake.
struct FloatPart {
  std::string name;    ///< of an operation, or of a value
  std::string reason;  ///< in front of which operation, or what it costs alone

  friend bool operator==(const FloatPart&, const FloatPart&) = default;
};

/// One way to quantize: what it has besides what the request says.
struct OptimizeSettings {
  OptionValues options{};                    ///< of static_affine
  std::vector<std::string> optimizations{};  ///< of cle, hba, bc
  std::vector<FloatPart> excluded{};

  /// `default`, or `activation_encoding mse, optimize bc, 2 in float`.
  [[nodiscard]] std::string name() const;
  friend bool operator==(const OptimizeSettings&, const OptimizeSettings&) = default;
};

/// How models agree with the float model, on some samples.
struct OptimizeFigure {
  std::vector<Agreement> outputs{};  ///< in the model's order
  /// Where there are labels: how often the float model is right, and how often the others are.
  std::optional<ClassificationScore> before{};
  std::optional<ClassificationScore> after{};

  /// Of the output that agrees least.
  [[nodiscard]] Agreement worst() const;
  /// Percentage points of top-1 that are lost; empty: there are no labels, or all are negative.
  [[nodiscard]] std::optional<double> loss() const;
  /// Elements of outputs that are NaN in the float model.
  [[nodiscard]] std::uint64_t nan() const;
  /// As if all samples of `other` had been among these.
  void merge(const OptimizeFigure& other);
};

/// Settings, and what came of them.
struct OptimizeAttempt {
  OptimizeSettings settings;
  OptimizeFigure judged;  ///< on samples that nothing of it was fitted on
  OptimizeFigure fitted;  ///< on those that it was fitted on
  /// On those that are held back, fitted on all others; of the first and the best, where there are
  /// some.
  std::optional<OptimizeFigure> held_back{};
  std::uint64_t weights = 0;    ///< float ones that could be quantized
  std::uint64_t quantized = 0;  ///< of these
  bool is_float = false;        ///< no value is quantized, be it a weight or not
  double seconds = 0;
  /// Why it did not become the best, or is not after all; empty: it was the best until then.
  std::string refusal{};
};

struct OptimizeOptions {
  /// Samples to judge on; without any, the request's, of which each is judged on by what it was not
  /// fitted on.
  RunInputs data{};
  /// Which classes are right, a row of scores each, of the samples to judge on. Negative ones are
  /// passed over.
  std::optional<std::vector<std::int64_t>> labels{};
  std::string labels_name{};   ///< their file, for messages
  double accept_points = 0.5;  ///< of top-1 that may be lost, where there are labels
  double accept_sqnr_db = 30;  ///< of the worst output, where there are none
  /// The share of the products that may stay float because they cost most; 0: nothing is excluded.
  double most_float = 0.25;
  /// Hears of each attempt when it is made, in the thread of the call. May be empty.
  std::function<void(const OptimizeAttempt&)> tried{};
  /// A file of what attempts came to, written after each, whatever its `every` says. If it is
  /// there, the search goes on from it, whatever the number of ranks was, to the result of one that
  /// was never stopped. Errors are those of `Gathering::checkpoint`: this one is of a model,
  /// samples, labels, a recipe and the options above; what other files of the request and its
  /// destination say is for `settings`. It goes in the same way, but not where a stop was asked
  /// for.
  CheckpointOptions checkpoint{};
};

/// How samples were used.
struct OptimizeSamples {
  /// How attempts were fitted and judged.
  enum class Use : std::uint8_t {
    same,     ///< on the same samples: there were no others
    crossed,  ///< on two halves: what is fitted on one is judged on the other, and the other way
    given,    ///< on those that were given for each
  };
  Use use = Use::same;
  std::size_t fitted = 0;     ///< so many were fitted on
  std::size_t judged = 0;     ///< so many judged on: where `crossed`, the same ones
  std::size_t held_back = 0;  ///< so many others tell what the result is worth
};

struct Optimized {
  Graph graph;           ///< the best, quantized
  Recipe recipe;         ///< the request's with what was found: makes the same of the same samples
  std::size_t best = 0;  ///< of the attempts: the settings of `graph`
  /// `graph` was fitted on so many samples: all, all but those held back, or, where a stop was
  /// asked for, one half of these.
  std::size_t fitted = 0;
  std::vector<OptimizeAttempt> attempts{};  ///< in order, the request as it is first
  OptimizeSamples samples{};                ///< of the attempts
  bool is_reached = false;                  ///< what was asked for, as the best is judged
  bool is_good_enough = false;              ///< the same, on samples that it was not fitted on
  /// Products could have been tried in float, but of so few `most_float` allows none.
  bool is_share_too_small = false;
  bool is_stopped = false;  ///< a stop was asked for before the search had ended
};

/// Searches until the accuracy is good enough, or nothing is left that is likely to help; the
/// cheapest first, one thing at a time, and what helped stays:
///
///  - the request as it is; with biases corrected;
///  - other encodings of activations, then of weights, unless the request says which;
///  - channels equalized;
///  - activations of 16 bits, where the request is for kernels that take them, and does not say 8;
///  - values in front of Log, Exp, Reciprocal, Sqrt, Pow and divisors in float;
///  - the fewest products in float, those first that cost most alone.
///
/// A quarter of the request's samples is held back. What is fitted on one half of the others is
/// judged on the other half, and the other way, so that each is judged on and none by what was
/// fitted on it; they are taken by turns. With fewer than four none is held back, and one alone is
/// for all; so are samples with labels that are not equally many for each. Samples to judge on that
/// are given apart are judged on, and all of the request's are fitted on. At the end the best is
/// fitted on all samples, unless that is worse by half a decibel on those that were held back, or
/// worse there than the request as it is. On the samples held back the result is never worse than
/// that: else it is the request as it is. An attempt that quantizes nothing is never the best, but
/// for the request. A warning says where no sample tells what the result is worth.
///
/// `request` names static_affine, and samples. Once a stop is asked for, the best until then is the
/// result, `cancelled` only where there is none. `usage`: the number of labels is not that of the
/// rows of scores, or all of the samples to judge on are negative. Other errors are those of `run`.
[[nodiscard]] Expected<Optimized> optimize(const RunRequest& request, const Graph& model,
                                           const OptimizeOptions& options = {},
                                           const RunContext& context = {});
/// Mistakes in that call that show without a model.
[[nodiscard]] Expected<void> check_optimize(const RunRequest& request,
                                            const RunContext& context = {});

}  // namespace quadrant::inline v0
