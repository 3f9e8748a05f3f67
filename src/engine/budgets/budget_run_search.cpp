// Choosing by what is predicted, and around what was measured.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/budgets/budget_run.hpp"

namespace quadrant::inline v0 {

BudgetRun::Options BudgetRun::to_options(const OptionChoice& choice) const {
  Options options(size());
  for (std::size_t i = 0; i < size(); ++i) options[i] = allowed_[i][choice.options[i]];
  return options;
}

OptionTable BudgetRun::table_by_error() const {
  return table_of([&](std::size_t i, std::uint32_t option) { return cost(i, option); },
                  [&](std::size_t i, std::uint32_t option) { return error(i, option); });
}

std::optional<BudgetRun::Options> BudgetRun::choose(const OptionTable& table, double limit) {
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

std::optional<BudgetRun::Options> BudgetRun::last_within(const std::vector<OptionChoice>& choices,
                                                         double limit) const {
  std::optional<Options> last;
  for (const OptionChoice& choice : choices) {
    if (choice.cost <= limit) last = to_options(choice);
  }
  return last;
}

bool BudgetRun::is_allowed(const Options& options) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (std::ranges::find(allowed_[i], options[i]) == allowed_[i].end()) return false;
  }
  return true;
}

double BudgetRun::predicted_error(const Options& options) const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += error(i, options[i]);
  return sum;
}

std::vector<BudgetRun::Options> BudgetRun::uniform_choices() const {
  std::vector<Options> all;
  all.reserve(study_.registry_.scheme_count());
  for (std::uint32_t scheme = 0; scheme < study_.registry_.scheme_count(); ++scheme) {
    all.push_back(study_.all_of_scheme(scheme));
  }
  std::erase_if(all, [&](const Options& options) { return !is_allowed(options); });
  return all;
}

std::optional<BudgetRun::Options> BudgetRun::choose_uniform(double limit) const {
  std::optional<Options> best;
  for (Options& options : uniform_choices()) {
    if (predicted_cost(options) > limit) continue;
    if (!best || predicted_error(options) < predicted_error(*best)) best = std::move(options);
  }
  return best;
}

std::optional<BudgetRun::Options> BudgetRun::choose_lowest_error(double limit) const {
  const std::vector<Options> all = uniform_choices();
  if (all.empty()) return std::nullopt;
  const auto by_cost = [&](const Options& options) { return predicted_cost(options); };
  const Options low = std::ranges::min(all, {}, by_cost);
  Options chosen = std::ranges::max(all, {}, by_cost);
  std::vector<std::size_t> order(size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return study_.figures_[i][low[i]].worst_weight; });
  for (const std::size_t i : order) {
    if (predicted_cost(chosen) <= limit) break;
    chosen[i] = low[i];
  }
  if (predicted_cost(chosen) > limit) return std::nullopt;
  return chosen;
}

std::vector<BudgetRun::Measured> BudgetRun::counted_uniform() const {
  std::vector<Measured> all;
  for (std::uint32_t scheme = 0; scheme < study_.registry_.scheme_count(); ++scheme) {
    Measured counted{study_.all_of_scheme(scheme), study_.uniform_[scheme]};
    if (is_allowed(counted.options)) all.push_back(std::move(counted));
  }
  return all;
}

Expected<std::vector<BudgetRun::Measured>> BudgetRun::measure_uniform() {
  std::vector<Options> choices;
  for (Measured& counted : counted_uniform()) {
    if (counted.options == best_.options || (has_size_ && !fits(counted))) continue;
    choices.push_back(std::move(counted.options));
  }
  return measure(std::move(choices));
}

BudgetRun::Options BudgetRun::options_around(std::size_t item, std::uint32_t now) const {
  Options sorted = allowed_[item];
  std::ranges::sort(sorted, [&](std::uint32_t a, std::uint32_t b) {
    const double cost_a = cost(item, a);
    const double cost_b = cost(item, b);
    return cost_a != cost_b ? cost_a < cost_b : error(item, a) < error(item, b);
  });
  Options useful;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t option : sorted) {
    const double predicted = error(item, option);
    if (predicted < least || option == now) useful.push_back(option);
    least = std::min(least, predicted);
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

Expected<BudgetRun::Around> BudgetRun::measure_around(const Measured& start) {
  Around around;
  std::vector<Options> changed;
  for (std::size_t i = 0; i < size(); ++i) {
    for (const std::uint32_t option : options_around(i, start.options[i])) {
      around.item_of.push_back(i);
      changed.push_back(start.options);
      changed.back()[i] = option;
    }
  }
  QUADRANT_TRY(around.measured, measure(std::move(changed), false));
  return around;
}

Expected<void> BudgetRun::search_changes(const Measured& start, const Around& around,
                                         ChangeFigures figures, ChangeSearch search) {
  const std::vector<Options> before = allowed_;
  Expected<void> status;
  for (const double caution : {1.0, 2.0, 4.0}) {
    OptionTable table(size());
    for (std::size_t i = 0; i < size(); ++i) {
      allowed_[i] = {start.options[i]};
      table[i] = {figures(i, start, caution)};
    }
    for (std::size_t k = 0; k < around.measured.size(); ++k) {
      const std::size_t i = around.item_of[k];
      allowed_[i].push_back(around.measured[k].options[i]);
      table[i].push_back(figures(i, around.measured[k], caution));
    }
    const Expected<bool> is_better = search(table);
    if (is_better && !*is_better) continue;
    if (!is_better) status = fail(is_better.error());
    break;
  }
  allowed_ = before;
  return status;
}

double BudgetRun::more_error(const Measured& one, const Measured& start, double caution) const {
  const double more = error_of(one) - error_of(start);
  return more > 0 ? caution * more : more;
}

}  // namespace quadrant::inline v0
