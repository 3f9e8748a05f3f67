// Recipes, run on models: what a run is given, its steps, and what it gives.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/calibration/correct_bias.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct RunInputs {
  /// Samples (as for `open_data_set`), to find ranges on, to round weights by and to correct biases
  /// on; or statistics that were saved, of ranges alone, where `is_statistics_file`. Empty: none.
  std::string calibration{};
  /// Samples in place of those files. Not owned; outlive what the run returns.
  const DataSet* samples = nullptr;
  /// A file of encodings (AIMET's format) to use instead of those that would be found. Empty: none.
  std::string encodings{};
  /// A file of second moments of the model (`print_moments`), to round weights by in place of those
  /// of the samples. Empty: none.
  std::string moments{};

  [[nodiscard]] bool has_samples() const;
  [[nodiscard]] bool has_statistics() const;
  /// Whether there are files that were gathered on a model, which must be this one.
  [[nodiscard]] bool are_of_a_model() const { return has_statistics() || !moments.empty(); }
};

/// The samples that a caller names or lends, as the context says. Ends with
/// `cancelled`, at the next sample, once its stop is asked for.
[[nodiscard]] Expected<std::unique_ptr<DataSet>> open_samples(const RunInputs& inputs,
                                                              const Graph& graph,
                                                              const RunContext& context);

// A recipe, run on a model: what the command does for `plan`, `explain` and `quantize`, as calls.
//
//   QUADRANT_TRY(auto model, read_model("model.onnx"));
//   QUADRANT_TRY(const auto recipe, recipe_of_preset("int4-block32"));
//   const RunRequest request{.recipe = recipe, .inputs = {.calibration = "samples"}};
//   QUADRANT_TRY(const auto done, run(request, std::move(model)));
//   QUADRANT_TRY(const auto written, write_model(done.quantized.graph, "small.onnx"));

/// What is to be run.
struct RunRequest {
  NamedRecipe recipe{};
  RunInputs inputs{};
  std::string model{};  ///< its file, for messages and places of errors
  /// The last patterns of the recipe's `include` and `exclude` that are the caller's own, whose
  /// errors do not name the recipe.
  std::size_t own_includes = 0;
  std::size_t own_excludes = 0;
  bool owns_hardware = false;  ///< the same of the recipe's `hardware`
  /// static_affine makes what its kernels compute, where the recipe says no others; and operations
  /// that ONNX alone has are resolved where it has none of them.
  Destination destination{};
  bool as_matmul_nbits = false;  ///< products are to be written as com.microsoft.MatMulNBits
  /// Values are counted in histograms, even where the recipe needs their ranges alone: for a
  /// report.
  bool wants_histograms = false;
};

/// A request in which `check_run` found no mistake.
struct CheckedRun {
  RunRequest request;   ///< with what the destination adds to the recipe's schemes
  Recipe recipe;        ///< the same with what the hardware adds: what is run
  RuleSchemes schemes;  ///< of it, and of its rules
  std::optional<HardwareProfile> hardware;
};

/// Before the long work: whether schemes, options, patterns, inputs and hardware go together.
/// `usage`, mostly, where they do not; `io` or `invalid_model` for a file of hardware.
[[nodiscard]] Expected<CheckedRun> check_run(RunRequest request, const RunContext& context = {});

/// The results of rounding by samples, for each weight. Filled in while the phases run.
struct RoundingLog {
  std::mutex mutex;
  std::map<std::string, RoundedWeights, std::less<>> weights;
};

/// The steps of a scheme around the phases, in order; empty where there are none.
struct SchemeSteps {
  using Before = std::function<Expected<void>(Graph& graph, const Registry& registry,
                                              const QuantizeOptions& options)>;
  using Finish = std::function<Expected<void>(const Graph& graph, Graph& quantized)>;
  using Review = std::function<void(const Graph& graph, const QuantizeResult& result)>;

  std::vector<Before> before;  ///< with a graph whose phases are to run so
  std::vector<Finish> finish;  ///< with what they made of `graph`, where it is to be used
  std::vector<Review> review;  ///< tells what there is to say of what they made of `graph`
};

struct FollowOptions {
  const Plan* plan = nullptr;      ///< to follow; null: select
  ConstantStore* store = nullptr;  ///< keeps parameters off memory until they are written
  bool is_to_be_used = true;       ///< false: biases are not corrected; for a look at the decision
};

/// A model, calibrated and transformed as the recipe says, and all that the phases want to know.
/// Refers to what its context points to, and may be moved.
struct PreparedRun {
  RunContext context;
  std::string model;
  std::uint64_t file_bytes = 0;  ///< of the model's files, before it was transformed; 0: no file
  Graph graph;
  Registry registry;
  std::unique_ptr<GainModel> gains;
  Vetoes vetoes;
  ValueVetoes value_vetoes;
  RuleDecisions rules;
  Couplings couplings;  ///< the model's own
  NamedRecipe recipe;   ///< of the request: what a user would save
  SchemeSteps steps;
  SchemeData weights;                                 ///< what weight_only knows of the model
  std::shared_ptr<const StatisticsTable> statistics;  ///< that ranges were found by; may be null
  /// Of weight_only, of the last `quantize`; null: there were no samples.
  std::shared_ptr<RoundingLog> rounding;
  /// Of weight_only, of the last `quantize` that was to be used; null: `low_rank` is not given.
  std::shared_ptr<const LowRankReport> low_rank;
  bool has_begun = false;  ///< `steps.before` have run, which they do once

  /// For the engine; refers to this object.
  [[nodiscard]] QuantizeOptions engine_options() const;
  /// Phases 1 to 3: selecting, or following a plan. Where weights with NaN or infinity are to stay
  /// float, reads them to know which do; a plan says that itself. Errors are the engine's.
  [[nodiscard]] Expected<Analysis> decide(const Plan* plan = nullptr);
  /// All four phases, with the schemes' steps around them. May be called again, with another plan.
  [[nodiscard]] Expected<QuantizeResult> quantize(const FollowOptions& follow = {});

 private:
  /// Runs `steps.before`, unless that was done.
  [[nodiscard]] Expected<void> begin(const QuantizeOptions& options);
};

/// Takes instrumentation off, calibrates, transforms: all that comes before the phases.
[[nodiscard]] Expected<PreparedRun> prepare(CheckedRun checked, Graph model,
                                            const RunContext& context = {});

/// The same of the scheme of `target`, which decides as `lower_model` does: on a model that is made
/// of this one, whose simulated quantization became pairs. The request's recipe has no schemes; it
/// decides by what is worth most on the target's kernels, unless it says otherwise.
[[nodiscard]] Expected<PreparedRun> prepare_for_target(KernelsTarget target, RunRequest request,
                                                       Graph model, const RunContext& context = {});

/// Applies `model` of a recipe to a float model: batch normalizations are folded, layers equalized,
/// high biases absorbed, and factors of channels migrated for weights and activations of 8 bits.
/// `path`: its file, for messages; `inputs`: samples, to migrate by. `usage` where it contradicts
/// itself.
[[nodiscard]] Expected<void> transform_model(Graph& model, const OptionValues& options,
                                             const std::string& path,
                                             const RunContext& context = {},
                                             const RunInputs& inputs = {});
/// Mistakes in that call that show without a model.
[[nodiscard]] Expected<void> check_transform(const OptionValues& options);

/// The result of a run.
struct RunResult {
  PreparedRun prepared;      ///< with the float model that the phases ran on
  QuantizeResult quantized;  ///< refers to nothing of `prepared`
};

/// `check_run`, `prepare`, the budget of the recipe if it has one (`target_bits`, decided by the
/// errors of the weights) and `follow` has no plan, and all four phases.
[[nodiscard]] Expected<RunResult> run(RunRequest request, Graph model,
                                      const RunContext& context = {}, FollowOptions follow = {});

}  // namespace quadrant::inline v0
