// One budget, met with what a study knows: choosing options, measuring what they come to, and
// choosing again.
//
//   budget_run.cpp         what is allowed, what choices take, and how they are measured
//   budget_run_search.cpp  choosing by what is predicted, and around what was measured
//   budget_run_size.cpp    the least error within a size
//   budget_run_error.cpp   the smallest file within an error
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/budgets/option_search.hpp"
#include "quadrant/engine/budgets/budget.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Used once. Refers to both.
class BudgetRun {
 public:
  BudgetRun(const BudgetStudy& study, const Budget& budget) : study_(study), budget_(budget) {}

  Expected<BudgetOutcome> run();

 private:
  using Options = std::vector<std::uint32_t>;
  struct Measured {
    Options options;
    PlanFigures figures;
  };

  [[nodiscard]] Expected<void> check() const;

  [[nodiscard]] std::size_t size() const { return study_.items_.size(); }

  // Options whose weights have too much error are none.
  void find_allowed();

  // --- what things take --------------------------------------------------------------------------
  [[nodiscard]] double cost(std::size_t item, std::uint32_t option) const;
  [[nodiscard]] double limit() const;
  [[nodiscard]] double float_bytes() const;
  // What a measured choice takes of the limit.
  [[nodiscard]] double taken(const Measured& measured) const;
  [[nodiscard]] double predicted_cost(const Options& options) const;
  [[nodiscard]] double file_cost(const Options& options) const;
  [[nodiscard]] bool fits(const Measured& measured) const { return taken(measured) <= limit(); }
  [[nodiscard]] double error_of(const Measured& measured) const;
  // What an option is predicted to bring.
  [[nodiscard]] double error(std::size_t item, std::uint32_t option) const;
  // Errors are sums, and their order is not always the same.
  [[nodiscard]] bool holds(const Measured& measured, double wanted) const;
  [[nodiscard]] std::string print_limit() const;
  // Whoever asks for what this says gets it: so it is never rounded down.
  [[nodiscard]] std::string print_size(const Measured& measured) const;
  [[nodiscard]] double bits_of(const Measured& measured) const;

  [[nodiscard]] Expected<std::vector<Measured>> measure(std::vector<Options> choices,
                                                        bool counts_bytes = true);
  [[nodiscard]] Expected<Measured> measure_one(Options options);
  // Errors of choices as a whole, on the samples that are held back.
  [[nodiscard]] Expected<std::vector<double>> judge(const std::vector<Options>& choices) const;

  // --- searching ---------------------------------------------------------------------------------
  // The allowed options by cost and loss, or the other way round.
  template <class Cost, class Loss>
  [[nodiscard]] OptionTable table_of(Cost cost, Loss loss) const {
    OptionTable table(size());
    for (std::size_t i = 0; i < size(); ++i) {
      for (const std::uint32_t option : allowed_[i]) {
        table[i].push_back({cost(i, option), loss(i, option)});
      }
    }
    return table;
  }
  [[nodiscard]] Options to_options(const OptionChoice& choice) const;
  [[nodiscard]] OptionTable table_by_error() const;

  // The choice of a rule within `limit`, as predicted. Empty: none.
  [[nodiscard]] std::optional<Options> choose(const OptionTable& table, double limit);
  [[nodiscard]] std::optional<Options> last_within(const std::vector<OptionChoice>& choices,
                                                   double limit) const;
  [[nodiscard]] bool is_allowed(const Options& options) const;
  [[nodiscard]] double predicted_error(const Options& options) const;
  [[nodiscard]] std::vector<Options> uniform_choices() const;
  [[nodiscard]] std::optional<Options> choose_uniform(double limit) const;
  [[nodiscard]] std::optional<Options> choose_lowest_error(double limit) const;

  // One form for all, as far as it is allowed, as the study counted it: without outputs.
  [[nodiscard]] std::vector<Measured> counted_uniform() const;

  // All of these that fit, measured.
  Expected<std::vector<Measured>> measure_uniform();

  // These, and the best for some price of a byte.
  Expected<std::vector<Measured>> measure_plain(const OptionTable& table);

  // The options of an item that are worth trying beside the one that it has: no other is smaller
  // and better at once, and, where not all are to be measured, near in cost.
  [[nodiscard]] Options options_around(std::size_t item, std::uint32_t now) const;

  // What each item alone would change from a choice.
  struct Around {
    std::vector<std::size_t> item_of;
    std::vector<Measured> measured;
  };
  Expected<Around> measure_around(const Measured& start);

  // Searches among the changes that were measured, as if they added up. Many at once may go too
  // far: then again with errors that are taken to be larger. `figures` says what an item's change
  // comes to, `search` whether it found something better in the table of them.
  using ChangeFigures =
      FunctionRef<OptionFigures(std::size_t item, const Measured& changed, double caution)>;
  using ChangeSearch = FunctionRef<Expected<bool>(const OptionTable& table)>;
  Expected<void> search_changes(const Measured& start, const Around& around, ChangeFigures figures,
                                ChangeSearch search);
  [[nodiscard]] double more_error(const Measured& one, const Measured& start, double caution) const;

  // --- nothing that could be quantized -----------------------------------------------------------
  Expected<void> meet_in_float();

  // --- size --------------------------------------------------------------------------------------
  // What is not the sum of what items take alone is found by measuring, and taken off the limit.
  Expected<bool> search_within(const OptionTable& table);

  Expected<void> meet_size();

  // Where what was predicted to fit does not: the smallest there is does, or nothing.
  Expected<void> take_smallest(const OptionTable& table);

  void keep_if_better(Measured measured);

  // The same for several whose sizes are predicted: they are counted, the best first, until one
  // fits.
  Expected<void> keep_best_of(const std::vector<Measured>& several);

  // Errors do not quite add up, but nearly around what was measured.
  Expected<bool> search_around_best();

  // What was fitted least is taken where it is better on what was held back.
  Expected<void> judge_beside(std::vector<Measured> plain);

  // Fills from a plain choice that was taken so, as far as that holds on what was held back.
  Expected<void> fill_judged();

  // Single changes that fit, and that alone would have less error.
  [[nodiscard]] std::vector<Options> upgrades_within_limit() const;

  // Takes single changes that fit and lower the error, until there are none.
  Expected<void> fill();

  // --- error -------------------------------------------------------------------------------------
  // The smallest file whose predicted error is within `allowed`.
  [[nodiscard]] std::optional<Options> smallest_within(double allowed) const;

  void keep_if_smaller(Measured measured, double wanted);

  // Predictions may be far off, and nothing says to which side: so some of what is smaller and lies
  // on the hull is measured, too.
  Expected<void> consider_smaller(double wanted);

  // The smallest of what single changes come to, and of what they come to together.
  Expected<bool> shrink_around_best(double wanted);

  Expected<void> meet_error();

  // The predicted error that may be allowed so that the measured one just holds.
  Expected<void> narrow_down(double wanted, bool is_measured);

  [[nodiscard]] Expected<BudgetOutcome> finish();

  const BudgetStudy& study_;
  const Budget& budget_;
  bool has_size_ = false;
  MeterSamples part_ = MeterSamples::all;
  std::optional<double> judged_{};
  std::size_t judged_plans_ = 0;
  std::vector<std::vector<std::uint32_t>> allowed_;  // options of each item
  Measured best_;
  bool has_best_ = false;
  Options last_;
  double bound_ = 0;
  double correction_ = 0;
  std::size_t refused_ = 0;
  std::size_t plans_measured_ = 0;
};

}  // namespace quadrant::inline v0
