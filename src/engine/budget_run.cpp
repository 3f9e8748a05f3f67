#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/option_search.hpp"
#include "quadrant/engine/budget.hpp"

namespace quadrant::inline v0 {

// Meets one budget with what a study knows.
class BudgetRun {
 public:
  BudgetRun(const BudgetStudy& study, const Budget& budget) : study_(study), budget_(budget) {}

  Expected<BudgetOutcome> run() {
    QUADRANT_CHECK(check());
    QUADRANT_CHECK(find_allowed());
    has_size_ = budget_.file_bytes.has_value() || budget_.bits.has_value();
    if (has_size_) {
      QUADRANT_CHECK(meet_size());
      if (budget_.error && error_of(best_) > *budget_.error) {
        return fail(ErrorCode::impossible,
                    fmt::format("within {} the error is {:.3g} ({:.2f} dB), and should be {:.3g} "
                                "({:.2f} dB): give more bytes, or allow more error",
                                print_limit(), error_of(best_), decibels(error_of(best_)),
                                *budget_.error, decibels(*budget_.error)));
      }
    } else {
      QUADRANT_CHECK(meet_error());
    }
    return finish();
  }

 private:
  using Options = std::vector<std::uint32_t>;
  struct Measured {
    Options options;
    PlanFigures figures;
  };

  [[nodiscard]] Expected<void> check() const {
    if (budget_.file_bytes && budget_.bits) {
      return fail(ErrorCode::usage, "a size and bits are two budgets for the same: give one");
    }
    if (!budget_.file_bytes && !budget_.bits && !budget_.error && !budget_.weight_error) {
      return fail(ErrorCode::usage, "there is no budget to meet");
    }
    for (const auto& limit : {budget_.bits, budget_.error, budget_.weight_error}) {
      if (limit && !(*limit > 0)) {
        return fail(ErrorCode::usage, "a budget is a number above zero");
      }
    }
    return {};
  }

  [[nodiscard]] static double decibels(double error) { return -10 * std::log10(error); }
  [[nodiscard]] std::size_t size() const { return study_.items_.size(); }

  // Options whose weights have too much error are none.
  Expected<void> find_allowed() {
    allowed_.resize(size());
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::uint32_t option = 0; option < study_.figures_[i].size(); ++option) {
        const double error = study_.figures_[i][option].worst_weight;
        if (!budget_.weight_error || error <= *budget_.weight_error) allowed_[i].push_back(option);
      }
    }
    return {};
  }

  // --- what things take --------------------------------------------------------------------------
  [[nodiscard]] double cost(std::size_t item, std::uint32_t option) const {
    if (budget_.bits) return static_cast<double>(study_.items_[item].options[option].stored_bytes);
    return study_.figures_[item][option].file_bytes;
  }
  [[nodiscard]] double limit() const {
    if (budget_.file_bytes) return static_cast<double>(*budget_.file_bytes) - study_.float_bytes_;
    double elements = 0;
    for (const BudgetItem& item : study_.items_) elements += static_cast<double>(item.elements);
    return budget_.bits.value_or(0) * elements / 8;
  }
  // What a measured choice takes of the limit.
  [[nodiscard]] double taken(const Measured& measured) const {
    if (budget_.file_bytes) {
      return static_cast<double>(measured.figures.file_bytes) - study_.float_bytes_;
    }
    return predicted_cost(measured.options);
  }
  [[nodiscard]] double predicted_cost(const Options& options) const {
    double sum = 0;
    for (std::size_t i = 0; i < size(); ++i) sum += cost(i, options[i]);
    return sum;
  }
  [[nodiscard]] double file_cost(const Options& options) const {
    double sum = 0;
    for (std::size_t i = 0; i < size(); ++i) sum += study_.figures_[i][options[i]].file_bytes;
    return sum;
  }
  [[nodiscard]] bool fits(const Measured& measured) const { return taken(measured) <= limit(); }
  [[nodiscard]] double error_of(const Measured& measured) const {
    return ErrorTable::finite(study_.meter_->has_data() ? measured.figures.output_error
                                                        : measured.figures.weight_error);
  }
  [[nodiscard]] std::string print_limit() const {
    return budget_.file_bytes ? fmt::format("{} bytes", *budget_.file_bytes)
                              : fmt::format("{} bits", budget_.bits.value_or(0));
  }
  [[nodiscard]] std::string print_size(const Measured& measured) const {
    return fmt::format("{} bytes, {:.3f} bits for each weight", measured.figures.file_bytes,
                       study_.bits(measured.options));
  }

  [[nodiscard]] Expected<std::vector<Measured>> measure(std::vector<Options> choices,
                                                        bool counts_bytes = true) {
    std::vector<Plan> plans;
    plans.reserve(choices.size());
    for (const Options& options : choices) plans.push_back(study_.plan(options));
    std::vector<Measured> measured;
    if (plans.empty()) return measured;
    QUADRANT_TRY(const auto figures,
                 study_.meter_->measure(plans, {.file = counts_bytes, .outputs = true}));
    plans_measured_ += plans.size();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      measured.push_back({std::move(choices[i]), figures[i]});
      if (counts_bytes) continue;
      const double bytes = study_.float_bytes_ + correction_ + file_cost(measured.back().options);
      measured.back().figures.file_bytes = static_cast<std::uint64_t>(std::max(0.0, bytes));
    }
    return measured;
  }
  [[nodiscard]] Expected<Measured> measure_one(Options options) {
    std::vector<Options> choices;
    choices.push_back(std::move(options));
    QUADRANT_TRY(std::vector<Measured> one, measure(std::move(choices)));
    return std::move(one.front());
  }

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
  [[nodiscard]] Options to_options(const OptionChoice& choice) const {
    Options options(size());
    for (std::size_t i = 0; i < size(); ++i) options[i] = allowed_[i][choice.options[i]];
    return options;
  }
  [[nodiscard]] OptionTable table_by_error() const {
    return table_of(
        [&](std::size_t i, std::uint32_t option) { return cost(i, option); },
        [&](std::size_t i, std::uint32_t option) { return study_.figures_[i][option].error; });
  }

  // The choice of a rule within `limit`, as predicted. Empty: none.
  [[nodiscard]] std::optional<Options> choose(const OptionTable& table, double limit) {
    switch (budget_.rule) {
      case BudgetRule::search:
        break;
      case BudgetRule::hull:
        return last_within(hull_choices(table), limit);
      case BudgetRule::uniform:
        return choose_uniform(limit);
      case BudgetRule::lowest_error:
        return choose_lowest_error(limit);
    }
    const auto found = search_options(table, limit);
    if (!found) return std::nullopt;
    return to_options(found->best);
  }
  [[nodiscard]] std::optional<Options> last_within(const std::vector<OptionChoice>& choices,
                                                   double limit) const {
    std::optional<Options> last;
    for (const OptionChoice& choice : choices) {
      if (choice.cost <= limit) last = to_options(choice);
    }
    return last;
  }
  [[nodiscard]] bool is_allowed(const Options& options) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (std::ranges::find(allowed_[i], options[i]) == allowed_[i].end()) return false;
    }
    return true;
  }
  [[nodiscard]] double predicted_error(const Options& options) const {
    double sum = 0;
    for (std::size_t i = 0; i < size(); ++i) sum += study_.figures_[i][options[i]].error;
    return sum;
  }
  [[nodiscard]] std::vector<Options> uniform_choices() const {
    std::vector<Options> all;
    all.reserve(study_.registry_.scheme_count());
    for (std::uint32_t scheme = 0; scheme < study_.registry_.scheme_count(); ++scheme) {
      all.push_back(study_.all_of_scheme(scheme));
    }
    std::erase_if(all, [&](const Options& options) { return !is_allowed(options); });
    return all;
  }
  [[nodiscard]] std::optional<Options> choose_uniform(double limit) const {
    std::optional<Options> best;
    for (Options& options : uniform_choices()) {
      if (predicted_cost(options) > limit) continue;
      if (!best || predicted_error(options) < predicted_error(*best)) best = std::move(options);
    }
    return best;
  }
  [[nodiscard]] std::optional<Options> choose_lowest_error(double limit) const {
    const std::vector<Options> all = uniform_choices();
    if (all.empty()) return std::nullopt;
    const auto by_cost = [&](const Options& options) { return predicted_cost(options); };
    const Options low = std::ranges::min(all, {}, by_cost);
    Options chosen = std::ranges::max(all, {}, by_cost);
    std::vector<std::size_t> order(size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) { return study_.figures_[i][low[i]].worst_weight; });
    for (const std::size_t i : order) {
      if (predicted_cost(chosen) <= limit) break;
      chosen[i] = low[i];
    }
    if (predicted_cost(chosen) > limit) return std::nullopt;
    return chosen;
  }

  // --- size --------------------------------------------------------------------------------------
  // What is not the sum of what items take alone is found by measuring, and taken off the limit.
  Expected<bool> search_within(const OptionTable& table) {
    double correction = 0;
    bool is_found = false;
    constexpr int most_rounds = 6;
    for (int round = 0; round < most_rounds; ++round) {
      auto chosen = choose(table, limit() - correction);
      if (!chosen) return is_found;
      if (round != 0 && *chosen == last_) return is_found;
      last_ = *chosen;
      QUADRANT_TRY(Measured measured, measure_one(std::move(*chosen)));
      correction = taken(measured) - predicted_cost(measured.options);
      if (fits(measured)) {
        if (!has_best_ || error_of(measured) < error_of(best_)) best_ = std::move(measured);
        has_best_ = is_found = true;
        correction_ = correction;
      } else if (round + 2 == most_rounds) {
        correction = std::max(correction, correction_) + 64;
      }
    }
    return is_found;
  }

  Expected<void> meet_size() {
    const OptionTable table = table_by_error();
    if (budget_.rule == BudgetRule::search) {
      if (const auto found = search_options(table, limit())) bound_ = found->bound;
    }
    QUADRANT_TRY(const bool is_found, search_within(table));
    if (!is_found) return refuse_size(table);
    if (budget_.rule != BudgetRule::search) return {};
    if (study_.meter_->has_data()) {
      QUADRANT_CHECK(consider_uniform());
      for (int round = 0; round < study_.options_.rounds; ++round) {
        QUADRANT_TRY(const bool is_better, search_around_best());
        if (!is_better) break;
      }
    }
    return fill();
  }

  Expected<void> refuse_size(const OptionTable& table) {
    const auto smallest = [&]() -> Options {
      if (budget_.rule == BudgetRule::uniform || budget_.rule == BudgetRule::lowest_error) {
        const auto all = uniform_choices();
        if (!all.empty()) {
          return std::ranges::min(all, {}, [&](const Options& o) { return predicted_cost(o); });
        }
      }
      return to_options(hull_choices(table).front());
    }();
    QUADRANT_TRY(const Measured nearest, measure_one(smallest));
    return fail(ErrorCode::impossible,
                fmt::format("{} cannot be met: the least that there is is {}", print_limit(),
                            print_size(nearest)));
  }

  void keep_if_better(Measured measured) {
    if (fits(measured) && error_of(measured) < error_of(best_)) best_ = std::move(measured);
  }

  // The same for several whose sizes are predicted: the best of them is followed, and counted.
  Expected<void> keep_best_of(const std::vector<Measured>& several) {
    const Measured* found = nullptr;
    for (const Measured& one : several) {
      if (!fits(one) || error_of(one) >= error_of(best_)) continue;
      if (found == nullptr || error_of(one) < error_of(*found)) found = &one;
    }
    if (found == nullptr) return {};
    QUADRANT_TRY(Measured counted, measure_one(found->options));
    keep_if_better(std::move(counted));
    return {};
  }

  Expected<void> consider_uniform() {
    std::vector<Options> choices = uniform_choices();
    std::erase_if(choices, [&](const Options& options) {
      return predicted_cost(options) + correction_ > limit() || options == best_.options;
    });
    QUADRANT_TRY(std::vector<Measured> measured, measure(std::move(choices)));
    for (Measured& one : measured) keep_if_better(std::move(one));
    return {};
  }

  // The options of an item that are worth trying beside the one that it has: no other is smaller
  // and better at once, and, where not all are to be measured, near in cost.
  [[nodiscard]] Options options_around(std::size_t item, std::uint32_t now) const {
    Options sorted = allowed_[item];
    std::ranges::sort(sorted, [&](std::uint32_t a, std::uint32_t b) {
      const double cost_a = cost(item, a);
      const double cost_b = cost(item, b);
      const auto& figures = study_.figures_[item];
      return cost_a != cost_b ? cost_a < cost_b : figures[a].error < figures[b].error;
    });
    Options useful;
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t option : sorted) {
      const double error = study_.figures_[item][option].error;
      if (error < least || option == now) useful.push_back(option);
      least = std::min(least, error);
    }
    if (!study_.options_.measures_all) {
      constexpr std::ptrdiff_t reach = 2;
      const std::ptrdiff_t at = std::ranges::find(useful, now) - useful.begin();
      const std::ptrdiff_t end = std::min(at + reach + 1, std::ssize(useful));
      const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, at - reach);
      useful = Options(useful.begin() + begin, useful.begin() + end);
    }
    std::erase(useful, now);
    return useful;
  }

  // Errors do not quite add up. So measures what each item alone would change from here, and
  // searches again with these differences.
  Expected<bool> search_around_best() {
    const Measured start = best_;
    std::vector<std::size_t> item_of;
    std::vector<Options> changed;
    for (std::size_t i = 0; i < size(); ++i) {
      for (const std::uint32_t option : options_around(i, start.options[i])) {
        item_of.push_back(i);
        changed.push_back(start.options);
        changed.back()[i] = option;
      }
    }
    QUADRANT_TRY(const std::vector<Measured> around, measure(std::move(changed), false));
    const std::vector<std::vector<std::uint32_t>> before = allowed_;
    std::vector<std::vector<double>> losses(size());
    for (std::size_t i = 0; i < size(); ++i) {
      allowed_[i] = {start.options[i]};
      losses[i] = {0};
    }
    for (std::size_t k = 0; k < around.size(); ++k) {
      allowed_[item_of[k]].push_back(around[k].options[item_of[k]]);
      losses[item_of[k]].push_back(error_of(around[k]) - error_of(start));
    }
    QUADRANT_CHECK(keep_best_of(around));
    // Many changes at once may go too far: then fewer, since a loss is taken to be larger.
    Expected<void> status;
    for (const double caution : {1.0, 2.0, 4.0}) {
      OptionTable table(size());
      for (std::size_t i = 0; i < size(); ++i) {
        for (std::size_t k = 0; k < allowed_[i].size(); ++k) {
          const double loss = losses[i][k];
          table[i].push_back({cost(i, allowed_[i][k]), loss > 0 ? caution * loss : loss});
        }
      }
      const Options reached = best_.options;
      const auto searched = search_within(table);
      if (!searched) status = fail(searched.error());
      if (!searched || best_.options != reached) break;
    }
    allowed_ = before;
    QUADRANT_CHECK(status);
    return error_of(best_) < error_of(start) * (1 - 1e-6);
  }

  // Takes single changes that fit and lower the error, until there are none.
  Expected<void> fill() {
    const std::size_t most_rounds = 4 + 2 * size();
    for (std::size_t round = 0; round < most_rounds; ++round) {
      const double room = limit() - taken(best_);
      std::vector<Options> upgrades;
      for (std::size_t i = 0; i < size(); ++i) {
        const std::uint32_t now = best_.options[i];
        for (const std::uint32_t option : allowed_[i]) {
          const bool is_upgrade =
              study_.figures_[i][option].error < study_.figures_[i][now].error &&
              cost(i, option) > cost(i, now);
          if (!is_upgrade || cost(i, option) - cost(i, now) > room) continue;
          upgrades.push_back(best_.options);
          upgrades.back()[i] = option;
        }
      }
      refused_ = upgrades.size();
      if (upgrades.empty()) return {};
      QUADRANT_TRY(const std::vector<Measured> measured, measure(std::move(upgrades), false));
      const Measured before = best_;
      QUADRANT_CHECK(keep_best_of(measured));
      if (best_.options == before.options) return {};
    }
    return {};
  }

  // --- error -------------------------------------------------------------------------------------
  // The smallest file whose predicted error is within `allowed`.
  [[nodiscard]] std::optional<Options> smallest_within(double allowed) const {
    const OptionTable table = table_of(
        [&](std::size_t i, std::uint32_t option) { return study_.figures_[i][option].error; },
        [&](std::size_t i, std::uint32_t option) { return cost(i, option); });
    const auto found = search_options(table, allowed);
    if (!found) return std::nullopt;
    return to_options(found->best);
  }

  // Predictions may be far off, and nothing says to which side: so some of what is smaller and lies
  // on the hull is measured, too.
  Expected<void> consider_smaller(double wanted) {
    constexpr std::size_t most = 32;
    std::vector<Options> smaller;
    const auto bytes = static_cast<double>(best_.figures.file_bytes);
    for (const OptionChoice& choice : hull_choices(table_by_error())) {
      Options options = to_options(choice);
      if (study_.float_bytes_ + file_cost(options) < bytes) smaller.push_back(std::move(options));
    }
    std::vector<Options> some;
    const std::size_t step = smaller.size() / most + 1;
    for (std::size_t i = 0; i < smaller.size(); i += step) some.push_back(std::move(smaller[i]));
    QUADRANT_TRY(std::vector<Measured> measured, measure(std::move(some)));
    for (Measured& one : measured) {
      const bool is_smaller = one.figures.file_bytes < best_.figures.file_bytes;
      if (is_smaller && error_of(one) <= wanted) best_ = std::move(one);
    }
    return {};
  }

  Expected<void> meet_error() {
    if (budget_.rule != BudgetRule::search) {
      return fail(ErrorCode::usage,
                  fmt::format("the rule '{}' is for budgets of size", to_string(budget_.rule)));
    }
    // Without a limit of the sum, those of the weights alone.
    const double wanted = budget_.error.value_or(std::numeric_limits<double>::max());
    // In float there is no error: what is allowed can always be had.
    QUADRANT_TRY(best_, measure_one(Options(size(), 0)));
    has_best_ = true;
    double low = 0;
    double high = std::numeric_limits<double>::infinity();
    double allowed = wanted;
    constexpr int most_rounds = 12;
    for (int round = 0; round < most_rounds; ++round) {
      auto chosen = smallest_within(allowed);
      if (!chosen) break;
      QUADRANT_TRY(Measured measured, measure_one(std::move(*chosen)));
      const bool holds = error_of(measured) <= wanted;
      if (holds) {
        low = std::max(low, allowed);
        if (measured.figures.file_bytes <= best_.figures.file_bytes) best_ = std::move(measured);
      } else {
        high = std::min(high, allowed);
      }
      if (!study_.meter_->has_data() || !budget_.error) break;
      if (!std::isfinite(high)) {
        allowed *= 1.5;
      } else {
        allowed = low > 0 ? std::sqrt(low * high) : high / 2;
      }
      if (low > 0 && high / low < 1.01) break;
    }
    if (study_.meter_->has_data() && budget_.error) return consider_smaller(wanted);
    return {};
  }

  [[nodiscard]] BudgetOutcome finish() {
    BudgetOutcome outcome;
    outcome.plan = study_.plan(best_.options);
    outcome.bits = study_.bits(best_.options);
    outcome.predicted = predicted_error(best_.options);
    if (has_size_) {
      if (budget_.rule == BudgetRule::search) outcome.bound = bound_;
      const double whole = budget_.file_bytes ? static_cast<double>(*budget_.file_bytes) : limit();
      outcome.unused = (limit() - taken(best_)) / whole;
      outcome.refused_upgrades = refused_;
    }
    outcome.figures = best_.figures;
    outcome.options = std::move(best_.options);
    outcome.plans_measured = plans_measured_;
    return outcome;
  }

  const BudgetStudy& study_;
  const Budget& budget_;
  bool has_size_ = false;
  std::vector<std::vector<std::uint32_t>> allowed_;  // options of each item
  Measured best_;
  bool has_best_ = false;
  Options last_;
  double bound_ = 0;
  double correction_ = 0;
  std::size_t refused_ = 0;
  std::size_t plans_measured_ = 0;
};

Expected<BudgetOutcome> BudgetStudy::meet(const Budget& budget) const {
  return BudgetRun(*this, budget).run();
}

}  // namespace quadrant::inline v0
