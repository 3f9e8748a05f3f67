// Budgets: the weights of a graph, the forms that each can have, and the best plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// One way that an item can be.
struct BudgetOption {
  std::string label;                   ///< `float`, a scheme's name in the run, or several with `+`
  std::vector<PlannedValue> values{};  ///< by name; none: float
  std::uint64_t stored_bytes = 0;      ///< codes, scales and zero points; floats where it is float
  bool is_mixed = false;               ///< of several schemes
};

/// A weight, or several values that are decided together.
struct BudgetItem {
  std::string name;                   ///< of its first stored value, and how many more there are
  std::vector<std::string> stored;    ///< names of the values that are stored, in topological order
  std::uint64_t elements = 0;         ///< of these
  std::vector<BudgetOption> options;  ///< the first is float
};

/// Everything that `registry` could quantize, with what each of its schemes would make of it if it
/// were the only one of the run. Values of which one is made from another, that are coupled, or
/// that share parameters under one of the schemes are one item. In topological order. Linear in the
/// graph for each scheme; reads no contents.
[[nodiscard]] Expected<std::vector<BudgetItem>> find_budget_items(
    const GraphView& graph, const Registry& registry, const QuantizeOptions& options = {});

/// Adds to items of several stored values what selection makes of them when all schemes are in one
/// run, for prices of an error from none to all: so values of one item may take different schemes.
/// Selection is that of `options`.
[[nodiscard]] Expected<void> add_mixed_options(const GraphView& graph, const Registry& registry,
                                               const ErrorTable& errors,
                                               const QuantizeOptions& options,
                                               std::vector<BudgetItem>& items);

/// The plan, for a run with `registry`, that gives each item one of its options, by index.
[[nodiscard]] Plan plan_of(std::span<const BudgetItem> items,
                           std::span<const std::uint32_t> options, const Registry& registry);

// Budgets: limits for bytes, for bits per weight, or for the error, and the best plan within them
// from the schemes of a run.
//
//   BudgetStudy::make      what each weight can be, and what that takes and costs
//   BudgetStudy::frontier  the best there is for every size
//   BudgetStudy::meet      the plan for one budget

/// The size and the errors that result from a plan. Errors are relative noise power, noise /
/// signal.
struct PlanFigures {
  std::uint64_t file_bytes = 0;  ///< of everything that would be written
  /// Of these, contents of weights: floats, or codes, scales and zero points. Empty: as schemes
  /// say.
  std::optional<std::uint64_t> tensor_bytes{};
  double weight_error = 0;  ///< of the stored values, added up
  double worst_weight = 0;  ///< of the one that has most
  double output_error = 0;  ///< at the output that has most; 0 where it was not asked for
};

/// Of the samples that there are: what is fitted on some is judged on the others.
enum class MeterSamples : std::uint8_t { all, fitted, held_back };

/// Which of the figures are wanted; errors of weights always are.
struct MeterScope {
  bool file = true;      ///< bytes
  bool outputs = false;  ///< errors at the outputs, where there are samples
  MeterSamples part = MeterSamples::all;
};

/// Follows plans and measures the results. The engine itself cannot, since it knows no files and
/// runs no models.
class PlanMeter {
 public:
  PlanMeter() = default;
  PlanMeter(const PlanMeter&) = delete;
  PlanMeter& operator=(const PlanMeter&) = delete;
  virtual ~PlanMeter() = default;

  /// Whether there are samples, so that outputs can be measured.
  [[nodiscard]] virtual bool has_data() const = 0;
  /// Whether some of them are held back to judge on; else all of them are each part.
  [[nodiscard]] virtual bool holds_back() const { return false; }
  /// Of each plan, in their order.
  [[nodiscard]] virtual Expected<std::vector<PlanFigures>> measure(std::span<const Plan> plans,
                                                                   const MeterScope& scope) = 0;
};

/// How the options of the items are put together.
enum class BudgetRule : std::uint8_t {
  search,        ///< the best that is found; with samples, measured and improved
  hull,          ///< the best for some price of a byte: a Lagrangian sweep, and no more
  lowest_error,  ///< the cheapest scheme for what has the lowest error by it, the dearest for
                 ///< others
  uniform,       ///< one scheme for all: the one with the lowest error that fits
};
[[nodiscard]] std::string_view to_string(BudgetRule rule) noexcept;

/// At most one of `file_bytes` and `bits`. With one of them the error is made small, and must then
/// be within `error`; without, the file is made small.
struct Budget {
  std::optional<std::uint64_t> file_bytes{};  ///< at most
  std::optional<double> bits{};               ///< at most, for each element of what has options
  std::optional<double> error{};         ///< at most: at the outputs, or of the weights, added up
  std::optional<double> weight_error{};  ///< at most, of each stored value
  BudgetRule rule = BudgetRule::search;
};

/// One of the best: nothing that was looked at is smaller and has less error.
struct BudgetPoint {
  std::vector<std::uint32_t> options;  ///< of each item
  std::uint64_t file_bytes = 0;        ///< as predicted
  double bits = 0;                     ///< for each element of what has options
  double error = 0;                    ///< as predicted, BudgetStudy
  std::string change;                  ///< from the point before: `name: from -> to`
};

struct BudgetOutcome {
  std::vector<std::uint32_t> options;  ///< of each item
  Plan plan;
  PlanFigures figures;  ///< measured, on all samples
  /// Within a size, its error at the outputs on the samples that are held back. It is the least of
  /// `judged_plans` that were compared there, so that of many it says too little.
  std::optional<double> judged{};
  std::size_t judged_plans = 0;
  double bits = 0;       ///< for each element of what has options
  double predicted = 0;  ///< error, as a sum over the items
  /// No choice of options within a size budget has a smaller sum. Empty: no size budget.
  std::optional<double> bound{};
  double unused = 0;  ///< share of a size budget that is left
  /// Single changes that would still fit into a size budget and have less error each by itself,
  /// but, measured together with the rest, more. Where it is 0, none fits.
  std::size_t refused_upgrades = 0;
  std::size_t plans_measured = 0;
};

struct BudgetStudyOptions {
  /// Measure every option of every item at the outputs. Otherwise one option of each, and the
  /// others are taken to have errors there in the ratio of their weights' errors.
  bool measures_all = false;
  /// How often errors are measured anew around what was chosen.
  int rounds = 3;
};

/// The items of a graph with what each option takes and costs. Refers to the registry's methods and
/// to the meter. Errors are assumed to add up; measuring the choice shows where they do not.
///
/// An option's error is, with samples, what it alone brings to the outputs; without any, that of
/// the weights.
class BudgetStudy {
 public:
  /// Measures each option alone, and each scheme for all. Where nothing can be quantized, there are
  /// no items. Errors of the meter are handed on.
  [[nodiscard]] static Expected<BudgetStudy> make(const GraphView& graph, const Registry& registry,
                                                  PlanMeter& meter,
                                                  const QuantizeOptions& options = {},
                                                  const BudgetStudyOptions& study = {});

  [[nodiscard]] std::span<const BudgetItem> items() const noexcept { return items_; }
  [[nodiscard]] const ErrorTable& errors() const noexcept { return error_table_; }
  /// The best for each price of a byte, smallest file first.
  [[nodiscard]] std::vector<BudgetPoint> frontier() const;
  /// `impossible`, with the nearest figure that can be had, where the budget cannot be met; `usage`
  /// for a budget that makes no sense.
  [[nodiscard]] Expected<BudgetOutcome> meet(const Budget& budget) const;

 private:
  friend class BudgetRun;
  struct Option {
    double file_bytes = 0;  ///< more than in float: below zero, mostly
    double error = 0;
    double worst_weight = 0;
  };

  BudgetStudy(Registry registry, PlanMeter& meter, const BudgetStudyOptions& options)
      : registry_(std::move(registry)), meter_(&meter), options_(options) {}
  struct Which {
    std::size_t item = 0;
    std::size_t option = 0;
  };
  [[nodiscard]] Expected<void> measure_options();
  [[nodiscard]] Expected<std::vector<PlanFigures>> measure_alone(std::span<const Which> which,
                                                                 bool at_outputs);
  void take_figures(const Which& which, const PlanFigures& figures, double error);
  [[nodiscard]] double file_bytes(const PlanFigures& figures) const;
  void enter_errors(std::size_t item);
  void estimate_mixed(std::size_t item);
  [[nodiscard]] Expected<void> measure_uniform();
  [[nodiscard]] Plan plan(std::span<const std::uint32_t> options) const;
  [[nodiscard]] std::vector<std::uint32_t> all_of_scheme(std::uint32_t scheme) const;
  [[nodiscard]] Expected<std::vector<PlanFigures>> measure(
      std::span<const std::vector<std::uint32_t>> choices, const MeterScope& scope) const;
  [[nodiscard]] double stored_bytes(std::span<const std::uint32_t> options) const;
  [[nodiscard]] double stored_bytes(std::span<const std::uint32_t> options,
                                    const PlanFigures& figures) const;
  [[nodiscard]] double bits_of(double stored_bytes) const;

  Registry registry_;
  PlanMeter* meter_;
  BudgetStudyOptions options_;
  std::vector<BudgetItem> items_;
  std::vector<std::vector<Option>> figures_;  ///< by item and option
  PlanFigures in_float_;
  std::vector<PlanFigures> uniform_;  ///< by scheme, for all items: bytes
  ErrorTable error_table_;
};

}  // namespace quadrant::inline v0
